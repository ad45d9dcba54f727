"""Vectors that store their non-zeros only, so that their size costs nothing."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from szoht.core.validation import check_integer, check_vector, frozen, real_array
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.types import Indices, Vector

if TYPE_CHECKING:
    from scipy.sparse import coo_array

__all__ = ["ImplicitVector", "SparseVector", "as_point", "changes_from", "with_changes"]

SHOWN_ENTRIES = 10

ZERO_PRESERVING_UFUNCS = (np.absolute, np.negative, np.multiply, np.true_divide)
"""They map zero to zero if all other operands are numbers."""


class ImplicitVector(NDArrayOperatorsMixin):
    """A vector that is known by its entries, ``v[indices]``, and never written out.

    NumPy is told so: what would need all the entries raises, and names the remedy.
    """

    size: int

    @property
    def shape(self) -> tuple[int]:
        """The shape of the array that it stands for."""
        return (self.size,)

    @abstractmethod
    def at(self, indices: Indices) -> Vector:
        """Return the entries at valid coordinates, given as an array of any shape."""

    def __getitem__(self, indices: ArrayLike) -> Any:
        where = np.asarray(indices)
        if where.dtype.kind not in "iu":
            raise ParameterTypeError(
                f"{type(self).__name__} is indexed by an integer or an array of integers; got "
                f"{indices!r}."
            )
        if where.size and (where.min() < 0 or where.max() >= self.size):
            raise IndexError(f"An index must be in [0, {self.size}); got {indices!r}.")
        entries = self.at(np.atleast_1d(where).astype(np.intp, copy=False)).reshape(where.shape)
        return entries if where.ndim else float(entries)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        del dtype, copy
        self._refuse("An array of it")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        del method, inputs, options
        self._refuse(f"numpy.{ufunc.__name__}")

    def __array_function__(
        self, function: Callable[..., Any], types: object, inputs: tuple[Any, ...], options: Any
    ) -> Any:
        del types, inputs, options
        self._refuse(f"numpy.{function.__name__}")

    def _refuse(self, what: str) -> NoReturn:
        raise CapabilityError(
            f"{what} needs all {self.size} entries, and {type(self).__name__} does not have them "
            "written out. Look up those that matter, x[indices]; or pass `x0` as an array."
        )


@dataclass(frozen=True, eq=False, repr=False)
class SparseVector(ImplicitVector):
    """A vector with ``values`` at ``indices`` and zeros elsewhere; immutable.

    Passed as ``x0`` it makes the iterates sparse: an iteration then costs the same whatever the
    size. It adds and subtracts others, scales, and knows ``abs``, ``max`` and ``any``, with the
    same rounding as in dense arithmetic.

    Parameters
    ----------
    size : int
        The dimension d, >= 1.
    indices : array of integers, optional
        Coordinates in [0, d), in any order; entries given twice are added up. None by default.
    values : array of the same length, optional
        The entries there. Zeros are dropped.

    Examples
    --------
    >>> x = SparseVector(10**9, [7, 123_456_789], [1.0, -2.0])
    >>> x[123_456_789], x[[6, 7]]
    (-2.0, array([0., 1.]))
    >>> 2 * x - SparseVector(10**9, [7], [2.0])
    SparseVector(1000000000, {123456789: -4})
    """

    size: int
    indices: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    values: Vector = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)
        indices, values = np.asarray(self.indices), real_array(self.values)
        if indices.shape != values.shape or values.ndim != 1:
            raise ParameterError(
                "`indices` and `values` must be 1-d and of the same length; got shapes "
                f"{indices.shape} and {values.shape}."
            )
        if indices.size and indices.dtype.kind not in "iu":
            raise ParameterTypeError(f"`indices` must be integers; got {indices.dtype}.")
        if indices.size and (indices.min() < 0 or indices.max() >= self.size):
            raise ParameterError(
                f"`indices` must be in [0, {self.size}); got {indices.min()} to {indices.max()}."
            )
        if not (indices[1:] > indices[:-1]).all():
            indices, values = _sum_duplicates(indices, values)
        kept = values != 0
        if not kept.all():
            indices, values = indices[kept], values[kept]
        object.__setattr__(self, "size", int(self.size))
        object.__setattr__(self, "indices", _read_only(indices.astype(np.intp)))
        object.__setattr__(self, "values", frozen(values))

    def __repr__(self) -> str:
        pairs = zip(self.indices[:SHOWN_ENTRIES], self.values[:SHOWN_ENTRIES], strict=True)
        shown = ", ".join(f"{i}: {value:.6g}" for i, value in pairs)
        more = ", ..." if self.indices.size > SHOWN_ENTRIES else ""
        return f"SparseVector({self.size}, {{{shown}{more}}})"

    def at(self, indices: Indices) -> Vector:
        """Return the entries at valid coordinates, given as an array of any shape."""
        if not self.indices.size:
            return np.zeros(indices.shape)
        place = np.searchsorted(self.indices, indices).clip(max=self.indices.size - 1)
        entries: Vector = np.where(self.indices[place] == indices, self.values[place], 0.0)
        return entries

    def with_values(self, values: Vector) -> "SparseVector":
        """Return the vector with other values at the same coordinates."""
        return SparseVector(self.size, self.indices, values)

    def copy(self) -> "SparseVector":
        """Return the vector itself: it is immutable."""
        return self

    def any(self) -> bool:
        """Tell whether an entry is not zero."""
        return bool(self.values.size)

    def max(self) -> float:
        """Return the largest entry, zeros included."""
        return float(self.values.max(initial=0.0 if self.values.size < self.size else -np.inf))

    def toarray(self) -> Vector:
        """Return the dense array, of 8 d bytes."""
        dense = np.zeros(self.size)
        dense[self.indices] = self.values
        return dense

    def tocoo(self) -> "coo_array":
        """Return SciPy's sparse array of one dimension."""
        from scipy.sparse import coo_array  # noqa: PLC0415  (costs more than the whole import)

        return coo_array((self.values, (self.indices,)), shape=self.shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = method == "__call__" and not options
        sparse = [entry for entry in inputs if isinstance(entry, SparseVector)]
        if plain and ufunc in (np.add, np.subtract) and len(sparse) == len(inputs):
            return _merged(ufunc, *sparse)
        others_are_numbers = all(np.ndim(entry) == 0 for entry in inputs if entry is not self)
        divides = ufunc is np.true_divide and inputs[0] is not self
        if plain and ufunc in ZERO_PRESERVING_UFUNCS and others_are_numbers and not divides:
            numbers = [self.values if entry is self else entry for entry in inputs]
            return self.with_values(ufunc(*numbers))
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: object, inputs: tuple[Any, ...], options: Any
    ) -> Any:
        if function is np.flatnonzero:
            return self.indices
        if function is np.count_nonzero:
            return self.indices.size
        if function is np.ndim:
            return 1
        if function is np.array_equal and all(isinstance(x, SparseVector) for x in inputs):
            return _equal(*inputs)
        return super().__array_function__(function, types, inputs, options)


