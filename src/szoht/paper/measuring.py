"""Measurements that several experiments share."""

from collections.abc import Sequence

import numpy as np

from szoht.paper.experiment import Measured
from szoht.types import Vector

__all__ = ["listed", "number", "over_seeds", "truth"]


def number(value: float, note: str = "") -> Measured:
    """Return one number."""
    return Measured(value=float(value), text=f"{value:.5g}{note}")


def truth(value: object, note: str) -> Measured:
    """Return whether something is so, with the numbers that say it."""
    return Measured(value=bool(value), text=f"{'true' if value else 'false'}: {note}")


def listed(values: Sequence[int]) -> Measured:
    """Return a list of integers, in order."""
    return Measured(value=[int(v) for v in values], text=", ".join(map(str, values)) or "none")


def over_seeds(values: Vector) -> Measured:
    """Return the median over seeds, and between which values they all lie.

    >>> over_seeds(np.array([1.0, 2.0, 4.0])).text
    '2 (1 to 4, 3 seeds)'
    """
    middle, low, high = float(np.median(values)), float(values.min()), float(values.max())
    spread = f" ({low:.4g} to {high:.4g}, {len(values)} seeds)" if len(values) > 1 else ""
    return Measured(value=middle, text=f"{middle:.4g}{spread}", low=low, high=high)
