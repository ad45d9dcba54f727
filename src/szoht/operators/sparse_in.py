"""Sparse in another basis: x = W z with few non-zeros in z, as for wavelets or cosines."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from szoht.core.validation import check_choice, check_integer, frozen, real_array
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.operators.base import SET_TOLERANCE, check_finite, largest
from szoht.types import Vector

__all__ = ["LinearTransform", "SparseIn", "TransformName"]

TransformName: TypeAlias = Literal["dct", "haar"]
"""Transforms of any length, and of a power of two."""

TRANSFORM_PROBES = 3
"""Random vectors on which a transform is tested."""


@runtime_checkable
class LinearTransform(Protocol):
    """A linear map, as `scipy.sparse.linalg.LinearOperator` has it."""

    shape: tuple[int, int]

    def matvec(self, x: Vector) -> Vector:
        """Return W x."""
        ...

    def rmatvec(self, x: Vector) -> Vector:
        """Return the transposed map of x."""
        ...


@dataclass(frozen=True, eq=False)
class SparseIn:
    """The set {x = W z : ||z||_0 <= k} for a transform W with orthonormal columns.

    Then ``|W z - y|^2 = |z - W'y|^2 + constant``, so that the projection is ``W H_k(W'y)``: it
    keeps the k largest coefficients, and is exact. Transforms without orthonormal columns are
    refused, as their projection is NP-hard: minimize over z instead.

    Parameters
    ----------
    transform : {"dct", "haar"}, array of shape (d, n), or object with shape, matvec and rmatvec
        W: cosines, Haar wavelets (d a power of two), a matrix, or a linear operator of SciPy.
    k : int
        How many coefficients may be non-zero, in [1, n].

    Examples
    --------
    >>> import numpy as np
    >>> SparseIn("haar", k=1).prox(np.array([3.0, 3.0, 0.0, 1.0]), 1.0)
    array([1.75, 1.75, 1.75, 1.75])

    Notes
    -----
    One transform each way: O(d log d) for cosines, O(d) for Haar wavelets. A store holds names and
    matrices, not linear operators.
    """

    transform: TransformName | Vector | LinearTransform
    k: int

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="number of coefficients")
        if isinstance(self.transform, str):
            check_choice("transform", self.transform, ("dct", "haar"))
        elif not isinstance(self.transform, LinearTransform):
            object.__setattr__(self, "transform", _as_matrix(self.transform))

    def check(self, d: int) -> None:
        """Raise unless the transform fits d, has k columns and is orthonormal."""
        rows = d if isinstance(self.transform, str) else self.transform.shape[0]
        columns = self.n_coefficients(d)
        if rows != d:
            raise ParameterError(f"`transform` must have d rows; got {rows} with d={d}.")
        if isinstance(self.transform, str) and self.transform == "haar" and d & (d - 1):
            raise ParameterError(f'`transform="haar"` needs a power of two; got d={d}.')
        check_integer("k", self.k, low=1, high=columns, high_name="number of coefficients")
        rng = np.random.default_rng(0)
        for _ in range(TRANSFORM_PROBES):
            z: Vector = rng.standard_normal((columns,))
            x: Vector = rng.standard_normal((d,))
            back = float(np.abs(self.coefficients(self.synthesis(z)) - z).max())
            error = max(back, abs(float(self.synthesis(z) @ x - z @ self.coefficients(x))) / d)
            if not error <= SET_TOLERANCE:
                raise CapabilityError(
                    "`transform` must have orthonormal columns, and `rmatvec` must be its "
                    f"transpose; W'W z differs from z by {error:.1g}. Minimize over z instead, "
                    "with k, the function lambda z: f(W @ z)."
                )

    def n_coefficients(self, d: int) -> int:
        """Return how many coefficients a point of ``d`` dimensions has."""
        return d if isinstance(self.transform, str) else int(self.transform.shape[1])

    def coefficients(self, x: Vector) -> Vector:
        """Return W'x."""
        if isinstance(self.transform, np.ndarray):
            return x @ self.transform
        if isinstance(self.transform, str):
            return _dct(x) if self.transform == "dct" else _haar(x)
        return np.asarray(self.transform.rmatvec(x), dtype=np.float64)

    def synthesis(self, z: Vector) -> Vector:
        """Return W z."""
        if isinstance(self.transform, np.ndarray):
            return self.transform @ z
        if isinstance(self.transform, str):
            return _dct(z, inverse=True) if self.transform == "dct" else _inverse_haar(z)
        return np.asarray(self.transform.matvec(z), dtype=np.float64)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        del step
        check_finite(y)
        z = self.coefficients(y)
        kept = largest(np.abs(z), self.k)
        sparse = np.zeros_like(z)
        sparse[kept] = z[kept]
        return self.synthesis(sparse)

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` has at most k non-zero coefficients, up to rounding."""
        return float(np.linalg.norm(self.prox(x, 1.0) - x)) <= SET_TOLERANCE * float(
            np.linalg.norm(x)
        )


def _as_matrix(value: object) -> Vector:
    """Return a read-only matrix, or raise."""
    try:
        matrix = real_array(value)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            '`transform` must be "dct", "haar", a matrix, or an object with shape, matvec and '
            f"rmatvec; got {type(value).__name__}."
        ) from error
    if matrix.ndim != 2 or not np.isfinite(matrix).all():  # noqa: PLR2004
        raise ParameterError(
            f"`transform` must be 2-d and finite; got an array of shape {matrix.shape}."
        )
    return frozen(matrix)


def _dct(x: Vector, *, inverse: bool = False) -> Vector:
    """Return the orthonormal discrete cosine transform, or its inverse."""
    from scipy.fft import dct, idct  # noqa: PLC0415  (costs more than the whole import)

    return np.asarray((idct if inverse else dct)(x, norm="ortho"))


def _haar(x: Vector) -> Vector:
    """Return the mean and the differences of halves, from coarse to fine, in an orthonormal basis.

    Coefficient i > 0 has the children 2 i and 2 i + 1.
    """
    z, smooth = np.empty_like(x), x
    while smooth.size > 1:
        even, odd = smooth[::2], smooth[1::2]
        z[smooth.size // 2 : smooth.size] = (even - odd) / np.sqrt(2)
        smooth = (even + odd) / np.sqrt(2)
    z[0] = smooth[0]
    return z


def _inverse_haar(z: Vector) -> Vector:
    smooth = z[:1].copy()
    while smooth.size < z.size:
        detail = z[smooth.size : 2 * smooth.size]
        smooth = np.column_stack([smooth + detail, smooth - detail]).ravel() / np.sqrt(2)
    return smooth
