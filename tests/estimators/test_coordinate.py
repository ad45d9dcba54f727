"""Differences along the axes."""

import numpy as np
import pytest

from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import Coordinate
from szoht.schedules import Geometric


def test_radius_follows_the_iteration():
    estimator = Coordinate(mu=Geometric(start=1e-1, ratio=0.5))
    plan = estimator.plan(np.zeros(4), None, None, Key(seed=0, iteration=2))
    assert plan.queries[0].radius == pytest.approx(0.025)


def test_failed_coordinate_leaves_the_others_alone():
    estimator = Coordinate(mu=1.0)
    plan = estimator.plan(np.zeros(4), None, None, Key(seed=0))
    estimate, _ = estimator.combine(plan, [Answer(values=np.array([0.0, 1, 2, np.nan, 4]))], None)
    assert np.array_equal(estimate.gradient, [1, 2, 0, 4])
