"""The margin of Carlini and Wagner: how surely a classifier holds on to its answer."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.core.validation import check_choice, check_integer, check_real
from szoht.errors import ParameterError
from szoht.types import Vector

__all__ = ["Margin", "Scale"]

Scale: TypeAlias = Literal["logits", "log_probs", "probs"]
"""What scores mean: any real numbers, logarithms of probabilities, or probabilities."""


@dataclass(frozen=True, kw_only=True)
class Margin:
    """How far the true class leads; not positive once the classifier is wrong.

    Untargeted ``max(F_y - max_{j != y} F_j, -confidence)``; with a ``target`` class t
    ``max(max_{j != t} F_j - F_t, -confidence)``. F are the scores on the scale ``on``.

    Parameters
    ----------
    label : int
        y, the true class, >= 0.
    target : int, optional
        t, the class that the classifier shall answer; another than y.
    confidence : float
        By how much the lead must be lost, >= 0.
    scores : {"logits", "log_probs", "probs"}
        What the classifier returns.
    on : {"logits", "log_probs", "probs"}, optional
        What the margin is taken of; by default of what the classifier returns. Logits differ from
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
    scores: Scale = "logits"
    on: Scale | None = None

    def __post_init__(self) -> None:
        check_integer("label", self.label, low=0)
        check_real("confidence", self.confidence, low=0.0)
        check_choice("scores", self.scores, get_args(Scale))
        if self.on is not None:
            check_choice("on", self.on, get_args(Scale))
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
        lead: Vector = np.maximum(self.lead(scores), 0.0 - self.confidence)  # 0, not -0
        return lead

    def lead(self, scores: Vector) -> Vector:
        """Return the margins without the floor at ``-confidence``."""
        on_scale = self._converted(scores)
        chosen = self.label if self.target is None else self.target
        own = on_scale[:, chosen]
        others = np.delete(on_scale, chosen, axis=1).max(axis=1)
        lead: Vector = own - others if self.target is None else others - own
        return lead

    def reached(self, scores: Vector) -> Vector:
        """Tell for each row whether it is misclassified with the confidence asked for.

        A tie between two classes is broken as the classifier's user would: by the lower number.
        """
        answers = np.argmax(scores, axis=1)
        astray = answers != self.label if self.target is None else answers == self.target
        reached: Vector = astray & (self.lead(scores) <= -self.confidence)
        return reached

    def _converted(self, scores: Vector) -> Vector:
        to = self.scores if self.on is None else self.on
        if to == "probs" and self.scores != "probs":
            shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
            probabilities: Vector = shifted / shifted.sum(axis=1, keepdims=True)
            return probabilities
        if to != "probs" and self.scores == "probs":
            # a probability of zero would have no logarithm
            logs: Vector = np.log(np.maximum(scores, np.finfo(np.float64).tiny))
            return logs
        return scores
