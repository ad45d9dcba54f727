"""`attack`: search for a sparse change of an image that a classifier misclassifies."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from szoht.applications.attack.attempt import Attempt
from szoht.applications.attack.layout import Bounds, Channels, Unit
from szoht.applications.attack.margin import Loss, ScoreScale
from szoht.applications.attack.networks import Model
from szoht.applications.attack.result import AttackResult
from szoht.core.algorithm import Algorithm
from szoht.core.interrupts import attach
from szoht.run.callbacks import ProgressBar

__all__ = ["attack"]

DEFAULT_ATTACK_QUERIES = 10_000


def attack(
    model: Model,
    image: ArrayLike,
    label: int,
    *,
    k: int = 20,
    method: str | Algorithm = "corner_search",
    options: Mapping[str, Any] | None = None,
    unit: Unit = "coordinates",
    bounds: Bounds = "constraint",
    channels: Channels | None = None,
    low: float = 0.0,
    high: float = 1.0,
    target: int | None = None,
    confidence: float = 0.0,
    scores: ScoreScale = "logits",
    margin_on: ScoreScale | None = None,
    loss: Loss | None = None,
    max_queries: int = DEFAULT_ATTACK_QUERIES,
    max_seconds: float | None = None,
    batch_size: int | None = None,
    rng: int | np.random.Generator | np.random.SeedSequence | None = None,
    progress: bool = False,
) -> AttackResult:
    """Search for a change of at most k coordinates or pixels that a classifier misclassifies.

    Minimizes ``margin(model(clip(image + delta)))`` over sparse delta using only the scores and
    stops at the first success. Meant for testing the robustness of your own models.

    Parameters
    ----------
    model : callable, torch.nn.Module or onnxruntime.InferenceSession
        From images of shape ``(m, *image.shape)`` to scores of shape (m, number of classes). A
        module is evaluated on its own device.
    image : array
        Any shape, values within [low, high].
    label : int
        The true class.
    k : int
        Maximum number of coordinates or pixels that change.
    method : str or Algorithm
        A method of `minimize`, by default "corner_search"; an algorithm object brings its own
        constraint.
    options : dict
        Parameters of a named method.
    unit : {"coordinates", "pixels"}
        Unit of k: single channel values, or pixels with all their channels.
    bounds : {"constraint", "clip"}
        Whether the change is constrained to the range of an image or, as in the paper, free and
        clipped inside the loss.
    channels : {"first", "last", "none"}, optional
        Axis of the channels of a color image; inferred if not given.
    low, high : float
        The range of a pixel.
    target : int, optional
        Target class; by default any but ``label``.
    confidence : float
        Required margin of the misclassification, >= 0.
    scores, margin_on : {"logits", "log_probs", "probs"}
        Scale of the scores, and scale on which the margin is computed, by default the same.
    loss : {"margin", "cross_entropy"}, optional
        What is minimized: the margin; or log p_y, with a target -log p_t. By default the margin,
        but for a targeted "sparse_rs" the cross-entropy, as in its reference.
    max_queries, max_seconds : int, float
        Limits. The first evaluation of the unchanged image is not counted.
    batch_size : int, optional
        Images per call; tuned during the attack if not given. Classifiers may round differently in
        batches of another size: set it for runs that are reproducible bit for bit.
    rng : None, int, Generator or SeedSequence
        The same integer gives the same run.
    progress : bool
        Show a progress bar; needs the extra ``cli``.

    Returns
    -------
    AttackResult
        After Ctrl-C it is the ``result`` of the KeyboardInterrupt, with the status INTERRUPTED and
        the best change so far, or SUCCESS if one had been found.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.random.default_rng(0).standard_normal((64, 3))
    >>> image = np.full((8, 8), 0.5)
    >>> model = lambda images: images.reshape(len(images), -1) @ weights
    >>> label = int(model(image[None]).argmax())
    >>> result = attack(model, image, label, k=8, rng=0)
    >>> result.success, result.l0 <= 8, result.adversarial_prediction != label
    (True, True, True)
    """
    bar, stop = ProgressBar() if progress else None, None
    attempt = Attempt.begin(
        model,
        image,
        label,
        k=k,
        method=method,
        options=options,
        unit=unit,
        bounds=bounds,
        channels=channels,
        low=low,
        high=high,
        target=target,
        confidence=confidence,
        scores=scores,
        margin_on=margin_on,
        loss=loss,
        max_queries=max_queries,
        max_seconds=max_seconds,
        batch_size=batch_size,
        rng=rng,
        callback=bar,
    )
    if attempt.is_open:
        with bar or nullcontext():
            if bar is not None:
                bar.expect(attempt.run.query_limit)
            try:
                attempt.drive()
            except KeyboardInterrupt as pressed:
                stop = pressed
    result = attempt.result(interrupted=stop is not None)
    if stop is not None:
        attach(stop, result)
        raise stop
    return result
