"""Difference quotients: the value, the slope and the rounding that come with an estimate."""

import numpy as np
import pytest

from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import Sphere


def test_central_value_is_the_mean_over_pairs():
    estimator = Sphere(q=3, mu=0.1, central=True)
    plan = estimator.plan(np.zeros(4), None, None, Key(seed=0))
    estimate, _ = estimator.combine(plan, [Answer(values=np.array([1.0, 2, 3, 5, 7, 9]))], None)
    assert estimate.value == pytest.approx(4.5)
    assert not estimate.measured


def test_slope_is_the_median():
    estimator = Sphere(q=5, mu=1.0, support_size=1)
    plan = estimator.plan(np.zeros(9), None, None, Key(seed=0))
    estimate, _ = estimator.combine(
        plan, [Answer(values=np.array([0.0, 1, -2, 3, -50, 100]))], None
    )
    assert estimate.slope == 3.0
    assert estimate.rounding == 0.0


def test_negligible_radius_is_relative_to_x():
    estimator = Sphere(q=5, mu=1e-6)
    x = np.full(4, 1e12)
    plan = estimator.plan(x, None, None, Key(seed=0))
    estimate, _ = estimator.combine(plan, [Answer(values=np.ones(6))], None)
    assert estimate.rounding > 0
