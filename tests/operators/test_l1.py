"""The l1 ball against bisection, and the soft threshold against its objective."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.strategies import vectors
from reference.hard_thresholding import project_l1_ball
from szoht.errors import ParameterError
from szoht.operators import L1Ball, SoftThreshold


@given(vectors, st.floats(0.01, 10))
@settings(deadline=None)
def test_l1_ball_equals_bisection(y, radius):
    ours = L1Ball(radius).prox(y, 1.0)
    assert np.allclose(ours, project_l1_ball(y, radius), rtol=0, atol=1e-9 * (1 + np.abs(y).max()))


def test_l1_ball_survives_entries_that_dwarf_its_radius():
    x = L1Ball(1.0).prox(np.array([1e30, -1.0, 0.0]), 1.0)
    assert np.isfinite(x).all()
    assert np.abs(x).sum() <= 1.0


def test_soft_threshold_scales_with_the_step():
    y = np.array([1.0, -1.0])
    assert np.allclose(SoftThreshold(0.5).prox(y, 0.4), [0.8, -0.8])


def test_weighted_soft_threshold_minimises_its_objective():
    y, weights = np.array([1.0, -2.0, 0.1]), np.array([0.5, 4.0, 1.0])
    ours = SoftThreshold(0.3).weighted_prox(y, 2.0, weights)
    grid = np.linspace(-3, 3, 60_001)
    for i in range(3):
        total = 0.5 * weights[i] * (grid - y[i]) ** 2 + 0.6 * np.abs(grid)
        assert ours[i] == pytest.approx(grid[np.argmin(total)], abs=1e-4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: L1Ball(0.0), ParameterError, "`radius` must be a finite number > 0"),
        (lambda: SoftThreshold(-1.0), ParameterError, "`penalty` must be a finite number >= 0"),
    ],
)
def test_bad_parameters_name_the_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()
