"""Coordinate pattern search (Hooke and Jeeves 1961): no slopes, own step for each coordinate."""

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.face import Face, Local
from szoht.types import Indices, Vector

__all__ = ["pattern_search", "sweep"]


def pattern_search(
    face: Face,
    start: Local,
    steps: Vector,
    generator: np.random.Generator,
    *,
    smallest: float = 1e-9,
) -> Steps[Local]:
    """Try each coordinate both ways; steps double after a success and halve after a failure.

    After a sweep that gained, the whole change is tried once more. Equal values are accepted
    half of the time, to drift over plateaus. Ends when all steps are ``smallest`` times the first.
    """
    here, lengths = start, steps.copy()
    while (lengths > smallest * steps).any() and face.open:
        before = here
        order = generator.permutation(face.n)
        for number, i in enumerate(order):
            if lengths[i] <= smallest * steps[i] or not face.open:
                continue
            _propose(face, here, order[number:], lengths)
            after = yield from _both_ways(face, here, int(i), lengths[i], generator)
            lengths[i] *= 2.0 if after.value < here.value else 0.5
            here = after
        if here.value < before.value and face.open:
            trial = yield from face.at(face.clip(2 * here.y - before.y))
            here = trial if trial.value < here.value else here
    return here


def _both_ways(
    face: Face, here: Local, i: int, length: float, generator: np.random.Generator
) -> Steps[Local]:
    first = 1.0 if generator.integers(2) else -1.0
    for sign in (first, -first):
        y = here.y.copy()
        y[i] += sign * length
        y = face.clip(y)
        if y[i] == here.y[i] or not face.open:
            continue
        trial = yield from face.at(y)
        if trial.value < here.value:
            return trial
        if trial.value == here.value and generator.integers(2):
            here = trial
    return here


def _propose(face: Face, here: Local, coordinates: Indices, steps: Vector) -> None:
    """Fill up the plan of a trial with the trials that follow if it does not gain."""
    if not face.context.speculation.active:
        return
    points = []
    for i in coordinates[: face.context.speculation.width]:
        for side in (1.0, -1.0):
            y = here.y.copy()
            y[i] += side * steps[i]
            points.append(face.context.structure.to_x(face.embed(face.clip(y))))
    face.context.speculation.propose(fitting=points)


def sweep(
    face: Face, start: Local, lengths: tuple[float, ...], unit: Vector, signs: Vector | None = None
) -> Steps[Local]:
    """Try every coordinate by fixed lengths, the side given by ``signs`` first; keep what gains."""
    here = start
    sides = np.ones(face.n) if signs is None else np.where(signs == 0, 1.0, signs)
    for length in lengths:
        for i in range(face.n):
            _propose(face, here, np.arange(i, face.n), sides * length * unit)
            for side in (sides[i], -sides[i]):
                y = here.y.copy()
                y[i] += side * length * unit[i]
                y = face.clip(y)
                if not face.open or abs(y[i] - here.y[i]) < 0.3 * length * unit[i]:
                    continue
                trial = yield from face.at(y)
                if trial.value < here.value:
                    here, sides[i] = trial, side
                    break
    return here
