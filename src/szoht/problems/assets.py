"""Assets: mean returns and covariance, given or estimated from validated returns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from szoht.core.validation import check_real, frozen, real_array
from szoht.errors import DataError
from szoht.problems.periods import PeriodsPerYear
from szoht.types import Vector

__all__ = ["Assets", "from_returns", "shrink_covariance"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Assets:
    """Mean returns and covariance per period, and the returns themselves if available.

    Parameters
    ----------
    names : tuple of str
        One per asset, all different.
    mean : array of shape (d,)
        Mean return per period.
    covariance : array of shape (d, d)
        Covariance of the returns, positive semidefinite.
    returns : array of shape (T, d), optional
        The returns; moments alone have none.
    dropped : tuple of str
        Assets that were left out of a file, for lack of numbers.
    periods : PeriodsPerYear, optional
        How many periods a year has, if that is known, and from what.
    """

    names: tuple[str, ...]
    mean: Vector
    covariance: Vector
    returns: Vector | None = None
    dropped: tuple[str, ...] = ()
    periods: PeriodsPerYear | None = None

    @property
    def deviation(self) -> Vector:
        """Standard deviation of each asset's return."""
        roots: Vector = np.sqrt(np.diag(self.covariance))
        return roots


def from_returns(returns: object, names: Sequence[str] | None = None) -> Assets:
    """Estimate the moments of simple returns, one row per period and one column per asset.

    The covariance is the unbiased estimate, with T - 1 in the denominator.

    Parameters
    ----------
    returns : array of shape (T, d) or DataFrame
        Finite, T >= 2, none of the columns constant. The columns of a DataFrame name the assets.
    names : sequence of str, optional
        Names of the assets; by default those of the columns, or their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> assets = from_returns(np.array([[0.01, 0.02], [-0.01, 0.0], [0.03, -0.02]]))
    >>> assets.mean
    array([0.01, 0.  ])
    """
    given = names if names is not None else getattr(returns, "columns", None)
    rows = [str(label) for label in getattr(returns, "index", ())]
    table = _table(returns, given)
    labels = tuple(map(str, given)) if given is not None else tuple(map(str, range(table.shape[1])))
    check_table(table, labels, rows, what="returns")
    flat = np.flatnonzero(np.ptp(table, axis=0) == 0)
    if flat.size:
        raise DataError(
            f"returns of the asset {labels[flat[0]]!r} are constant ({table[0, flat[0]]:g}): "
            "without variance every optimum is degenerate. Drop the column."
        )
    return Assets(
        names=labels,
        mean=frozen(table.mean(axis=0)),
        covariance=frozen(np.atleast_2d(np.cov(table, rowvar=False))),
        returns=frozen(table),
    )


def _table(returns: object, names: object) -> Vector:
    try:
        table = real_array(returns)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"returns must be numbers; {_non_numeric_column(returns, names)}{error}."
        ) from error
    if table.ndim != 2:  # noqa: PLR2004
        raise DataError(
            "returns must have a row per period and a column per asset; got an array of shape "
            f"{table.shape}."
        )
    return table


def _non_numeric_column(returns: object, names: object) -> str:
    """Name the first non-numeric column, if ``returns`` is a table with columns."""
    for name in names if isinstance(names, Sequence) or hasattr(names, "__iter__") else ():
        try:
            real_array(returns[name])  # type: ignore[index]
        except (TypeError, ValueError):
            return f"column {name!r} is not numeric: "
        except (KeyError, IndexError):
            break
    return ""


def check_table(
    table: Vector, names: Sequence[str], rows: Sequence[str] = (), *, what: str
) -> None:
    """Raise unless there are two rows, a name per column, no duplicates and nothing missing."""
    if len(names) != table.shape[1]:
        raise DataError(f"{what} have {table.shape[1]} columns but {len(names)} names.")
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise DataError(f"{what} must have one column per asset; {repeated!r} occurs twice.")
    if table.shape[0] < 2 or table.shape[1] < 1:  # noqa: PLR2004
        raise DataError(
            f"{what} must have at least 2 rows and 1 column; got {table.shape[0]} rows and "
            f"{table.shape[1]} columns."
        )
    finite = np.isfinite(table)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        label = f"row {rows[row]!r}" if rows else f"row {row}"
        raise DataError(
            f"{what} must be finite; {label}, column {names[column]!r} is {table[row, column]}. "
            "Fill or drop it first."
        )


def shrink_covariance(assets: Assets, shrinkage: float) -> Assets:
    """Return the assets with (1 - s) C + s tr(C)/d I in place of the covariance C.

    With fewer periods than assets the sample covariance is singular, and it always overstates
    how well assets hedge each other; shrinkage s towards the identity corrects both (Ledoit and
    Wolf, 2004).
    """
    s = check_real("shrinkage", shrinkage, low=0.0, high=1.0)
    if s == 0:
        return assets
    covariance = assets.covariance
    level = float(np.trace(covariance)) / covariance.shape[0]
    mixed = (1.0 - s) * covariance + s * level * np.eye(covariance.shape[0])
    return replace(assets, covariance=frozen(mixed))
