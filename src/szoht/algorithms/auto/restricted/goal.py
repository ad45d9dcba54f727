"""What restricted solves share: when they end, and what they end with."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from szoht.algorithms.auto.records import Curvature, EvaluatedPoint

__all__ = ["ARMIJO", "Goal", "Solution"]

ARMIJO = 1e-4
"""Share of what the slope promises that a step must gain."""


class Solution(NamedTuple):
    """Where a restricted solve ended, and the curvature that it learned, if any."""

    point: EvaluatedPoint
    curvature: Curvature | None


@dataclass(frozen=True, kw_only=True)
class Goal:
    """When a restricted solve ends.

    After ``steps`` steps, or when the gradient has shrunk to ``accuracy`` of the first; as soon as
    the quadratic model leaves no hope to get below ``value``, but if ``patient`` not before the
    first step. ``thorough`` goes on with central differences where forward ones stall. In a finite
    box ``long_steps`` tries shares of the box where the first step turned out to be short.
    ``settled`` ends it, after some steps, when the atoms that would stay are the same as before.
    ``unequal`` says that slopes come from sparse recovery: very different ones then mean
    different units.
    """

    steps: int = 20
    accuracy: float = 0.1
    value: float = -math.inf
    patient: bool = False
    thorough: bool = False
    long_steps: bool = False
    settled: bool = False
    unequal: bool = False
