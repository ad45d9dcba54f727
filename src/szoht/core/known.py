"""Known evaluations: points and values from before a run, in the solver's numbers."""

from dataclasses import dataclass

import numpy as np

from szoht.core.algorithm import Measured
from szoht.errors import ParameterError
from szoht.types import Mask, Vector

__all__ = ["KnownEvaluations"]


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

    def without(self, dropped: Mask) -> "KnownEvaluations":
        """Return them without those that a mask marks."""
        return KnownEvaluations(
            points=self.points[~dropped], values=self.values[~dropped], elsewhere=self.elsewhere
        )