def as_point(name: str, value: object) -> Vector:
    """Return ``value`` as a read-only finite vector: dense, or a `SparseVector` if it is sparse.

    Everywhere in the loop a `SparseVector` stands in for an array; this is the one place where
    the type checker is told so.
    """
    if hasattr(value, "tocoo") and not isinstance(value, SparseVector):
        value = _from_scipy(name, value)
    if not isinstance(value, SparseVector):
        return check_vector(name, value)
    finite = np.isfinite(value.values)
    if not finite.all():
        i = int(np.argmin(finite))
        entry = f"{name}[{value.indices[i]}]={value.values[i]}"
        raise ParameterError(f"`{name}` must be finite; got {entry}.")
    return cast(Vector, value)


def changes_from(start: Vector, x: Vector) -> tuple[Indices, Vector]:
    """Return where a point differs from another one, and its entries there."""
    if isinstance(cast(object, x), SparseVector):
        one, other = cast(SparseVector, x), cast(SparseVector, start)
        indices = np.union1d(one.indices, other.indices)
        return indices, one.at(indices)
    indices = np.flatnonzero(x != start)
    return indices, x[indices]


def with_changes(start: Vector, indices: Indices | None, entries: Vector) -> Vector:
    """Return a copy of a point with other entries at some coordinates; None means at all."""
    if isinstance(cast(object, start), SparseVector):
        where = np.arange(start.size) if indices is None else indices
        return cast(Vector, SparseVector(start.size, where, entries))
    x = np.array(start)
    x[slice(None) if indices is None else indices] = entries
    return frozen(x)


def _from_scipy(name: str, matrix: Any) -> SparseVector:
    """Return a sparse array of one dimension, or a matrix of one row or column, as a vector."""
    entries = matrix.tocoo()
    long = [axis for axis, length in enumerate(entries.shape) if length > 1] or [-1]
    if len(long) > 1:
        raise ParameterError(
            f"`{name}` must be 1-d, or one row or column; got a sparse array of shape "
            f"{entries.shape}."
        )
    return SparseVector(entries.shape[long[0]], entries.coords[long[0]], entries.data)


def _sum_duplicates(indices: Indices, values: Vector) -> tuple[Indices, Vector]:
    """Sort, and add up entries of one coordinate in the order in which they were given."""
    unique, place = np.unique(indices, return_inverse=True)
    total = np.zeros(unique.size)
    np.add.at(total, place, values)
    return unique, total


def _merged(ufunc: np.ufunc, a: SparseVector, b: SparseVector) -> SparseVector:
    if a.size != b.size:
        raise ParameterError(f"Sparse vectors must be of one size; got {a.size} and {b.size}.")
    second = b.values if ufunc is np.add else -b.values  # a + (-b) rounds as a - b does
    indices = np.concatenate([a.indices, b.indices])
    return SparseVector(a.size, indices, np.concatenate([a.values, second]))


def _equal(a: SparseVector, b: SparseVector) -> bool:
    same = a.size == b.size and np.array_equal(a.indices, b.indices)
    return same and np.array_equal(a.values, b.values)


def _read_only(indices: Indices) -> Indices:
    indices.flags.writeable = False
    return indices
