"""Gaussian directions: the second moment against its exact value."""

import numpy as np
import pytest

from estimators.moments import IN_F, SLOPE, S, assert_mean, squared_norms
from szoht.core.random import Key
from szoht.estimators import Gaussian
from szoht.schedules import Geometric


@pytest.mark.parametrize("q", [1, 5])
def test_second_moment(q):
    inside, total = (SLOPE[IN_F] ** 2).sum(), (SLOPE**2).sum()
    expected = (2 * inside + S * total) / q + (1 - 1 / q) * inside
    assert_mean(squared_norms(Gaussian(q=q, mu=1e-3)), expected)


def test_radius_follows_the_iteration():
    estimator = Gaussian(q=2, mu=Geometric(start=1e-1, ratio=0.5))
    plan = estimator.plan(np.zeros(4), None, None, Key(seed=0, iteration=2))
    assert plan.queries[0].radius == pytest.approx(0.025)


def test_count_follows_the_iteration():
    estimator = Gaussian(q=Geometric(start=2, ratio=2), mu=1e-3)
    assert estimator.plan(np.zeros(4), None, None, Key(seed=0, iteration=2)).n_points == 9
