"""Sets and penalties, one per file: pure mathematics on arrays."""

from szoht.core.operator import Operator
from szoht.operators.box import Box
from szoht.operators.expansivity_bound import expansivity_bound
from szoht.operators.graph_sparse import GraphSparse
from szoht.operators.group_sparse import GroupSparse
from szoht.operators.identity import Identity
from szoht.operators.l1 import L1Ball, SoftThreshold
from szoht.operators.low_rank import LowRank
from szoht.operators.semicontinuous import Semicontinuous
from szoht.operators.sparse import Sparse
from szoht.operators.sparse_box import SparseBox
from szoht.operators.sparse_in import SparseIn
from szoht.operators.sparse_simplex import SparseSimplex
from szoht.operators.sparse_sum import SparseSum
from szoht.operators.tree_sparse import TreeSparse
from szoht.operators.two_step import TwoStep

__all__ = [
    "Box",
    "GraphSparse",
    "GroupSparse",
    "Identity",
    "L1Ball",
    "LowRank",
    "Operator",
    "Semicontinuous",
    "SoftThreshold",
    "Sparse",
    "SparseBox",
    "SparseIn",
    "SparseSimplex",
    "SparseSum",
    "TreeSparse",
    "TwoStep",
    "expansivity_bound",
]
