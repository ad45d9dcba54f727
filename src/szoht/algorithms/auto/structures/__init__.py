"""Constraints as structures."""

from typing import TypeAlias

import numpy as np

from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.coordinates import Coordinates, bounds_and_units
from szoht.algorithms.auto.structures.fixed_sum import FixedSum
from szoht.algorithms.auto.structures.free_coordinates import coordinates
from szoht.algorithms.auto.structures.groups import Groups
from szoht.algorithms.auto.structures.simplex import Simplex
from szoht.core.validation import frozen
from szoht.operators import GroupSparse, Sparse, SparseBox, SparseSimplex, SparseSum

__all__ = ["Coordinates", "FixedSum", "Groups", "Simplex", "Structured", "structure_of"]

Structured: TypeAlias = Sparse | SparseBox | GroupSparse | SparseSimplex | SparseSum
"""The constraints that are structures."""


def structure_of(operator: Structured, d: int) -> Structure:
    """Return the structure behind a constraint in ``d`` dimensions."""
    match operator:
        case Sparse():
            return coordinates(d=d, size=operator.k, always=operator.always)
        case SparseBox():
            bounds = bounds_and_units(operator.low, operator.high, d)
            return coordinates(d=d, size=operator.k, always=operator.always, **bounds)
        case GroupSparse():
            members = operator.members(d)
            if np.isinf(operator.low).all() and np.isinf(operator.high).all():
                return Groups(d=d, size=operator.k, members=members)
            bounds = bounds_and_units(operator.low, operator.high, d)
            return Groups(d=d, size=operator.k, members=members, **bounds)
        case SparseSimplex():
            return Simplex(d=d, size=operator.k, total=operator.total)
        case SparseSum():
            unit = abs(operator.total) or 1.0
            return FixedSum(
                d=d,
                size=operator.k,
                total=operator.total / unit,
                lowest=operator.low / unit,
                highest=operator.high / unit,
                unit=None if unit == 1 else frozen(np.full(d, unit)),
            )
