"""Names for the arrays that travel between the parts."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Indices", "IterateChoice", "Mask", "Sample", "Vector"]

Vector: TypeAlias = NDArray[np.float64]
"""A point, a gradient, or a stack of either; always float64."""

Indices: TypeAlias = NDArray[np.intp]
"""Coordinates, or the component functions of a finite sum."""

Mask: TypeAlias = NDArray[np.bool_]
"""Which of some points are meant."""

Sample: TypeAlias = NDArray[np.int64] | None
"""What a stochastic objective is evaluated on; None for a deterministic one."""

IterateChoice: TypeAlias = Literal["best", "last", "average", "random"]
"""Which point an algorithm returns."""
