"""Constraints as structures."""

from typing import TypeAlias

import numpy as np

from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.coordinates import Coordinates, bounds_and_units
from szoht.algorithms.auto.structures.fixed_sum import FixedSum
from szoht.algorithms.auto.structures.free_coordinates import coordinates
from szoht.algorithms.auto.structures.graph import ConnectedInGraph
from szoht.algorithms.auto.structures.groups import Groups
from szoht.algorithms.auto.structures.limited import Limited, limited_groups
from szoht.algorithms.auto.structures.simplex import Simplex
from szoht.algorithms.auto.structures.tree import Tree
from szoht.core.validation import frozen
from szoht.operators import (
    GraphSparse,
    GroupSparse,
    Sparse,
    SparseBox,
    SparseSimplex,
    SparseSum,
    TreeSparse,
)

__all__ = [
    "ConnectedInGraph",
    "Coordinates",
    "FixedSum",
    "Groups",
    "Limited",
    "Simplex",
    "Structured",
    "Tree",
    "structure_of",
]

Structured: TypeAlias = (
    Sparse | SparseBox | GroupSparse | SparseSimplex | SparseSum | TreeSparse | GraphSparse
)
"""The constraints that are structures."""


def structure_of(operator: Structured, d: int) -> Structure:
    """Return the structure behind a constraint in ``d`` dimensions."""
    if isinstance(operator, Sparse):
        return coordinates(d=d, size=operator.k, always=operator.always)
    if isinstance(operator, SparseSimplex):
        return Simplex(d=d, size=operator.k, total=operator.total)
    if isinstance(operator, SparseSum):
        return _fixed_sum(operator, d)
    if isinstance(operator, GroupSparse) and operator.limited:
        return limited_groups(operator, d)
    return _within_bounds(operator, d)


def _fixed_sum(operator: SparseSum, d: int) -> FixedSum:
    unit = abs(operator.total) or 1.0
    return FixedSum(
        d=d,
        size=operator.k,
        total=operator.total / unit,
        lowest=operator.low / unit,
        highest=operator.high / unit,
        unit=None if unit == 1 else frozen(np.full(d, unit)),
    )


def _within_bounds(
    operator: SparseBox | GroupSparse | TreeSparse | GraphSparse, d: int
) -> Structure:
    size, bounds = operator.k, bounds_and_units(operator.low, operator.high, d)
    match operator:
        case SparseBox():
            return coordinates(d=d, size=size, always=operator.always, **bounds)
        case GroupSparse():
            return Groups(d=d, size=size, members=operator.members(d), **bounds)
        case TreeSparse():
            return Tree(d=d, size=size, forest=operator.forest, **bounds)
        case GraphSparse():
            return ConnectedInGraph(d=d, size=size, operator=operator, **bounds)
