"""Where a run may start."""

import numpy as np

from szoht.algorithms.composite import Composite
from szoht.core.algorithm import Algorithm
from szoht.core.operator import Operator
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, ParameterError, StartWarning, warn
from szoht.operators import SparseSimplex, SparseSum
from szoht.types import Vector

__all__ = ["check_sparse_start", "feasible_start"]


def check_sparse_start(algorithm: Algorithm, x0: Vector) -> None:
    """Raise if ``x0`` is a sparse vector and a part of the algorithm would make it dense."""
    if not isinstance(x0, SparseVector):
        return
    part = algorithm.dense_part(x0.size) if isinstance(algorithm, Composite) else algorithm
    if part is not None:
        raise CapabilityError(
            f"`x0` is sparse, and {part!r} works on all {x0.size} coordinates. Pass `x0` as an "
            "array; or use method 'szoht' with `k` and a `support_size` below d, or 'sketch_ht'."
        )


def feasible_start(x0: Vector, operator: Operator, variables: Variables | None = None) -> Vector:
    """Return ``x0`` if the operator's set contains it, else its projection, or raise.

    A dense start is natural where only sparsity is asked for, so it is projected, with a warning.
    Outside a ball or a box it is a mistake.
    """
    contains = getattr(operator, "contains", None)
    if contains is None or contains(x0):
        return x0
    if not hasattr(operator, "k"):
        raise ParameterError(
            f"`x0` must lie in {operator!r}; got a point outside it, with l1 norm "
            f"{np.abs(x0).sum():.6g} and entries in [{x0.min():.6g}, {x0.max():.6g}]."
        )
    if variables is None:
        counts = not isinstance(operator, SparseSimplex | SparseSum)
        message = (
            f"`x0` lies outside {operator!r}, with {np.count_nonzero(x0)} non-zeros; the run "
            "starts from its projection."
            + (" To count changes from `x0`, pass reference=x0." if counts else "")
        )
    else:
        message = (
            f"`start` changes {np.count_nonzero(x0)} variables, and k={operator.k}; the run starts "
            "from the nearest point that is allowed."
        )
    warn(message, StartWarning)
    return frozen(operator.prox(x0, 1.0))
