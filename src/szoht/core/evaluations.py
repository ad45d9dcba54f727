"""The evaluations of a run as a table, in the user's numbers."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from szoht.core.extras import import_pandas
from szoht.core.ledger import Ledger
from szoht.core.sparse_vector import SparseVector
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, DroppedPointsWarning, MissingExtraError, warn
from szoht.types import Vector

__all__ = ["Evaluations"]

MOST_CELLS = 5 * 10**7
"""Of a table, 400 MB: a longer one is read in pieces by `Evaluations.x`."""


@dataclass(frozen=True, eq=False)
class Evaluations:
    """The first ``count`` evaluations of a ledger, which may have more by now.

    Examples
    --------
    >>> import szoht
    >>> result = szoht.minimize(lambda x: float(x @ x), np.ones(2), k=2, max_queries=20, rng=0)
    >>> len(result.ledger) == result.nfev
    True
    >>> result.ledger.x(0, 1), result.ledger.fun[0]
    (array([[1., 1.]]), np.float64(2.0))
    """

    ledger: Ledger
    count: int
    variables: Variables | None = None
    output_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count

    @property
    def fun(self) -> Vector:
        """The values, NaN where the function failed."""
        return self.ledger.values[: self.count]

    def x(self, start: int = 0, stop: int | None = None) -> Vector:
        """Return the points of some evaluations as rows; NaN where a point was not kept."""
        stop = self.count if stop is None else min(stop, self.count)
        if isinstance(cast(object, self.ledger.start), SparseVector):
            raise CapabilityError("`x0` is sparse: its points are not written out as a table.")
        rows = [self.ledger.point(row) for row in range(start, stop)]
        points = np.array(rows).reshape(len(rows), self.ledger.start.size)
        if self.variables is None or not rows:
            return points
        known = ~np.isnan(points).any(axis=1)
        points[known] = self.variables.to_x(points[known])
        return points

    def table(self) -> Any:
        """Return a pandas DataFrame; without pandas, a dict of columns."""
        columns = self._columns()
        try:
            pandas = import_pandas("a table of evaluations")
        except MissingExtraError:
            return columns
        return pandas.DataFrame(columns, copy=False)

    def _columns(self) -> dict[str, np.ndarray]:
        d = self.ledger.start.size
        if self.count * d > MOST_CELLS:
            raise CapabilityError(
                f"`evaluations` would have {self.count:,} rows of {d:,} variables. Read some of "
                "them: `result.ledger.x(start, stop)` and `result.ledger.fun`."
            )
        if self.ledger.n_dropped:
            warn(
                f"{self.ledger.n_dropped:,} of {self.count:,} points that are no answers were not "
                "kept: they take more than 64 MB. Their entries are NaN.",
                DroppedPointsWarning,
            )
        columns: dict[str, np.ndarray] = {"query": np.arange(1, self.count + 1)}
        outputs = self.ledger.outputs
        if outputs is None:
            columns["fun"] = self.fun
        else:
            names = self.output_names or tuple(f"y[{i}]" for i in range(outputs.shape[1]))
            columns |= dict(zip(names, outputs[: self.count].T, strict=True))
        names = _names(d) if self.variables is None else self.variables.labels
        return columns | dict(zip(names, self.x().T, strict=True))


def _names(d: int) -> tuple[str, ...]:
    return tuple(f"x[{i}]" for i in range(d))
