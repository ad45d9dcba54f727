"""Constraints as structures."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.bounds import bounds_and_units
from szoht.algorithms.auto.structures.convex import convex_domain
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.fixed_sum import FixedSum
from szoht.algorithms.auto.structures.free_coordinates import coordinates
from szoht.algorithms.auto.structures.graph import ConnectedInGraph
from szoht.algorithms.auto.structures.groups import Groups
from szoht.algorithms.auto.structures.limited import Limited, limited_groups
from szoht.algorithms.auto.structures.limited_weights import LimitedWeights, limited_weights
from szoht.algorithms.auto.structures.semicontinuous import NotSmall
from szoht.algorithms.auto.structures.simplex import Simplex
from szoht.algorithms.auto.structures.tree import Tree
from szoht.core.validation import frozen
from szoht.operators import (
    Box,
    GraphSparse,
    GroupSparse,
    Semicontinuous,
    Sparse,
    SparseBox,
    SparseSimplex,
    SparseSum,
    TreeSparse,
    TwoStep,
)

__all__ = [
    "ConnectedInGraph",
    "Coordinates",
    "FixedSum",
    "Groups",
    "Limited",
    "LimitedWeights",
    "NotSmall",
    "Simplex",
    "Structured",
    "Tree",
    "structure_of",
]

Structured: TypeAlias = (
    Sparse
    | SparseBox
    | GroupSparse
    | SparseSimplex
    | SparseSum
    | TreeSparse
    | GraphSparse
    | Semicontinuous
    | TwoStep
)
"""The constraints that are structures."""


def structure_of(operator: Structured, d: int) -> Structure:
    """Return the structure behind a constraint in ``d`` dimensions."""
    match operator:
        case Sparse():
            found: Structure = coordinates(d=d, size=operator.k, always=operator.always)
        case TwoStep():
            found = _within_convex(operator, d)
        case SparseSimplex() if operator.limited:
            found = limited_weights(operator, d)
        case SparseSimplex():
            found = Simplex(d=d, size=operator.k, total=operator.total)
        case SparseSum():
            found = _fixed_sum(operator, d)
        case GroupSparse() if operator.limited:
            found = limited_groups(operator, d)
        case _:
            found = _within_bounds(operator, d)
    return found


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


def _within_convex(operator: TwoStep, d: int) -> Structure:
    """Return the structure of the sparse set with a convex one for bounds."""
    sparse = structure_of(operator.sparse, d)  # type: ignore[arg-type]
    assert isinstance(sparse, Coordinates), "sets without bounds are made of coordinates"  # noqa: S101
    convex = operator.convex
    if isinstance(convex, Box):
        return replace(sparse, **bounds_and_units(convex.low, convex.high, d))
    domain = convex_domain(convex, d)
    if not np.isfinite(domain.extent):
        return replace(sparse, convex=domain)
    unit = None if domain.extent == 1 else frozen(np.full(d, domain.extent))
    return replace(sparse, convex=domain, unit=unit, has_units=True)


def _within_bounds(
    operator: SparseBox | GroupSparse | TreeSparse | GraphSparse | Semicontinuous, d: int
) -> Structure:
    size, bounds = operator.k, bounds_and_units(operator.low, operator.high, d)
    match operator:
        case SparseBox():
            return coordinates(d=d, size=size, always=operator.always, **bounds)
        case Semicontinuous():
            least = frozen(np.broadcast_to(np.asarray(operator.at_least, dtype=float), (d,)).copy())
            return NotSmall(d=d, size=size, x_least=least, **bounds)
        case GroupSparse():
            return Groups(d=d, size=size, members=operator.members(d), **bounds)
        case TreeSparse():
            return Tree(d=d, size=size, forest=operator.forest, **bounds)
        case GraphSparse():
            return ConnectedInGraph(d=d, size=size, operator=operator, **bounds)
