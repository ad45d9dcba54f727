"""What the arguments of `minimize` say about the variables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.sparse_vector import SparseVector, as_point
from szoht.core.validation import shown
from szoht.core.variable_columns import Named, as_names, names_of
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.types import Vector

__all__ = ["Bounds", "Start", "VariableOptions", "read_bounds"]

Start: TypeAlias = ArrayLike | Variables
"""Where a run begins: an array, or variables, which say it themselves."""

Bounds: TypeAlias = Any
"""SciPy's `Bounds`, one pair (low, high), a pair for each variable, or pairs by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VariableOptions:
    """The keywords that are short for `Variables`."""

    reference: Named = None
    bounds: Bounds = None
    unit: Named = None
    integer: Named = None
    names: Iterable[str] | None = None

    def variables(self, x0: Start, *, method: object, named: bool = False) -> Variables | None:
        """Return the variables, None for a plain array that begins a run in its own numbers.

        Without a reference, changes are counted from zero, and ``x0`` is where the run begins.
        Then methods of the literature work in x as in their papers, unless a unit is given.
        """
        if isinstance(x0, Variables):
            self._check_none()
            return x0
        if hasattr(x0, "columns"):
            raise ParameterTypeError(
                "`x0` must be an array or Variables; got a DataFrame. Pass "
                "Variables.from_frame(x0)."
            )
        names = as_names(self.names) if self.names is not None else names_of(x0)
        if not (self._given or names or named):
            return None
        start = _as_start(x0)
        low, high = (None, None) if self.bounds is None else read_bounds(self.bounds)
        from_zero = self.reference is None
        default = isinstance(method, str) and method == "auto"
        papers_units = from_zero and self.unit is None and not default
        _check_pairs(low, high)
        self._check_zero(low, high)
        self._check_sizes(start.size, low)
        return Variables(
            np.zeros(start.size) if self.reference is None else self.reference,
            low=low,
            high=high,
            unit=1.0 if papers_units else self.unit,
            integer=self.integer,
            names=names or names_of(self.reference),
            start=start,
        )

    @property
    def _given(self) -> list[str]:
        return [name for name, value in vars(self).items() if value is not None]

    def _check_none(self) -> None:
        for name in self._given:
            raise ParameterError(
                f"`{name}` is part of `Variables` and must not be given beside them; got "
                f"{name}={shown(getattr(self, name))}."
            )

    def _check_sizes(self, d: int, low: Any) -> None:
        """Raise in the user's words if there are not as many entries as in ``x0``."""
        sizes = {
            "reference": None if self.reference is None else _size(self.reference),
            "bounds": None if low is None or isinstance(low, Mapping) else _size(low),
        }
        for name, size in sizes.items():
            if size not in (None, 1, d):
                raise ParameterError(
                    f"`{name}` must have as many entries as `x0`, {d}; got {size}."
                )

    def _check_zero(self, low: Any, high: Any) -> None:
        """Raise if changes are counted from zero, and zero is out of bounds."""
        if self.reference is not None:
            return
        for name, bound, sign in (("low", low, 1.0), ("high", high, -1.0)):
            entries = _entries(bound)
            column = np.array(np.nan if entries is None else entries, dtype=float)
            if np.any(sign * column > 0):
                raise ParameterError(
                    "`bounds` must include 0 where changes are counted from 0; got "
                    f"{name}={column[sign * column > 0].flat[0]:g}. Pass `reference=`, the "
                    "values from which changes are counted, such as reference=x0."
                )


def read_bounds(bounds: Bounds) -> tuple[Any, Any]:
    """Return lower and upper bounds, from any of the forms of `Bounds`.

    >>> read_bounds([(0, 1), (None, 5)])
    ([0, None], [1, 5])
    """
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    if isinstance(bounds, Mapping):
        pairs = {name: _pair(pair) for name, pair in bounds.items()}
        return {name: pair[0] for name, pair in pairs.items()}, {
            name: pair[1] for name, pair in pairs.items()
        }
    try:
        entries = list(bounds)
    except TypeError:
        entries = [bounds]
    if len(entries) == 2 and not any(np.ndim(entry) for entry in entries if entry is not None):  # noqa: PLR2004
        return entries[0], entries[1]
    both = [_pair(entry) for entry in entries]
    return [pair[0] for pair in both], [pair[1] for pair in both]


def _check_pairs(low: Any, high: Any) -> None:
    """Raise if a bound is NaN, or a pair is in the wrong order."""
    if low is None and high is None:
        return
    lows, highs = _filled(low, -np.inf), _filled(high, np.inf)
    if np.isnan(lows).any() or np.isnan(highs).any():
        raise ParameterError("`bounds` must be numbers, None for no bound; got nan.")
    if lows.shape == highs.shape and (lows > highs).any():
        i = int(np.argmax(lows > highs))
        raise ParameterError(
            "`bounds` must be pairs (low, high) with low <= high; got "
            f"({lows[i]:g}, {highs[i]:g}). Swap them."
        )


def _filled(column: Any, missing: float) -> Vector:
    """Return bounds as numbers, with one for those that are None."""
    entries = [missing if one is None else one for one in np.ravel(_entries(column)).tolist()]
    try:
        return np.array(entries, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"`bounds` must be numbers, None for no bound; got {type(column).__name__}: {error}."
        ) from error


def _pair(entry: Any) -> tuple[Any, Any]:
    try:
        low, high = entry
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"`bounds` must be pairs (low, high), None for no bound, or SciPy's Bounds; got "
            f"{shown(entry)}."
        ) from error
    return low, high


def _size(column: Any) -> int | None:
    """Return how many entries there are, None if that cannot be told."""
    try:
        return int(np.size(_entries(column)))
    except ValueError:
        return None


def _entries(column: Any) -> Any:
    return list(column.values()) if isinstance(column, Mapping) else column


def _as_start(x0: Any) -> Vector:
    if isinstance(x0, SparseVector) or hasattr(x0, "tocoo"):
        raise CapabilityError(
            "`x0` is sparse, and `reference`, `bounds`, `unit`, `integer` and `names` describe all "
            "variables one by one. Pass `x0` as an array."
        )
    return as_point("x0", _entries(x0))
