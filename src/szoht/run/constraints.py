"""Constraints as the user states them, on x, and as the solver keeps them, on z."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from szoht.algorithms.defaults import pick_operator
from szoht.core.validation import check_integer
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, ParameterError
from szoht.operators import (
    Box,
    GraphSparse,
    GroupSparse,
    Identity,
    L1Ball,
    LowRank,
    Operator,
    Semicontinuous,
    SoftThreshold,
    Sparse,
    SparseBox,
    SparseIn,
    SparseSimplex,
    SparseSum,
    TreeSparse,
)
from szoht.types import Vector

__all__ = ["constraint_on_z"]

Bounded: TypeAlias = SparseBox | GroupSparse | TreeSparse | GraphSparse | Semicontinuous
"""Sets that count changes, with bounds."""


def constraint_on_z(
    k: int | None, constraint: Operator | None, variables: Variables
) -> Operator | None:
    """Return the constraint on z; None if there is none, and k is to be found out.

    Sets that count, count changes from the nominal values, and the bounds of the variables are
    added. Sets that fix sums or norms need nominal values of zero and equal units.
    """
    if k is None and constraint is None:
        return None
    d = variables.d
    if k is not None:
        check_integer("k", k, low=1, high=d, high_name="d")
    operator = pick_operator(k, constraint)
    operator.check(d)
    if isinstance(operator, Sparse):
        box = SparseBox(operator.k, variables.z_low, variables.z_high, operator.always)
        return box if variables.bounded else operator
    if isinstance(operator, Bounded):
        if isinstance(operator, Semicontinuous):
            operator = replace(operator, at_least=_in_units(operator, variables))
        low, high = _bounds(operator, variables)
        return replace(operator, low=low, high=high)
    if isinstance(operator, Box | Identity):
        if isinstance(operator, Identity) and not variables.bounded:
            return operator
        low, high = _bounds(operator, variables)
        return Box(low=low, high=high)
    return _of_sums(operator, variables)


def _bounds(operator: Bounded | Box | Identity, variables: Variables) -> tuple[Vector, Vector]:
    """Return bounds on z: those of the operator, on x, and those of the variables."""
    if isinstance(operator, Identity):
        return variables.z_low, variables.z_high
    low = np.maximum(variables.low, operator.low)
    high = np.minimum(variables.high, operator.high)
    outside = (low > variables.nominal) | (high < variables.nominal)
    if outside.any() and not isinstance(operator, Box):
        i = int(np.argmax(outside))
        raise ParameterError(
            f"`constraint` must contain the nominal values, as most variables keep them; got "
            f"{variables.labels[i]} with nominal={variables.nominal[i]:g} and bounds "
            f"[{low[i]:g}, {high[i]:g}]."
        )
    no_low, no_high = np.isneginf(low), np.isposinf(high)
    z_low = variables.to_z(np.where(no_low, variables.nominal, low))
    z_high = variables.to_z(np.where(no_high, variables.nominal, high))
    return np.where(no_low, -np.inf, z_low), np.where(no_high, np.inf, z_high)


def _in_units(operator: Semicontinuous, variables: Variables) -> Vector:
    """Return the smallest changes in the variables' units."""
    if variables.log.any() or variables.integer.any():
        raise CapabilityError(
            "`at_least` is a change on a linear scale; got variables on a logarithmic one, or "
            "integers. State the problem without `log` and `integer`, or use SparseBox."
        )
    smallest: Vector = operator.at_least / variables.scale
    return smallest


def _of_sums(operator: Operator, variables: Variables) -> Operator:
    """Return a set of sums or norms in the variables' one unit."""
    unit = float(variables.scale[0])
    rules = {
        "nominal values of 0": not variables.nominal.any(),
        "one unit for all variables": bool((variables.scale == unit).all()),
        "no integers": not variables.integer.any(),
        "no logarithmic scale": not variables.log.any(),
        "no bounds that cut it": _is_inside(operator, variables),
    }
    for rule, holds in rules.items():
        if not holds:
            raise CapabilityError(
                f"{operator!r} is about sums or norms of x, which needs {rule}; got {variables!r}. "
                "State the problem in such variables, or use a set that counts: Sparse, SparseBox, "
                "GroupSparse, TreeSparse or GraphSparse."
            )
    if isinstance(operator, SparseSimplex):
        amounts = ("total", "at_least", "at_most")
        return replace(operator, **{name: getattr(operator, name) / unit for name in amounts})
    if isinstance(operator, SparseSum):
        low, high = operator.low / unit, operator.high / unit
        return SparseSum(operator.k, total=operator.total / unit, low=low, high=high)
    if isinstance(operator, L1Ball):
        return replace(operator, radius=operator.radius / unit)
    if isinstance(operator, SoftThreshold):
        return replace(operator, penalty=operator.penalty * unit)
    if unit != 1 and not isinstance(operator, LowRank | SparseIn):  # which any unit leaves alone
        raise CapabilityError(
            f"{operator!r} does not say what it is in other units; got unit={unit:g}. Pass unit=1."
        )
    return operator


def _is_inside(operator: Operator, variables: Variables) -> bool:
    """Tell whether the bounds contain the whole of a set of sums or norms."""
    if isinstance(operator, SparseSimplex):
        largest = min(operator.total, operator.at_most)
        return bool((variables.low <= 0).all() and (variables.high >= largest).all())
    if isinstance(operator, SparseSum):
        below, above = variables.low <= operator.low, variables.high >= operator.high
        return bool(below.all() and above.all())
    if isinstance(operator, L1Ball):
        room = np.minimum(-variables.low, variables.high)
        return bool((room >= operator.radius).all())
    return not variables.bounded
