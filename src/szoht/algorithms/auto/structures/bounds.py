"""Bounds as fields of a structure."""

from typing import TypedDict

import numpy as np

from szoht.core.validation import frozen
from szoht.operators.box import Bound
from szoht.types import Vector

__all__ = ["BoundsAndUnits", "bounds_and_units"]


class BoundsAndUnits(TypedDict):
    """The bounds on x that are fields of a structure, and the units that follow from them."""

    x_low: Vector | None
    x_high: Vector | None
    unit: Vector | None
    has_units: bool


def bounds_and_units(low: Bound, high: Bound, d: int) -> BoundsAndUnits:
    """Return bounds as fields of a structure: one unit is a box width where that is finite."""
    if np.isinf(low).all() and np.isinf(high).all():
        return {"x_low": None, "x_high": None, "unit": None, "has_units": False}
    x_low = frozen(np.broadcast_to(np.asarray(low, dtype=float), (d,)).copy())
    x_high = frozen(np.broadcast_to(np.asarray(high, dtype=float), (d,)).copy())
    width = x_high - x_low
    finite = np.isfinite(width) & (width > 0)
    unit = np.where(finite, np.where(finite, width, 1.0), 1.0)
    return {
        "x_low": x_low,
        "x_high": x_high,
        "unit": None if np.array_equal(unit, np.ones(d)) else frozen(unit),
        "has_units": bool(np.isfinite(width).all()),
    }
