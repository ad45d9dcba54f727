"""Known evaluations: points and values from before a run, in the solver's numbers."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.algorithm import Measured
from szoht.errors import ParameterError
from szoht.types import Mask, Vector

__all__ = ["KnownEvaluations"]

MOST_DIGITS = 13
"""Values with as many digits are not rounded."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownEvaluations:
    """Points of shape (n, d) and their values, of shape (n,), as a function to be minimized.

    ``elsewhere`` is the one of x0 and the best known point at which the run does not begin; it was
    measured again before.
    """

    points: Vector
    values: Vector
    elsewhere: Measured | None = None

    def __post_init__(self) -> None:
        shape = (*self.values.shape, *self.points.shape[1:])
        if self.points.ndim != 2 or self.points.shape != shape or self.values.ndim != 1:  # noqa: PLR2004
            raise ParameterError(
                "`known` must be points of shape (n, d) and values of shape (n,); got shapes "
                f"{self.points.shape} and {self.values.shape}."
            )
        if not (np.isfinite(self.points).all() and np.isfinite(self.values).all()):
            raise ParameterError("`known` must be finite points and values.")

    @cached_property
    def rounding(self) -> float:
        """The standard deviation of the error of values that are stated to few digits."""
        largest = float(np.abs(self.values).max(initial=0.0))
        if not largest > 0:
            return 0.0
        for digits in range(MOST_DIGITS):
            last = 10.0 ** (math.floor(math.log10(largest)) - digits)
            if np.allclose(np.rint(self.values / last) * last, self.values, rtol=1e-14, atol=0):
                return last / math.sqrt(12)
        return 0.0

    def without(self, dropped: Mask) -> "KnownEvaluations":
        """Return them without those that a mask marks."""
        return KnownEvaluations(
            points=self.points[~dropped], values=self.values[~dropped], elsewhere=self.elsewhere
        )
