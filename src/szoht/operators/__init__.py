"""Sets and penalties, one per file: pure mathematics on arrays."""

from szoht.core.operator import Operator
from szoht.operators.box import Box
from szoht.operators.group_sparse import GroupSparse
from szoht.operators.identity import Identity
from szoht.operators.l1 import L1Ball, SoftThreshold
from szoht.operators.sparse import Sparse
from szoht.operators.sparse_box import SparseBox
from szoht.operators.sparse_simplex import SparseSimplex
from szoht.operators.sparse_sum import SparseSum

__all__ = [
    "Box",
    "GroupSparse",
    "Identity",
    "L1Ball",
    "Operator",
    "SoftThreshold",
    "Sparse",
    "SparseBox",
    "SparseSimplex",
    "SparseSum",
]
