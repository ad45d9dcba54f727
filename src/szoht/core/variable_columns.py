"""Columns of variables: one entry for all of them, one for each, or entries by name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.validation import real_array, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.types import Mask, Vector

__all__ = ["ColumnReader", "Named", "Values", "as_names", "names_of"]

Named: TypeAlias = ArrayLike | Mapping[str, Any] | None
"""One entry for all variables, one for each, or entries by name: a dict or a pandas Series."""

Values: TypeAlias = Mapping[str, Sequence[float]] | Sequence[Sequence[float] | None] | None
"""The allowed values of some variables, by name; or for each variable, None for no list."""


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as strings; a single string would be taken for its letters."""
    try:
        given = None if isinstance(names, str | bytes) else tuple(map(str, names))
    except Exception:  # of what cannot be listed, or has no words for itself
        given = None
    if given is None:
        raise ParameterTypeError(f"`names` must be several strings; got {shown(names)}.")
    for name in given:
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise ParameterError(f"`names` must be text; got {name!r} with half of a character.")
    return given


def names_of(column: object) -> tuple[str, ...]:
    """Return the keys of a dict, or the index of a Series unless it only counts."""
    if isinstance(column, Mapping):
        return tuple(map(str, column))
    index = getattr(column, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return ()
    return tuple(map(str, index))


@dataclass(frozen=True)
class ColumnReader:
    """Reads one column for all variables, whichever way it was given."""

    names: tuple[str, ...]
    d: int | None

    def numbers(self, name: str, given: Any, *, missing: float | None = None) -> Vector:
        """Return one number per variable; ``missing`` stands for None and NaN."""
        if given is None and missing is not None:
            assert self.d is not None, "the first column is required"  # noqa: S101
            return np.full(self.d, missing)
        column = self._column(name, given, complete=missing is None)
        if missing is not None:
            return np.where(np.isnan(column), missing, column)
        finite = np.isfinite(column)
        if not finite.all():
            i = int(np.argmin(finite))
            raise ParameterError(f"`{name}` must be finite; got {name}[{i}]={column[i]}.")
        return column

    def flags(self, name: str, given: Any) -> Mask:
        """Return one flag per variable."""
        if given is None:
            given = False
        if isinstance(given, str):
            raise ParameterTypeError(
                f"`{name}` must be flags, or names in a list; got {given!r}. Pass [{given!r}]."
            )
        if isinstance(given, Sequence):
            listed = list(given)
            if listed and all(isinstance(one, str) for one in listed):
                given = {str(one): True for one in listed}
        if hasattr(given, "__len__") and getattr(given, "ndim", 1) > 0 and len(given) == 0:
            given = False  # none of them
        column = np.nan_to_num(self._column(name, given), nan=0.0)
        wrong = ~np.isin(column, (0.0, 1.0))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ParameterTypeError(
                f"`{name}` must be True or False for each variable; got {name}[{i}]={column[i]:g}."
            )
        return np.asarray(column, dtype=bool)

    def lists(self, given: Values) -> tuple[tuple[float, ...], ...]:
        """Return the allowed values of each variable, () for those without a list."""
        assert self.d is not None, "lists are read last"  # noqa: S101
        if given is not None and not (_is_list(given) or isinstance(given, Mapping)):
            raise ParameterTypeError(
                "`values` must be lists of numbers, one for each variable or by name; got "
                f"{shown(given)}."
            )
        if given is None or len(given) == 0:
            return ()
        if isinstance(given, Mapping):
            self._check_keys("values", given)
            given = [given.get(name) for name in self.names]
        if len(given) != self.d:
            raise ParameterError(
                f"`values` must have one entry for each of the {self.d} variables; got "
                f"{len(given)}. Give a dict by name for some of them."
            )
        lists = tuple(() if one is None else _allowed(one) for one in given)
        return lists if any(lists) else ()

    def _column(self, name: str, given: Any, *, complete: bool = False) -> Vector:
        keys = names_of(given)
        if keys:
            entries = given if isinstance(given, Mapping) else dict(zip(keys, given, strict=True))
            self._check_keys(name, entries, complete=complete)
            given = [entries.get(key) for key in self.names]
        elif isinstance(given, Iterable) and not hasattr(given, "dtype"):
            given = list(given)
        if isinstance(given, list):
            given = [np.nan if one is None else one for one in given]
        try:
            column = real_array(given)
        except (TypeError, ValueError) as error:
            raise ParameterTypeError(
                f"`{name}` must hold real numbers; got {type(given).__name__}: "
                f"{str(error).rstrip('.')}. Categories without an order are no numbers: make one "
                "on/off variable for each, or run once for each."
            ) from error
        if self.d is not None and column.ndim == 0:
            column = np.full(self.d, column[()])
        if column.ndim != 1 or column.size == 0 or (self.d is not None and column.size != self.d):
            wanted = "at least one entry" if self.d is None else f"{self.d} entries or be a number"
            raise ParameterError(
                f"`{name}` must be 1-d with {wanted}; got an array of shape {column.shape}."
            )
        return column

    def _check_keys(self, name: str, keys: Iterable[object], *, complete: bool = False) -> None:
        """Raise if entries by name have other names than the variables."""
        given = {str(key) for key in keys}
        unknown = sorted(given - set(self.names))
        if unknown:
            known = ", ".join(map(repr, self.names[:5])) or "none"
            raise ParameterError(
                f"`{name}` must use the names of the variables, {known}"
                f"{', ...' if len(self.names) > 5 else ''}; got {unknown[0]!r}."  # noqa: PLR2004
            )
        absent = [key for key in self.names if key not in given]
        if complete and absent:
            raise ParameterError(
                f"`{name}` must have an entry for each name; got none for {absent[0]!r}."
            )


def _is_list(given: object) -> bool:
    """Tell whether something has entries, one after the other: a list, an array, a Series."""
    ordered = isinstance(given, Sequence) or (hasattr(given, "dtype") and np.ndim(given) > 0)  # type: ignore[arg-type]
    return ordered and not isinstance(given, str | bytes)


def _allowed(entries: object) -> tuple[float, ...]:
    """Return a list of values in increasing order, or raise."""
    try:
        array = real_array(entries if _is_list(entries) else "no list")
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"`values` must be numbers in increasing order; got {shown(entries)}. Categories "
            "without an order are no numbers: make one on/off variable for each, or run once for "
            "each."
        ) from error
    if array.ndim != 1 or not np.isfinite(array).all() or not (np.diff(array) > 0).all():
        raise ParameterError(
            f"`values` must be finite and in increasing order; got {shown(entries)}. Sort them."
        )
    return tuple(array.tolist())
