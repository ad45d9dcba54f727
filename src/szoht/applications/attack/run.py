"""`attack`: search for a sparse change of an image that a classifier misclassifies."""

import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from szoht.algorithms import METHODS
from szoht.applications.attack.batching import Batches
from szoht.applications.attack.layout import (
    Bounds,
    Channels,
    Layout,
    Unit,
    as_image,
    as_layout,
    constraint,
)
from szoht.applications.attack.margin import Margin, ScoreScale
from szoht.applications.attack.networks import Model, as_network
from szoht.applications.attack.objective import AttackObjective
from szoht.applications.attack.result import AttackResult, AttackStatus
from szoht.core.algorithm import Algorithm
from szoht.core.interrupts import attach
from szoht.core.objective import as_objective
from szoht.errors import EvaluationError, ParameterError
from szoht.evaluation.oracle import Oracle
from szoht.result import Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import ProgressBar
from szoht.run.loop import drive
from szoht.stopping import Check, Rule
from szoht.types import Vector

__all__ = ["attack"]

DEFAULT_ATTACK_QUERIES = 10_000


@dataclass(frozen=True)
class FirstSuccess(Rule):
    """Stop as soon as a change has succeeded."""

    objective: AttackObjective

    def begin(self) -> Check:
        """Return a check for one run."""
        return lambda *_: None if self.objective.hit is None else Status.CALLBACK


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
    pixels = as_image(image, low, high)
    layout = as_layout(pixels.shape, channels)
    flat = pixels.astype(np.float64).ravel()
    margin = Margin(label=label, target=target, confidence=confidence, scores=scores, on=margin_on)
    objective = AttackObjective(
        network=as_network(model, pixels.shape, pixels.dtype),
        image=flat,
        margin=margin,
        low=low,
        high=high,
        batches=Batches(batch_size),
    )
    allowed = None
    if isinstance(method, str):  # an algorithm object has a constraint of its own
        allowed = constraint(flat, layout, k=k, unit=unit, bounds=bounds, low=low, high=high)
    bar, stop = ProgressBar() if progress else None, None
    prediction = _prediction(objective)
    run = AskTell(
        np.zeros(flat.size),
        constraint=allowed,
        method=method,
        options=_options(method, options, layout),
        max_queries=max_queries,
        max_seconds=max_seconds,
        stop=FirstSuccess(objective),
        rng=rng,
        on_error="stop",  # a classifier that breaks once is to be looked at
        callback=bar,
    )
    objective.counts = getattr(run.algorithm.operator, "contains", objective.counts)
    if prediction == label:
        with bar or nullcontext():
            if bar is not None:
                bar.expect(run.query_limit)
            oracle = Oracle(objective=as_objective(objective), on_error="stop")
            stop = _drive(run, oracle)
    # the whole repr would list the bounds of every pixel
    name = method if isinstance(method, str) else type(method).__name__
    change = run.result.x if objective.hit is None else objective.hit.change
    judged = _Judged()
    try:
        judged = _judge(objective, change)
    except KeyboardInterrupt as late:
        stop = stop or late
    result = _result(
        objective,
        run,
        layout,
        change,
        judged,
        prediction=prediction,
        method=name,
        interrupted=stop is not None,
    )
    if stop is not None:
        attach(stop, result)
        raise stop
    return result


def _drive(run: AskTell, oracle: Oracle) -> KeyboardInterrupt | None:
    """Drive an attack to its end; return what has interrupted it, if anything has."""
    try:
        drive(run, replace(oracle, is_late=lambda: run.is_late))
    except KeyboardInterrupt as stop:
        return stop
    return None


def _options(
    method: str | Algorithm, options: Mapping[str, Any] | None, layout: Layout
) -> Mapping[str, Any] | None:
    """Add the positions of the coordinates if the method has a parameter ``grid``."""
    factory = METHODS.get(method) if isinstance(method, str) else None
    if factory is None or "grid" not in inspect.signature(factory).parameters:
        return options
    grid = np.arange(int(np.prod(layout.shape))).reshape(layout.shape)
    if layout.channels == "last":
        grid = np.moveaxis(grid, 2, 0)
    return {"grid": grid.reshape(layout.grid)} | dict(options or {})


def _prediction(objective: AttackObjective) -> int:
    """Return the predicted class of the unchanged image, and check the scores."""
    scores = objective.network.dense(objective.image[np.newaxis])
    objective.margin.check(scores.shape[1])
    if objective.margin.scores == "probs" and (scores.min() < 0 or scores.max() > 1 + 1e-3):
        raise ParameterError(
            "`scores` is 'probs', but the model returned values from "
            f"{scores.min():g} to {scores.max():g}. Pass scores='logits' or 'log_probs'."
        )
    return int(np.argmax(scores[0]))


class _Judged(NamedTuple):
    """What the classifier says of a changed image, if it can be asked."""

    prediction: int = -1
    margin: float = float("nan")


def _judge(objective: AttackObjective, change: Vector) -> _Judged:
    image = objective.clipped(change)
    try:
        scores = objective.network.dense(image[np.newaxis])
        return _Judged(int(np.argmax(scores[0])), float(objective.margin.of(scores)[0]))
    except EvaluationError:  # the classifier fails at the best point too
        return _Judged()


def _result(
    objective: AttackObjective,
    run: AskTell,
    layout: Layout,
    change: Vector,
    judged: _Judged,
    *,
    prediction: int,
    method: str,
    interrupted: bool,
) -> AttackResult:
    success, outcome = objective.hit, run.result
    status, reason = _status(objective, outcome, interrupted=interrupted, prediction=prediction)
    return AttackResult(
        status=status,
        message=f"{status.value} {reason}".strip(),
        interrupted=interrupted,
        queries=outcome.nfev if success is None else success.query,
        nfev=outcome.nfev,
        nit=outcome.nit,
        margin=judged.margin,
        original=_reshape(objective.image, layout),
        adversarial=_reshape(objective.clipped(change), layout),
        change=change.copy(),
        pixel_of=layout.pixels,
        label=objective.margin.label,
        target=objective.margin.target,
        prediction=prediction,
        adversarial_prediction=judged.prediction,
        history=outcome.history,
        seconds=outcome.seconds,
        seed=run.seed,
        method=method,
    )


def _status(
    objective: AttackObjective, outcome: Result, *, interrupted: bool, prediction: int
) -> tuple[AttackStatus, str]:
    """Return why an attack ended, and details for the message."""
    if prediction != objective.margin.label:
        return AttackStatus.MISCLASSIFIED, ""
    if objective.hit is not None:
        return AttackStatus.SUCCESS, ""
    if interrupted:
        return AttackStatus.INTERRUPTED, ""
    if outcome.failure is not None:
        error = outcome.failure.exception or outcome.failure.reason
        return AttackStatus.FAILED, f"Query {outcome.failure.query}: {error}."
    return AttackStatus.RESISTED, ""


def _reshape(flat: Vector, layout: Layout) -> Vector:
    return flat.reshape(layout.shape).copy()
