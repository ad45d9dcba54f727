"""`Variables`: the one place where users' numbers become the solver's."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.validation import frozen, shown
from szoht.core.variable_checks import SMALLEST_FACTOR, check_variables, describe_variable
from szoht.core.variable_columns import ColumnReader, Named, Values, as_names, names_of
from szoht.core.variable_table import read_csv, read_frame
from szoht.errors import ParameterError, ParameterTypeError
from szoht.types import Indices, Mask, Vector

__all__ = ["Variables"]

LARGEST_FACTOR = float(np.finfo(np.float64).max)
"""On a logarithmic scale."""


@dataclass(frozen=True, init=False, eq=False)
class Variables:
    """The variables of a problem: nominal values, bounds, units, names, and which are integers.

    The solver works on z: x = nominal + unit * z, and x = nominal * exp(unit * z) on a logarithmic
    scale. So z = 0 is "unchanged" and one unit "a natural change", whatever the physical dimension;
    at most k entries of z are not zero. An integer is the nearest one to that x, a variable with a
    list of values moves along the list. Every z gives an x that is within the bounds, exactly.

    Parameters
    ----------
    nominal : array of shape (d,), dict or pandas Series
        The values from which changes are counted, finite. Keys and index are the names.
    low, high : float or array of shape (d,), optional
        Bounds with low <= nominal <= high; a variable with low == high is fixed. None or NaN means
        no bound.
    unit : float or array of shape (d,), optional
        A natural change, > 0; on a logarithmic scale, of the logarithm. Where it is None or NaN:
        the distance between the bounds if both are finite, else ``abs(nominal)``, else 1, and the
        default method then finds out by itself how far to go. On a logarithmic scale, 1 where
        there are no two bounds: a factor of e.
    log : bool or array of bool
        Which variables are changed by factors: nominal and low > 0.
    integer : bool or array of bool
        Which variables are integers. Bounds are rounded inwards.
    names : sequence of str, optional
        Different from one another.
    start : array of shape (d,), optional
        Where a run begins, if not at the nominal values.
    values : dict of name to sequence, or sequence of d sequences, optional
        The numbers that a variable may have, in increasing order, None for no list. Neighbors in
        the list are one step apart, so order must mean something.

    Examples
    --------
    >>> import numpy as np
    >>> knobs = Variables(
    ...     {"speed": 20.0, "rate": 1e-4, "buffers": 3},
    ...     low=[0.0, 1e-6, 1],
    ...     high=[80.0, 1e-2, 12],
    ...     log=[False, True, False],
    ...     integer=[False, False, True],
    ... )
    >>> knobs.to_x(np.array([0.25, 0.0, 0.12]))
    array([4.e+01, 1.e-04, 4.e+00])

    Notes
    -----
    A variable with unordered categories has no z. Make one on/off variable for each category
    (``integer``, low=0, high=1), or run once for each of them.
    """

    nominal: Vector
    low: Vector
    high: Vector
    unit: Vector
    log: Mask
    integer: Mask
    names: tuple[str, ...]
    start: Vector
    values: tuple[tuple[float, ...], ...]

    def __init__(
        self,
        nominal: Named,
        *,
        low: Named = None,
        high: Named = None,
        unit: Named = None,
        log: Named = False,
        integer: Named = False,
        names: Iterable[str] | None = None,
        start: Named = None,
        values: Values = None,
    ) -> None:
        given = (as_names(names) if names is not None else ()) or names_of(nominal)
        read = ColumnReader(given, None)
        first = read.numbers("nominal", nominal)
        read = ColumnReader(given, first.size)
        columns: dict[str, Any] = {
            "nominal": frozen(first),
            "low": read.numbers("low", low, missing=-np.inf),
            "high": read.numbers("high", high, missing=np.inf),
            "unit": frozen(read.numbers("unit", unit, missing=np.nan)),
            "log": frozen(read.flags("log", log)),
            "names": given,
            "values": read.lists(values),
        }
        listed = np.array([bool(entry) for entry in columns["values"]], dtype=bool)
        listed = listed if listed.size else np.zeros(first.size, dtype=bool)
        columns["integer"] = frozen(read.flags("integer", integer) | listed)
        columns["start"] = frozen(first if start is None else read.numbers("start", start))
        for name, column in columns.items():
            object.__setattr__(self, name, column)
        self._tighten(listed)
        check_variables(self)

    @classmethod
    def from_csv(cls, path: str | Path) -> Self:
        """Return the variables of a file with one line for each and a header.

        Columns: name, nominal, low, high, unit, log, integer, values, start, in any order; only
        nominal is required, and an empty cell means the default. Values are separated by spaces
        or ``|``; flags read yes or no, true or false, on or off, y or n, x, 1 or 0.
        """
        if not isinstance(path, str | os.PathLike):
            raise ParameterTypeError(f"`path` must be that of a CSV file; got {shown(path)}.")
        return cls(**read_csv(Path(path)))

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Return the variables of a DataFrame with the columns of `from_csv`.

        Without a column ``name``, the names are those of the index, unless it only counts rows.
        """
        return cls(**read_frame(frame))

    @property
    def d(self) -> int:
        """How many variables there are."""
        return int(self.nominal.size)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names; ``x[i]`` if none were given."""
        return self.names or tuple(f"x[{i}]" for i in range(self.d))

    @cached_property
    def free(self) -> Mask:
        """Which variables can be changed."""
        return np.asarray(self.low < self.high)

    @cached_property
    def scale(self) -> Vector:
        """The unit of each variable, chosen where it was not given."""
        return frozen(self._units[0])

    @cached_property
    def has_units(self) -> bool:
        """Whether the unit of every variable that can be changed is given or follows from it."""
        return bool(self._units[1].all())

    @cached_property
    def grid(self) -> Vector | None:
        """The step in z of each integer that is not fixed, else 0; None without integers."""
        steps = np.divide(1.0, self.scale, out=np.zeros(self.d), where=self.integer & self.free)
        return frozen(steps) if steps.any() else None

    @cached_property
    def z_low(self) -> Vector:
        """Lower bounds on z."""
        return frozen(self._to_z(self._on_grid(self.low)))

    @cached_property
    def z_high(self) -> Vector:
        """Upper bounds on z."""
        return frozen(self._to_z(self._on_grid(self.high)))

    @cached_property
    def bounded(self) -> bool:
        """Whether any bound is finite."""
        return bool(np.isfinite(self.z_low).any() or np.isfinite(self.z_high).any())

    @cached_property
    def z_start(self) -> Vector:
        """Where a run begins."""
        return frozen(self.to_z(self.start))

    def to_x(self, z: Vector) -> Vector:
        """Return the user's numbers for a point z, or for a stack of them."""
        z = np.asarray(z, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            x = self._origin + self.scale * z
            if self._log_indices.size:
                where = self._log_indices
                root = np.exp(0.5 * self.scale[where] * z[..., where])
                # in two steps, so that only the product can leave the range of numbers
                x[..., where] = self.nominal[where] * root * root
        if self._whole.size:
            x[..., self._whole] = np.rint(x[..., self._whole]) + 0.0  # no -0
        if self._is_limited:
            np.clip(x, self._grid_low, self._grid_high, out=x)
            np.copyto(x, self._grid_high, where=z >= self.z_high)
            np.copyto(x, self._grid_low, where=z <= self.z_low)
        for i, entries in self._lists.items():
            x[..., i] = entries[x[..., i].astype(np.intp)]
        return np.asarray(x)

    def to_z(self, x: ArrayLike) -> Vector:
        """Return the solver's point for the user's numbers, inside the bounds."""
        grid = np.array(x, dtype=np.float64)
        for i, entries in self._lists.items():
            grid[..., i] = np.abs(grid[..., i, np.newaxis] - entries).argmin(axis=-1)
        if self._whole.size:
            grid[..., self._whole] = np.rint(grid[..., self._whole])
        return np.asarray(np.clip(self._to_z(grid), self.z_low, self.z_high))

    def derivative(self, z: Vector) -> Vector:
        """Return dx/dz: a gradient in x times this is the gradient in z."""
        return np.where(self.log, self.scale * self.to_x(z), self.scale)

    def changed(self, x: Vector) -> Indices:
        """Return the variables that differ from their nominal values."""
        return np.flatnonzero(x != self.nominal)

    def __repr__(self) -> str:
        counts = {
            "integer": int(self.integer.sum()),
            "logarithmic": int(self.log.sum()),
            "fixed": int(self.d - self.free.sum()),
        }
        told = [f"{count} {what}" for what, count in counts.items() if count]
        return f"<{type(self).__name__}: {', '.join([f'{self.d} variables', *told])}>"

    def _tighten(self, listed: Mask) -> None:
        """Round the bounds of integers inwards, and take those of lists from their values."""
        whole = self.integer & ~listed
        low, high = np.array(self.low), np.array(self.high)
        low[self.log & np.isneginf(low)] = 0.0
        whole &= np.ceil(low) <= np.floor(high)  # others are refused as they are stated
        low[whole], high[whole] = np.ceil(low[whole]), np.floor(high[whole])
        for i in np.flatnonzero(listed).tolist():
            inside = [v for v in self.values[i] if low[i] <= v <= high[i]]
            if not inside:
                raise ParameterError(
                    "`values` must have an entry within the bounds; got "
                    f"{describe_variable(self.names, i)} with "
                    f"values={self.values[i]}, low={low[i]:g}, high={high[i]:g}."
                )
            low[i], high[i] = inside[0], inside[-1]
        object.__setattr__(self, "low", frozen(low))
        object.__setattr__(self, "high", frozen(high))

    # the grid: x itself, or the place in the list of values

    @cached_property
    def _lists(self) -> dict[int, Vector]:
        return {i: np.array(entries) for i, entries in enumerate(self.values) if entries}

    @cached_property
    def _is_listed(self) -> Mask:
        mask = np.zeros(self.d, dtype=bool)
        mask[list(self._lists)] = True
        return mask

    @cached_property
    def _log_indices(self) -> Indices:
        return np.flatnonzero(self.log)

    @cached_property
    def _whole(self) -> Indices:
        return np.flatnonzero(self.integer)

    @cached_property
    def _is_limited(self) -> bool:
        return bool(np.isfinite(self._grid_low).any() or np.isfinite(self._grid_high).any())

    @cached_property
    def _origin(self) -> Vector:
        return self._on_grid(self.nominal)

    @cached_property
    def _grid_low(self) -> Vector:
        return np.where(self.log, np.maximum(self.low, SMALLEST_FACTOR), self._on_grid(self.low))

    @cached_property
    def _grid_high(self) -> Vector:
        return np.where(self.log, np.minimum(self.high, LARGEST_FACTOR), self._on_grid(self.high))

    def _on_grid(self, x: Vector) -> Vector:
        grid = np.array(x)
        for i, entries in self._lists.items():
            grid[i] = int(np.searchsorted(entries, x[i]))
        return frozen(grid)

    @cached_property
    def _units(self) -> tuple[Vector, Mask]:
        """The units, and which of them are known."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            width = self._on_grid(self.high) - self._on_grid(self.low)
            both = self.log & (self.low > 0) & np.isfinite(self.high)
            ratio = np.log(self.high) - np.log(np.where(both, self.low, 1.0))
        width = np.where(self.log, np.where(both, ratio, 1.0), width)
        usable = np.isfinite(width) & (width > 0)
        size = np.where(self._is_listed, 1.0, np.abs(self.nominal))
        size = np.where(self.integer, np.maximum(size, 1.0), size)
        chosen = np.where(usable, width, np.where(size > 0, size, 1.0))
        given = ~np.isnan(self.unit)
        known = given | usable | (size > 0) | ~self.free
        return np.where(given, self.unit, chosen), known

    def _to_z(self, grid: Vector) -> Vector:
        """Return z of places on the grid, which may be infinite."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            z = (grid - self._origin) / self.scale
            if self._log_indices.size:
                where = self._log_indices
                ratio = _log_ratio(grid[..., where], self.nominal[where])
                z[..., where] = ratio / self.scale[where]
        return z


def _log_ratio(x: Vector, nominal: Vector) -> Vector:
    """Return log(x / nominal): accurate near 1, and without overflow far from it."""
    near = (x > 0.5 * nominal) & (x < 2 * nominal)
    close = np.log1p(np.where(near, (x - nominal) / nominal, 0.0))
    return np.where(near, close, np.log(x) - np.log(nominal))
