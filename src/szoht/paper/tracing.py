"""A run, followed: what a curve needs, at evenly spaced moments."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from szoht.core.algorithm import Algorithm
from szoht.core.objective import Objective
from szoht.result import Progress
from szoht.run.minimize import minimize
from szoht.types import Vector

__all__ = ["follow"]

ROWS = 400

Measure = Callable[[Vector], float]


def follow(
    objective: Objective,
    x0: Vector,
    *,
    method: str | Algorithm,
    measures: Mapping[str, Measure],
    seed: int,
    best: bool = False,
    **limits: Any,
) -> dict[str, Vector]:
    """Return a table of what is measured at the iterates of a run.

    Parameters
    ----------
    objective, x0, method, seed
        What is minimised, from where, how.
    measures : mapping
        Functions of the iterate; neither counted nor timed.
    best : bool
        Measure the best iterate so far instead of the newest one.
    limits
        ``max_queries`` or ``max_iterations``, and other arguments of `minimize`.

    Returns
    -------
    dict of arrays
        ``directions``, queries without the one at the iterate itself, which is how the paper
        counts; ``queries``, all of them; one column per measure. Some 400 rows, the start first.
    """
    trace = _Trace(measures, best, limits)
    trace.note(0, 0, x0)
    result = minimize(
        objective, x0, method=method, rng=seed, callback=trace, on_error="skip", **limits
    )
    if not best and trace.last is not None:
        trace.note(*trace.last)
    elif best:
        trace.note(result.nfev - result.nit, result.nfev, result.x)
    return trace.table()


class _Trace:
    def __init__(
        self, measures: Mapping[str, Measure], best: bool, limits: Mapping[str, Any]
    ) -> None:
        self._measures, self._best = measures, best
        self._by_queries = "max_queries" in limits
        end = limits["max_queries"] if self._by_queries else limits["max_iterations"]
        self._every = max(1, end // ROWS)
        self._next = self._every
        self._iteration = 0
        self._rows: dict[int, tuple[float, ...]] = {}
        self.last: tuple[int, int, Vector] | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.iteration == self._iteration and not self._best:
            return  # a query after the last iteration, which moved nothing
        self._iteration = progress.iteration
        x = progress.best_x if self._best else progress.x
        now = progress.queries if self._by_queries else progress.iteration
        self.last = (progress.queries - progress.iteration, progress.queries, x)
        if now >= self._next:
            self._next = (now // self._every + 1) * self._every
            self.note(*self.last)

    def note(self, directions: int, queries: int, x: Vector) -> None:
        """Measure and keep a row, once."""
        if queries not in self._rows:
            values = (float(measure(x)) for measure in self._measures.values())
            self._rows[queries] = (float(directions), float(queries), *values)

    def table(self) -> dict[str, Vector]:
        """Return the columns."""
        names = ("directions", "queries", *self._measures)
        return dict(zip(names, np.array(list(self._rows.values())).T, strict=True))
