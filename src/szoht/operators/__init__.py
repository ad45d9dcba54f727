"""Sets and penalties, one per file: pure mathematics on arrays."""

from szoht.operators.base import Operator as Operator
from szoht.operators.box import Box as Box
from szoht.operators.group_sparse import GroupSparse as GroupSparse
from szoht.operators.identity import Identity as Identity
from szoht.operators.l1 import L1Ball as L1Ball
from szoht.operators.l1 import SoftThreshold as SoftThreshold
from szoht.operators.sparse import Sparse as Sparse
from szoht.operators.sparse_box import SparseBox as SparseBox
from szoht.operators.sparse_simplex import SparseSimplex as SparseSimplex
