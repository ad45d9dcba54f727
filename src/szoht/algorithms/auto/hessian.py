"""The Hessian on some coordinates: by differences of gradients, or by second ones of values."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.scale_free import Form, form_at
from szoht.algorithms.auto.sensing.axis_slopes import axis_steps
from szoht.algorithms.auto.state import SearchState
from szoht.core.directions import ArrayDirections
from szoht.types import Indices, Vector

__all__ = ["hessian_cost", "measure_hessian"]

HESSIAN_STEP, LONGEST_STEP = 1e-5, 1e-2
"""Length of a difference of gradients, or of a second one of values, in units or sizes of the
point: about that at which rounding and third derivatives err alike; more where values err more."""


def hessian_cost(context: SearchContext, coordinates: Indices) -> int:
    """Return the queries that `measure_hessian` would ask."""
    if context.gradients:
        return int(context.hessian.missing_rows(coordinates).size)
    missing = context.hessian.missing_pairs(coordinates)
    return len(missing) + int(np.unique(missing).size)


def measure_hessian(
    context: SearchContext, state: SearchState, coordinates: Indices
) -> Steps[Vector | None]:
    """Return the Hessian on some coordinates, measured where it is not known; None if that failed.

    Entries are those of wherever they were measured first: what a model promises is measured on f.
    """
    assert state.slopes is not None, "slopes have just been measured"  # noqa: S101
    structure, known = context.structure, context.hessian
    known.begin(structure.to_x(state.point.z))
    form = form_at(context, state.point, state.slopes.values)
    measure = _measure_rows if context.gradients else _measure_pairs
    yield from measure(context, state, coordinates, form)
    i, j = np.ix_(coordinates, coordinates)
    hessian = form.hessian(known.block(coordinates), i, j)
    if structure.unit is not None:
        hessian *= structure.unit[i] * structure.unit[j]
    return hessian if np.isfinite(hessian).all() else None


def _measure_rows(
    context: SearchContext, state: SearchState, coordinates: Indices, form: Form
) -> Steps[None]:
    """Measure the rows that are missing, one gradient each, until one fails."""
    point, every = state.point, np.arange(context.structure.d)
    x = context.structure.to_x(point.z)
    here = yield from context.users_gradient(x)
    step = np.array([HESSIAN_STEP * _size(context, point.z)])
    for i in context.hessian.missing_rows(coordinates):
        z = point.z.copy()
        z[i] += axis_steps(context, z, np.array([i]), step)[0]
        moved = context.structure.to_x(z)
        there = yield from context.users_gradient(moved)
        if here is None or there is None or moved[i] == x[i]:
            return
        row = (there - here) / (moved[i] - x[i])
        context.hessian.add_row(int(i), form.constant(row, i, every))


def _measure_pairs(
    context: SearchContext, state: SearchState, coordinates: Indices, form: Form
) -> Steps[None]:
    """Measure the entries that are missing, one query each and one per coordinate besides."""
    structure, point = context.structure, state.point
    missing = context.hessian.missing_pairs(coordinates)
    if not missing.size:
        return
    axes, at = np.unique(missing, return_inverse=True)
    first, second = at.reshape(missing.shape).T
    length = _length(context, state.noise) * _size(context, point.z)
    steps = axis_steps(context, point.z, axes, np.full(axes.size, length))
    once = yield from context.axis_differences(point, axes, steps)
    own, mixed = np.flatnonzero(first == second), np.flatnonzero(first != second)
    both = np.empty(len(missing))
    both[own] = yield from context.axis_differences(point, axes[first[own]], 2 * steps[first[own]])
    moved = np.column_stack([steps[first], steps[second]])
    directions = ArrayDirections(d=structure.d, indices=missing[mixed], values=moved[mixed])
    both[mixed] = yield from context.differences(point, directions)
    if structure.unit is not None:
        moved = moved * structure.unit[missing]
    with np.errstate(divide="ignore", invalid="ignore"):
        entries = (both - once[first] - once[second]) / moved.prod(axis=1)
    constant = form.constant(entries, missing[:, 0], missing[:, 1])
    context.hessian.add(missing, constant, structure.d)


def _length(context: SearchContext, noise: NoiseModel) -> float:
    """Return the length h at which 4 sigma / h^2 is h times the curvature along an axis."""
    if noise.curvature == 0:
        return HESSIAN_STEP
    bend = abs(noise.curvature) / context.structure.free.size
    return float(np.clip(np.cbrt(4 * noise.sigma / bend), HESSIAN_STEP, LONGEST_STEP))


def _size(context: SearchContext, z: Vector) -> float:
    """Return the size over which derivatives change: a unit, or that of the point or its sum."""
    size = float(np.abs(z).max())
    if not context.hessian.scale_free:
        return max(1.0, size)
    structure = context.structure
    longest = 1.0 if structure.unit is None else float(structure.unit.max())
    total = abs(float(structure.to_x(z).sum())) / longest
    return min(size, total) if context.hessian.sums and total > 0 else size
