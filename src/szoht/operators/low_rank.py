"""Matrices of low rank."""

from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators.base import SET_TOLERANCE, check_finite
from szoht.types import Vector

__all__ = ["LowRank"]


@dataclass(frozen=True)
class LowRank:
    """The set of x that are matrices of rank at most r, row after row.

    The projection keeps the r largest singular values: ``x = sum_{i <= r} s_i u_i v_i'`` where
    ``y = sum_i s_i u_i v_i'`` (Eckart and Young, 1936). The set is not convex.

    Parameters
    ----------
    r : int
        The largest rank, in [1, min(shape)].
    shape : tuple of two int
        Rows and columns; ``x.reshape(shape)`` is the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> LowRank(1, shape=(2, 2)).prox(np.array([3.0, 0.0, 0.0, 2.0]), 1.0)
    array([3., 0., 0., 0.])

    Notes
    -----
    A full singular value decomposition: O(p q min(p, q)) time for p rows and q columns. In norms
    with other weights than one the projection is not known, so there is no `weighted_prox`.
    """

    r: int
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _as_shape(self.shape))
        check_integer("r", self.r, low=1, high=min(self.shape), high_name="min(shape)")

    @property
    def degrees_of_freedom(self) -> int:
        """How many numbers describe a matrix of the set: r (p + q - r)."""
        return self.r * (sum(self.shape) - self.r)

    def check(self, d: int) -> None:
        """Raise unless the matrix has d entries."""
        rows, columns = self.shape
        if rows * columns != d:
            raise ParameterError(
                f"`shape` must have d entries; got {rows} x {columns} = {rows * columns} with "
                f"d={d}."
            )

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        del step
        check_finite(y)
        left, values, right = self.factors(y)
        return ((left * values) @ right).ravel()

    def factors(self, y: Vector) -> tuple[Vector, Vector, Vector]:
        """Return U, s and V' of the r largest singular values: the projection is (U * s) @ V'."""
        left, values, right = np.linalg.svd(y.reshape(self.shape), full_matrices=False)
        return left[:, : self.r], values[: self.r], right[: self.r]

    def contains(self, x: Vector) -> bool:
        """Tell whether the rank is at most r, up to rounding."""
        values = np.linalg.svd(x.reshape(self.shape), compute_uv=False)
        return bool((values[self.r :] <= SET_TOLERANCE * values[0]).all())


def _as_shape(value: object) -> tuple[int, int]:
    """Return two positive integers, or raise."""
    if not isinstance(value, tuple | list) or len(value) != 2:  # noqa: PLR2004
        raise ParameterTypeError(f"`shape` must be (rows, columns); got shape={shown(value)}.")
    rows, columns = (check_integer("shape", entry, low=1) for entry in value)
    return rows, columns
