"""A warning where the radius is so small that rounding dominates the differences."""

from szoht.core.algorithm import State
from szoht.errors import RoundingWarning, warn

__all__ = ["RoundingCheck"]

MAX_ROUNDING_SHARE = 0.01
"""Warn when rounding alone may explain more than this share of a difference quotient."""


class RoundingCheck:
    """Warns once per run, by comparing eps |f| / mu with the steepest typical slope so far.

    The steepest, not the newest: that slopes vanish at a minimum is no fault of the radius.
    """

    def __init__(self) -> None:
        self._steepest = 0.0
        self._warned = False

    def warn_if_radius_too_small(self, state: State) -> None:
        """Compare the newest estimate with rounding."""
        self._steepest = max(self._steepest, state.slope)
        if state.rounding <= MAX_ROUNDING_SHARE * self._steepest or self._warned:
            return
        self._warned = True
        warn(
            f"Rounding of f alone may contribute {state.rounding:.2g} to a difference quotient at "
            f"iteration {state.iteration}, and a typical one is {self._steepest:.2g}: `mu` is too "
            "small for the size or the precision of f. Raise `mu`, or subtract a constant from f.",
            RoundingWarning,
        )
