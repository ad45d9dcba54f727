"""The margin loss of Carlini and Wagner."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.core.validation import check_choice, check_integer, check_real
from szoht.errors import ParameterError
from szoht.types import Vector

__all__ = ["Loss", "Margin", "ScoreScale"]

ScoreScale: TypeAlias = Literal["logits", "log_probs", "probs"]
"""The scale of scores: unnormalized, log-probabilities, or probabilities."""

Loss: TypeAlias = Literal["margin", "cross_entropy"]
"""What an attack minimizes: `Margin.of` or `Margin.cross_entropy`."""


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The margin of the true class; not positive if the image is misclassified.

    Untargeted ``max(F_y - max_{j != y} F_j, -confidence)``; with a ``target`` class t
    ``max(max_{j != t} F_j - F_t, -confidence)``. F are the scores on the scale ``on``.

    Parameters
    ----------
    label : int
        y, the true class, >= 0.
    target : int, optional
        t, the target class of the attack; different from y.
    confidence : float
        Required margin of the misclassification, >= 0.
    scores : {"logits", "log_probs", "probs"}
        Scale of the scores that the classifier returns.
    on : {"logits", "log_probs", "probs"}, optional
        Scale on which the margin is computed; by default that of the scores. Logits differ from
        log-probabilities by a constant, so their margins are the same.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[2.0, 5.0, 1.0], [2.0, 0.0, 1.0]])
    >>> Margin(label=1).of(scores)
    array([3., 0.])
    >>> Margin(label=1, confidence=9).of(scores)
    array([ 3., -2.])
    >>> Margin(label=1, target=0, confidence=9).of(scores)
    array([ 3., -1.])

    References
    ----------
    Carlini, Wagner, Towards evaluating the robustness of neural networks, 2017, f_6.
    """

    label: int
    target: int | None = None
    confidence: float = 0.0
    scores: ScoreScale = "logits"
    on: ScoreScale | None = None

    def __post_init__(self) -> None:
        check_integer("label", self.label, low=0)
        check_real("confidence", self.confidence, low=0.0)
        check_choice("scores", self.scores, get_args(ScoreScale))
        if self.on is not None:
            check_choice("on", self.on, get_args(ScoreScale))
        if self.target is not None:
            check_integer("target", self.target, low=0)
            if self.target == self.label:
                raise ParameterError(
                    f"`target` must be another class than `label`; got {self.target} for both."
                )

    def check(self, n_classes: int) -> None:
        """Raise unless the classes are among ``n_classes``."""
        top, name = n_classes - 1, "number of classes - 1"
        check_integer("label", self.label, low=0, high=top, high_name=name)
        if self.target is not None:
            check_integer("target", self.target, low=0, high=top, high_name=name)

    def of(self, scores: Vector) -> Vector:
        """Return the margins of scores of shape (m, n_classes), one for each row."""
        unclipped: Vector = np.maximum(self.unclipped(scores), 0.0 - self.confidence)  # 0, not -0
        return unclipped

    def unclipped(self, scores: Vector) -> Vector:
        """Return the margins without the floor at ``-confidence``."""
        on_scale = self._convert(scores)
        chosen = self.label if self.target is None else self.target
        own = on_scale[:, chosen]
        others = np.delete(on_scale, chosen, axis=1).max(axis=1)
        unclipped: Vector = own - others if self.target is None else others - own
        return unclipped

    def cross_entropy(self, scores: Vector) -> Vector:
        """Return log p_y, with a target -log p_t: what an attack lowers instead of the margin.

        >>> Margin(label=1, target=0).cross_entropy(np.log([[0.25, 0.5, 0.25]])) / np.log(2)
        array([2.])
        """
        logs = _log(scores) if self.scores == "probs" else scores
        top = logs.max(axis=1, keepdims=True)
        logs = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        entropy: Vector = logs[:, self.label] if self.target is None else -logs[:, self.target]
        return entropy

    def is_misclassified(self, scores: Vector) -> Vector:
        """Return for each row whether it is misclassified with the required confidence.

        A tie between two classes is broken as by argmax: the lower index wins.
        """
        predictions = np.argmax(scores, axis=1)
        misclassified = (
            predictions != self.label if self.target is None else predictions == self.target
        )
        is_misclassified: Vector = misclassified & (self.unclipped(scores) <= -self.confidence)
        return is_misclassified

    def _convert(self, scores: Vector) -> Vector:
        to = self.scores if self.on is None else self.on
        if to == "probs" and self.scores != "probs":
            shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
            probabilities: Vector = shifted / shifted.sum(axis=1, keepdims=True)
            return probabilities
        if to != "probs" and self.scores == "probs":
            return _log(scores)
        return scores


def _log(probabilities: Vector) -> Vector:
    """Return logarithms, that of zero being finite."""
    logs: Vector = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return logs
