"""How far the projection onto a set can lead away from its points, where that is known."""

from szoht import theory
from szoht.core.operator import Operator, declared_bounds
from szoht.core.validation import check_integer
from szoht.operators.box import Box
from szoht.operators.group_sparse import GroupSparse
from szoht.operators.identity import Identity
from szoht.operators.l1 import L1Ball
from szoht.operators.sparse import Sparse
from szoht.operators.sparse_in import SparseIn
from szoht.operators.tree_sparse import TreeSparse
from szoht.operators.two_step import TwoStep

__all__ = ["expansivity_bound"]


def expansivity_bound(operator: Operator, d: int) -> float | None:
    """Return a factor gamma with |P(b) - a| <= gamma |b - a| for all a of the set; None if unknown.

    1 for convex sets; `szoht.theory.expansivity` for `Sparse`, with as many non-zeros in a; the
    golden ratio for exact projections onto unions of coordinate subspaces; 2 for any other exact
    projection; unknown for approximate ones and for penalties. For `TwoStep`, a is in both sets.

    Parameters
    ----------
    operator : Operator
        The set.
    d : int >= 1
        The dimension.

    Examples
    --------
    >>> from szoht.operators import GraphSparse, LowRank
    >>> round(expansivity_bound(Sparse(3), 100), 3), expansivity_bound(LowRank(1, (2, 3)), 6)
    (1.618, 2.0)
    >>> expansivity_bound(GraphSparse(2, [[0, 1], [1, 2]]), 3) is None
    True
    """
    check_integer("d", d, low=1)
    operator.check(d)
    match operator:
        case Box() | L1Ball() | Identity():
            return 1.0
        case TwoStep():
            return expansivity_bound(operator.sparse, d)
        case Sparse() | SparseIn():
            coefficients = operator.n_coefficients(d) if isinstance(operator, SparseIn) else d
            return float(theory.expansivity(d=coefficients, k=operator.k, k_star=operator.k))
    if not hasattr(operator, "contains") or not getattr(operator, "is_exact", True):
        return None
    if isinstance(operator, GroupSparse | TreeSparse) and declared_bounds(operator) is None:
        return theory.union_expansivity()
    return theory.tail_expansivity()
