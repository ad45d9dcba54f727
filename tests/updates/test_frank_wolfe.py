"""Steps towards vertices."""

import numpy as np
import pytest

from algorithms.runs import log_cosh, run
from szoht import Box, L1Ball, Sparse, errors
from szoht.algorithms.composite import Composite
from szoht.core.query import Estimate
from szoht.estimators import Coordinate
from szoht.schedules import Constant
from szoht.updates import FrankWolfe

D, T = 17, 6
problem = log_cosh(D)


def test_frank_wolfe_never_leaves_the_set():
    update = FrankWolfe(operator=L1Ball(1.0), step_size=Constant(5.0))
    estimate = Estimate(gradient=np.array([1.0, 0.0]), value=0.0, measured=True)
    x, _ = update.step(np.zeros(2), estimate, 0, None)
    assert np.array_equal(x, [-1.0, 0.0])


def test_frank_wolfe_is_not_rounded_out_of_bounds():
    rng = np.random.default_rng(0)
    low = rng.normal(size=1000)
    box = Box(low, low + rng.random(1000))
    estimate = Estimate(gradient=rng.normal(size=1000), value=0.0, measured=True)
    x, _ = FrankWolfe(operator=box, step_size=1.0).step(
        box.prox(rng.normal(size=1000), 1.0), estimate, 0, None
    )
    assert box.contains(x)


def test_frank_wolfe_needs_a_set_with_vertices():
    with pytest.raises(errors.CapabilityError, match=r"with `lmo`.*Sparse\(k=2\)"):
        FrankWolfe(operator=Sparse(2))
    FrankWolfe(operator=L1Ball(1.0))


def test_frank_wolfe_stays_in_the_ball_and_takes_the_open_loop_step():
    ball = L1Ball(2.0)
    algorithm = Composite(estimator=Coordinate(mu=1e-6), update=FrankWolfe(operator=ball))
    ours, _ = run(algorithm, problem, np.zeros(D), T)
    x = np.zeros(D)
    for t, mine in enumerate(ours):
        slope = np.array([(problem(x + 1e-6 * e) - problem(x)) / 1e-6 for e in np.eye(D)])
        x = x + 2 / (t + 2) * (ball.lmo(slope) - x)
        assert np.allclose(mine, x, atol=1e-9)
        assert ball.contains(mine)
