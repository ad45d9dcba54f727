"""The inexact projection of accelerated steps."""

import numpy as np

from szoht import L1Ball
from szoht.updates.accelerated import inexact_projection

D = 13


def test_the_inner_loop_meets_its_gap():
    rng = np.random.default_rng(0)
    ball = L1Ball(1.3)
    for _ in range(50):
        x = ball.prox(rng.standard_normal(D), 0.0)
        g = rng.standard_normal(D) * 3
        gap = 10 ** rng.uniform(-3, 0)
        y = inexact_projection(ball, x, g, curvature=2.0, gap=gap, max_steps=10**6)
        assert ball.contains(y)
        p = g + 2.0 * (y - x)
        assert p @ (ball.lmo(p) - y) >= -gap
        # the gap bounds the distance of the objective from its minimum, the exact projection
        best = ball.prox(x - g / 2.0, 0.0)

        def objective(u, g=g, x=x):
            return g @ u + ((u - x) ** 2).sum()

        assert objective(y) - objective(best) <= gap


def test_the_inner_loop_is_bounded():
    x = np.zeros(D)
    y = inexact_projection(L1Ball(1.0), x, np.ones(D), curvature=1.0, gap=0.0, max_steps=3)
    assert np.isfinite(y).all()
