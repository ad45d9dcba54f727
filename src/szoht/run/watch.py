"""Functions that tell a search nothing: constant ones, and those that fail nearly everywhere."""

import numpy as np

from szoht.core.ledger import Ledger
from szoht.core.operator import declared_bounds
from szoht.core.query import Plan, Query, Stage
from szoht.core.random import Key, Purpose
from szoht.core.validation import frozen
from szoht.result import Counts, Status
from szoht.types import Vector

__all__ = ["Watch"]

LEAST_VALUES, VALUES_PER_VARIABLE = 200, 5
"""So many values, and so many for each variable, must say the same before a run ends by it."""

HOPELESS_SHARE = 0.98
"""Where this share of the evaluations fails, a search finds nothing.

If f fails everywhere but at the start, 3 of 217 evaluations succeed: the start is asked again."""

COMPARED_LENGTHS: Vector = np.logspace(-8, 0, 17)
"""How far from the start f is compared before it is called constant, as shares of the box."""

WITHOUT_BOUNDS = 1e8
"""What stands for the width of the box where there are no bounds, in sizes of the start."""


class Watch:
    """Ends a run early whose values say nothing, with a status that says so.

    Parameters
    ----------
    ledger : Ledger
        What was evaluated.
    on_grid : bool
        Whether variables move in steps, so that no other length can be tried.
    """

    def __init__(self, ledger: Ledger, *, on_grid: bool) -> None:
        self._ledger = ledger
        self._on_grid = on_grid
        self._enough = max(LEAST_VALUES, VALUES_PER_VARIABLE * ledger.start.size)
        self._has_compared = False

    def status(self, counts: Counts) -> Status | None:
        """Return why to end, None if there is no reason."""
        if counts.points < self._enough:
            return None
        if counts.failures >= HOPELESS_SHARE * counts.points:
            return Status.MOSTLY_FAILED
        constant = self._ledger.is_constant and self._ledger.n_equal >= self._enough
        return Status.CONSTANT if constant and (self._has_compared or self._on_grid) else None

    def comparison(self, operator: object, seed: int) -> Plan | None:
        """Return a plan that compares f over all lengths, once, if it seems to be constant."""
        ledger = self._ledger
        seems_constant = ledger.is_constant and ledger.n_equal >= self._enough
        if not seems_constant or self._has_compared or self._on_grid:
            return None
        self._has_compared = True
        signs = Key(seed=seed).generator(Purpose.NOISE).choice([-1.0, 1.0], ledger.start.size)
        points = [_moved(ledger.start, operator, length * signs) for length in COMPARED_LENGTHS]
        return Plan(
            queries=tuple(Query(base=frozen(point)) for point in points), stage=Stage.MEASURE
        )


def _moved(start: Vector, operator: object, step: Vector) -> Vector:
    """Return the start moved by shares of the box, as the constraint allows."""
    bounds = declared_bounds(operator)  # type: ignore[arg-type]
    size = WITHOUT_BOUNDS * max(1.0, float(np.abs(start).max()))
    low, high = (-size, size) if bounds is None else bounds
    width = np.minimum(np.broadcast_to(high, start.shape) - low, 2 * size)
    moved = np.clip(start + width * step, low, high)
    prox = getattr(operator, "prox", None)
    return moved if prox is None else np.asarray(prox(moved, 1.0))
