"""`Attempt`: one attack from its first look at the image to its result."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

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
from szoht.applications.attack.margin import Loss, Margin, ScoreScale
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
from szoht.run.callbacks import Callback
from szoht.run.loop import drive
from szoht.stopping import Check, Rule
from szoht.types import Vector

__all__ = ["Attempt"]


@dataclass(frozen=True)
class FirstSuccess(Rule):
    """Stop as soon as a change has succeeded."""

    objective: AttackObjective

    def begin(self) -> Check:
        """Return a check for one run."""
        return lambda *_: None if self.objective.hit is None else Status.CALLBACK


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An attack: the loss, the run that lowers it, and what the classifier says at first."""

    objective: AttackObjective
    run: AskTell
    layout: Layout
    prediction: int
    method: str

    @classmethod
    def begin(
        cls,
        model: Model,
        image: ArrayLike,
        label: int,
        *,
        k: int,
        method: str | Algorithm,
        options: Mapping[str, Any] | None,
        unit: Unit,
        bounds: Bounds,
        channels: Channels | None,
        low: float,
        high: float,
        target: int | None,
        confidence: float,
        scores: ScoreScale,
        margin_on: ScoreScale | None,
        loss: Loss | None,
        max_queries: int,
        max_seconds: float | None,
        batch_size: int | None,
        rng: int | np.random.Generator | np.random.SeedSequence | None,
        callback: Callback | None = None,
    ) -> Self:
        """Check the arguments of `attack`, and look at the unchanged image."""
        pixels = as_image(image, low, high)
        layout = as_layout(pixels.shape, channels)
        flat = pixels.astype(np.float64).ravel()
        if loss is None and target is not None and method == "sparse_rs":
            loss = "cross_entropy"
        objective = AttackObjective(
            network=as_network(model, pixels.shape, pixels.dtype),
            image=flat,
            margin=Margin(
                label=label, target=target, confidence=confidence, scores=scores, on=margin_on
            ),
            low=low,
            high=high,
            batches=Batches(batch_size),
            loss=loss or "margin",
        )
        allowed = None
        if isinstance(method, str):  # an algorithm object has a constraint of its own
            allowed = constraint(flat, layout, k=k, unit=unit, bounds=bounds, low=low, high=high)
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
            callback=callback,
        )
        objective.counts = getattr(run.algorithm.operator, "contains", objective.counts)
        # the whole repr would list the bounds of every pixel
        name = method if isinstance(method, str) else type(method).__name__
        return cls(objective=objective, run=run, layout=layout, prediction=prediction, method=name)

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do: not if the image was misclassified before."""
        return self.prediction == self.objective.margin.label and not self.run.done

    def drive(self) -> None:
        """Drive the attack to its end."""
        oracle = Oracle(objective=as_objective(self.objective), on_error="stop")
        drive(self.run, replace(oracle, is_late=lambda: self.run.is_late))

    def result(self, *, interrupted: bool = False) -> AttackResult:
        """Return the result; an attack that was interrupted ends where it stands."""
        self.run.interrupt()
        stop: KeyboardInterrupt | None = None
        change = self.run.result.x if self.objective.hit is None else self.objective.hit.change
        judged = _Judged()
        try:
            judged = _judge(self.objective, change)
        except KeyboardInterrupt as late:
            stop = late
        result = self._result(change, judged, interrupted=interrupted or stop is not None)
        if stop is not None:
            attach(stop, result)
            raise stop
        return result

    def _result(self, change: Vector, judged: "_Judged", *, interrupted: bool) -> AttackResult:
        objective, outcome = self.objective, self.run.result
        status, reason = _status(
            objective, outcome, interrupted=interrupted, prediction=self.prediction
        )
        return AttackResult(
            status=status,
            message=f"{status.value} {reason}".strip(),
            interrupted=interrupted,
            queries=outcome.nfev if objective.hit is None else objective.hit.query,
            nfev=outcome.nfev,
            nit=outcome.nit,
            margin=judged.margin,
            original=_reshape(objective.image, self.layout),
            adversarial=_reshape(objective.clipped(change), self.layout),
            change=change.copy(),
            pixel_of=self.layout.pixels,
            label=objective.margin.label,
            target=objective.margin.target,
            prediction=self.prediction,
            adversarial_prediction=judged.prediction,
            history=outcome.history,
            seconds=outcome.seconds,
            seed=self.run.seed,
            method=self.method,
        )


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
