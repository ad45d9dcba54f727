"""Constructors of the kinds of measurements that experiments share."""

from collections.abc import Callable, Sequence

import numpy as np

from szoht.paper.experiment import Measurement
from szoht.types import Vector

__all__ = ["boolean", "by_name", "integers", "median_over_seeds", "scalar"]


def scalar(value: float, note: str = "") -> Measurement:
    """Return a measurement of one number."""
    return Measurement(value=float(value), text=f"{value:.5g}{note}")


def boolean(value: object, note: str) -> Measurement:
    """Return a true or false measurement, with the numbers behind it."""
    return Measurement(value=bool(value), text=f"{'true' if value else 'false'}: {note}")


def integers(values: Sequence[int]) -> Measurement:
    """Return a measurement that is an ordered list of integers."""
    return Measurement(value=[int(v) for v in values], text=", ".join(map(str, values)) or "none")


def median_over_seeds(values: Vector) -> Measurement:
    """Return the median over seeds, with their range as the interval.

    >>> median_over_seeds(np.array([1.0, 2.0, 4.0])).text
    '2 (1 to 4, 3 seeds)'
    """
    median, low, high = float(np.median(values)), float(values.min()), float(values.max())
    spread = f" ({low:.4g} to {high:.4g}, {len(values)} seeds)" if len(values) > 1 else ""
    return Measurement(value=median, text=f"{median:.4g}{spread}", low=low, high=high)


def by_name(*functions: Callable[..., Measurement]) -> dict[str, Callable[..., Measurement]]:
    """Return functions by their names, without a leading underscore."""
    return {function.__name__.lstrip("_"): function for function in functions}
