"""Constructors of the kinds of measurements that experiments share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from szoht.paper.experiment import Measurement
from szoht.types import Vector

__all__ = [
    "boolean",
    "bootstrap_interval",
    "by_name",
    "integers",
    "median_over_seeds",
    "scalar",
    "wilson_interval",
]

RESAMPLES = 2_000
"""Bootstrap samples: the ends of a 95 % interval then vary by a few hundredths of its length."""


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


def bootstrap_interval(
    values: Vector, statistic: Callable[..., Any] = np.mean, unit: str = ""
) -> Measurement:
    """Return a statistic of the rows of ``values`` with its 95 % percentile bootstrap interval.

    Rows, such as images, are drawn; what belongs to one, such as its seeds, stays together.

    >>> bootstrap_interval(np.array([1.0, 1.0, 1.0])).text
    '1 [1, 1]'
    """
    generator = np.random.default_rng(0)
    value = float(statistic(values))
    drawn = [
        float(statistic(values[generator.integers(len(values), size=len(values))]))
        for _ in range(RESAMPLES)
    ]
    low, high = (float(end) for end in np.percentile(drawn, [2.5, 97.5], method="inverted_cdf"))
    text = f"{value:.3g}{unit} [{low:.3g}, {high:.3g}]"
    return Measurement(value=value, text=text, low=low, high=high)


def wilson_interval(successes: Vector) -> Measurement:
    """Return the percentage of successes with Wilson's 95 % interval.

    >>> wilson_interval(np.array([1, 1, 1, 0])).text
    '75 % [30.1, 95.4]'
    """
    n, rate, z = len(successes), float(np.mean(successes)), 1.96
    center = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    low, high = 100 * float(max(center - half, 0.0)), 100 * float(min(center + half, 1.0))
    text = f"{100 * rate:.3g} % [{low:.3g}, {high:.3g}]"
    return Measurement(value=100 * rate, text=text, low=low, high=high)


def by_name(*functions: Callable[..., Measurement]) -> dict[str, Callable[..., Measurement]]:
    """Return functions by their names, without a leading underscore."""
    return {function.__name__.lstrip("_"): function for function in functions}
