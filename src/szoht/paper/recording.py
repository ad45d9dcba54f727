"""Tables of measurements: of the iterates of a run at regular intervals, or from rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from szoht.core.algorithm import Algorithm
from szoht.core.objective import Objective
from szoht.paper.experiment import Table
from szoht.result import Progress
from szoht.run.minimize import minimize
from szoht.types import Vector

__all__ = ["Running", "record_run", "table_from_rows"]

RECORDED_ROWS = 400

Measure = Callable[[Vector], float]


@dataclass(frozen=True)
class Running:
    """A number that every iterate updates: ``update(number, previous iterate, iterate)``."""

    start: float
    update: Callable[[float, Vector, Vector], float]


def record_run(
    objective: Objective,
    x0: Vector,
    *,
    method: str | Algorithm,
    measures: Mapping[str, Measure],
    seed: int,
    running: Mapping[str, Running] | None = None,
    best: bool = False,
    **limits: Any,
) -> Table:
    """Run `minimize` and return a table of measurements of its iterates.

    Parameters
    ----------
    objective, x0, method, seed
        Arguments of `minimize`.
    measures : mapping
        Functions of the iterate; not counted as queries.
    running : mapping, optional
        Numbers that depend on all iterates so far, not only on those in the table.
    best : bool
        Measure the best iterate so far instead of the newest one.
    limits
        ``max_queries`` or ``max_iterations``, and other arguments of `minimize`.

    Returns
    -------
    dict of arrays
        ``directions``, queries without the one at the iterate itself, which is how the paper
        counts; ``queries``, all of them; one column per measure and running number.
        Some 400 rows, the start first.
    """
    recorder = _Recorder(measures, running or {}, x0, best, limits)
    result = minimize(
        objective, x0, method=method, rng=seed, callback=recorder, on_error="skip", **limits
    )
    if not best and recorder.last is not None:
        recorder.add_row(*recorder.last)
    elif best:
        recorder.advance(result.x)
        recorder.add_row(result.nfev - result.nit, result.nfev, result.x)
    return recorder.table()


def table_from_rows(rows: Sequence[Mapping[str, float]]) -> Table:
    """Return rows with equal keys as columns.

    >>> table_from_rows([{"k": 1, "error": 0.5}, {"k": 2, "error": 0.25}])["error"]
    array([0.5 , 0.25])
    """
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}


class _Recorder:
    def __init__(
        self,
        measures: Mapping[str, Measure],
        running: Mapping[str, Running],
        x0: Vector,
        best: bool,
        limits: Mapping[str, Any],
    ) -> None:
        self._measures, self._running, self._best = measures, running, best
        self._numbers = {name: one.start for name, one in running.items()}
        self._x = x0
        self._by_queries = "max_queries" in limits
        end = limits["max_queries"] if self._by_queries else limits["max_iterations"]
        self._interval = max(1, end // RECORDED_ROWS)
        self._next = self._interval
        self._iteration = 0
        self._rows: dict[int, tuple[float, ...]] = {}
        self.last: tuple[int, int, Vector] | None = None
        self.add_row(0, 0, x0)

    def __call__(self, progress: Progress) -> None:
        if progress.iteration == self._iteration and not self._best:
            return  # a query after the last iteration, at an unchanged iterate
        self._iteration = progress.iteration
        x = progress.best_x if self._best else progress.x
        self.advance(x)
        now = progress.queries if self._by_queries else progress.iteration
        self.last = (progress.queries - progress.iteration, progress.queries, x)
        if now >= self._next:
            self._next = (now // self._interval + 1) * self._interval
            self.add_row(*self.last)

    def advance(self, x: Vector) -> None:
        """Update the running numbers with the next iterate."""
        for name, one in self._running.items():
            self._numbers[name] = one.update(self._numbers[name], self._x, x)
        self._x = x

    def add_row(self, directions: int, queries: int, x: Vector) -> None:
        """Measure and store a row, unless one exists for this number of queries."""
        if queries not in self._rows:
            values = (float(measure(x)) for measure in self._measures.values())
            numbers = self._numbers.values()
            self._rows[queries] = (float(directions), float(queries), *values, *numbers)

    def table(self) -> Table:
        """Return the columns."""
        names = ("directions", "queries", *self._measures, *self._running)
        return dict(zip(names, np.array(list(self._rows.values())).T, strict=True))
