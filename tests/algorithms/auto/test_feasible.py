"""No evaluation of the default solver lies outside declared bounds, whatever their widths."""

import numpy as np
import pytest

from szoht import SparseBox, minimize
from szoht.types import Vector

METHOD = "auto"


def _random_box(rng: np.random.Generator, d: int) -> tuple[Vector, Vector]:
    """Return bounds around zero, of widths from 1e-9 to 1e9, some fixed, some one-sided."""
    width = 10 ** rng.uniform(-9, 9, d)
    share = rng.choice([0.0, 1.0, rng.uniform()], d)
    low, high = -share * width, (1 - share) * width
    kind = rng.integers(4)
    if kind == 1:
        fixed = rng.random(d) < 0.2
        low[fixed] = high[fixed] = 0.0
    elif kind == 2:
        high[rng.random(d) < 0.3] = np.inf
    elif kind == 3:
        low[rng.random(d) < 0.3] = -np.inf
    return low, high


BLOCKS = [0, 1, *(pytest.param(i, marks=pytest.mark.statistical) for i in range(2, 20))]
"""1,000 boxes in all, of which the long runs have the most."""


@pytest.mark.parametrize("block", BLOCKS)
def test_no_point_is_outside(block: int) -> None:
    for number in range(50):
        seed = 50 * block + number
        rng = np.random.default_rng(seed)
        d, k = int(rng.integers(5, 60)), int(rng.integers(1, 5))
        low, high = _random_box(rng, d)
        unit = np.where(np.isfinite(high - low), high - low, 1.0)
        unit[unit == 0] = 1.0
        goal = rng.uniform(-1.5, 1.5, d) * (rng.random(d) < 0.3)
        kinks = seed % 3

        def fun(x: Vector) -> float:
            assert (x >= low).all()  # noqa: B023
            assert (x <= high).all()  # noqa: B023
            off = x / unit - goal  # noqa: B023
            return float([(off**2).sum(), np.abs(off).sum(), np.floor(9 * off @ off)][kinks])  # noqa: B023

        minimize(
            fun,
            np.zeros(d),
            constraint=SparseBox(k, low, high),
            method=METHOD,
            max_queries=150,
            rng=seed,
            on_error="raise",
        )
