"""Constraints as structures."""

from typing import TypeAlias

from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.coordinates import Coordinates, bounds_and_units
from szoht.algorithms.auto.structures.graph import ConnectedInGraph
from szoht.algorithms.auto.structures.groups import Groups
from szoht.algorithms.auto.structures.simplex import Simplex
from szoht.algorithms.auto.structures.tree import Tree
from szoht.operators import GraphSparse, GroupSparse, Sparse, SparseBox, SparseSimplex, TreeSparse

__all__ = [
    "ConnectedInGraph",
    "Coordinates",
    "Groups",
    "Simplex",
    "Structured",
    "Tree",
    "structure_of",
]

Structured: TypeAlias = Sparse | SparseBox | GroupSparse | SparseSimplex | TreeSparse | GraphSparse
"""The constraints that are structures."""


def structure_of(operator: Structured, d: int) -> Structure:
    """Return the structure behind a constraint in ``d`` dimensions."""
    match operator:
        case Sparse():
            return Coordinates(d=d, size=operator.k)
        case SparseBox():
            bounds = bounds_and_units(operator.low, operator.high, d)
            return Coordinates(d=d, size=operator.k, **bounds)
        case GroupSparse():
            bounds = bounds_and_units(operator.low, operator.high, d)
            return Groups(d=d, size=operator.k, members=operator.members(d), **bounds)
        case TreeSparse():
            bounds = bounds_and_units(operator.low, operator.high, d)
            return Tree(d=d, size=operator.k, forest=operator.forest, **bounds)
        case GraphSparse():
            bounds = bounds_and_units(operator.low, operator.high, d)
            return ConnectedInGraph(d=d, size=operator.k, operator=operator, **bounds)
        case SparseSimplex():
            return Simplex(d=d, size=operator.k, total=operator.total)
