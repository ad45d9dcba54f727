"""Plans for many workers: points that may be needed next fill them up, and solves run together.

With ``plan_width=1`` nothing here does anything. How wide plans are is part of a run, unlike the
number of workers: it changes which points are asked.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.core.query import Answer, Plan, Query
from szoht.types import Vector

__all__ = ["Speculation", "together"]

T = TypeVar("T")

MAX_WAITING_VALUES = 1_000
"""Values that were not asked for yet; older ones are forgotten."""


class Speculation:
    """Points that may be asked next, and values of those that were measured before they were.

    Plans are filled up to a multiple of ``width``: first with what is ``wanted``, which may make a
    plan longer by whole multiples, then with what merely fits. What is proposed is
    forgotten after the next plan. A value is given once: whoever asks again wants a new one.
    """

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self.paused = 0
        self._wanted: list[Vector] = []
        self._fitting: list[Vector] = []
        self._values: OrderedDict[bytes, float] = OrderedDict()

    @property
    def active(self) -> bool:
        """Whether plans are to be filled up."""
        return self.width > 1 and not self.paused

    def whole(self, count: int) -> int:
        """Return the least number of points, at least ``count``, that fills whole plans."""
        return -(-count // self.width) * self.width if self.active else count

    def propose(self, wanted: Iterable[Vector] = (), fitting: Iterable[Vector] = ()) -> None:
        """Name points that may be asked after the next plan, the most likely first."""
        if self.active:
            self._wanted.extend(wanted)
            self._fitting.extend(fitting)

    def take(self, size: int, left: float) -> list[Vector]:
        """Return the points that fill up a plan of ``size`` points, at most ``left`` in all."""
        room = min(self.whole(size + len(self._wanted)), left) - size
        new = {x.tobytes(): x for x in (*self._wanted, *self._fitting)}
        self._wanted, self._fitting = [], []
        return [x for key, x in new.items() if key not in self._values][: max(int(room), 0)]

    def keep(self, points: Sequence[Vector], values: Iterable[float]) -> None:
        """Keep the values of points that may be asked."""
        for x, value in zip(points, values, strict=True):
            self._values[x.tobytes()] = value
        while len(self._values) > MAX_WAITING_VALUES:
            self._values.popitem(last=False)

    def forget(self) -> None:
        """Forget all values: from now on they are those of another function."""
        self._values.clear()

    def known(self, plan: Plan) -> Vector | None:
        """Return the values of a plan's points, NaN if not known; None if no value is.

        They are forgotten: a value is given once.
        """
        if not self._values or any(_is_dense(query) for query in plan.queries):
            return None
        found = [self._values.pop(x.tobytes(), math.nan) for x in plan.points()]
        return None if all(map(math.isnan, found)) else np.array(found)


def _is_dense(query: Query) -> bool:
    """Tell whether a query moves all coordinates: its points are never proposed."""
    directions = query.directions
    return directions is not None and next(iter(directions.slices(0, 1))).indices is None


def together(tasks: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Run several parts of an algorithm side by side: their plans are asked as one."""
    results: dict[int, T] = {}
    waiting: dict[int, Plan] = {}

    def advance(i: int, answers: Sequence[Answer] | None) -> None:
        try:
            waiting[i] = next(tasks[i]) if answers is None else tasks[i].send(answers)
        except StopIteration as end:
            waiting.pop(i, None)
            results[i] = end.value

    for i in range(len(tasks)):
        advance(i, None)
    while waiting:
        plans = dict(waiting)
        answers = yield Plan(queries=tuple(q for plan in plans.values() for q in plan.queries))
        first = 0
        for i, plan in plans.items():
            advance(i, answers[first : first + len(plan.queries)])
            first += len(plan.queries)
    return [results[i] for i in range(len(tasks))]
