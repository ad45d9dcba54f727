"""ZSCG and its accelerated variant against their pseudo-code and their rates."""

import numpy as np
import pytest

from algorithms.runs import assert_close, least_squares, log_cosh, run
from dense import dense
from outcomes import most_seeds
from reference import baselines as naive
from szoht import AskTell, algorithms, errors, minimize
from szoht.operators import L1Ball

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_it_equals_its_pseudo_code():
    ours, directions = run(algorithms.zscg(radius=2.0, q=4, mu=1e-3), f, np.zeros(D), T)
    assert len(ours) == T
    assert_close(ours, naive.zscg(f, np.zeros(D), directions, mu=1e-3, radius=2.0))
    assert all(np.count_nonzero(x) <= t + 1 for t, x in enumerate(ours))


def test_the_accelerated_variant_equals_its_pseudo_code():
    constants = {"smoothness": 3.0, "distance": 4.0, "horizon": T}
    algorithm = algorithms.zscg(radius=2.0, variant="accelerated", q=4, mu=1e-3, **constants)
    asked = AskTell(np.zeros(D), method=algorithm, max_iterations=T, rng=4)
    outputs, directions = [], []
    while asked.state.iteration < T:
        plan = asked.ask()
        directions.append(dense(plan.queries[0].directions))
        asked.tell([f(point) for point in plan.points()])
        outputs.append(asked.state.update_memory.z)
    reference = naive.zscg_accelerated(f, np.zeros(D), directions, mu=1e-3, radius=2.0, **constants)
    assert len(outputs) == T
    assert_close(outputs, reference)
    asked.tell([f(point) for point in asked.ask().points()])
    assert asked.done
    assert np.array_equal(asked.result.x, outputs[-1])
    assert asked.result.fun == f(outputs[-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`radius` must be given"),
        ({"radius": 0.0}, "`radius` must be a finite number > 0"),
        ({"radius": 1.0, "variant": "fast"}, "`variant` must be one of 'frank-wolfe'"),
        ({"radius": 1.0, "variant": "accelerated", "smoothness": 0}, "`smoothness`"),
        ({"radius": 1.0, "variant": "accelerated", "horizon": 0}, "`horizon`"),
        ({"radius": 1.0}, r"`x0` must lie in L1Ball\(radius=1.0\)"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(errors.ParameterError, match=message):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            method="zscg",
            options=options,
        )


def solve(operator, gradient, x, steps=20_000):
    """Minimise by many exact proximal gradient steps of length 1 / L = 1."""
    for _ in range(steps):
        x = operator.prox(x - gradient(x), 1.0)
    return x


@most_seeds
def test_frank_wolfe_gap_falls_like_one_over_t(seed):
    """Exact gradients give 2 L diameter^2 / (t + 2): t times the gap does not grow, within 2."""
    f, gradient = least_squares(20)
    ball = L1Ball(2.0)
    best = f(solve(ball, gradient, np.zeros(20)))
    seen = []
    minimize(
        f,
        np.zeros(20),
        method=algorithms.zscg(radius=2.0, q=2_000),
        max_iterations=60,
        rng=seed,
        monitor=lambda x: seen.append(f(x) - best) or 0.0,
    )
    gaps = np.array(seen[:60])
    t = np.arange(60)
    assert (gaps <= 2 * 4.0**2 / (t + 2)).all()
    scaled = (t + 2) * gaps
    assert scaled[20:].max() <= 2 * scaled[:20].max()


@pytest.mark.parametrize("horizon", [5, 20])
@most_seeds
def test_accelerated_variant_keeps_its_bound(seed, horizon):
    """f(z_N) - f* <= 12 L D0 / (N (N + 1)) for exact gradients; here within 1.5."""
    f, gradient = least_squares(20)
    best = solve(L1Ball(2.0), gradient, np.zeros(20))
    distance = float(best @ best)
    method = algorithms.zscg(
        radius=2.0, variant="accelerated", q=1_000, distance=distance, horizon=horizon
    )
    result = minimize(f, np.zeros(20), method=method, max_iterations=horizon, rng=seed)
    assert result.fun - f(best) <= 1.5 * 12 * distance / (horizon * (horizon + 1))
