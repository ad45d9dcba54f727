"""Baselines equal naive transcriptions of their pseudo-code on the same directions."""

import numpy as np
import pytest

from algorithms.runs import dense, run
from reference import baselines as naive
from szoht import AskTell, L1Ball, SoftThreshold, Sparse, algorithms, errors, minimize
from szoht.core.query import Estimate
from szoht.schedules import Geometric
from szoht.updates import Adaptive, Momentum
from szoht.updates.accelerated import inexact_projection

D, T = 13, 8


@pytest.fixture
def f():
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((D, D)) / np.sqrt(D), rng.standard_normal(D)
    return lambda x: float(np.log(np.cosh(a @ x - b)).sum() + 0.1 * (x**4).sum())


def assert_close(ours, reference):
    assert len(ours) == len(reference) == T
    for mine, theirs in zip(ours, reference, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def test_rspgf(f):
    algorithm = algorithms.rspgf(penalty=0.1, q=4, mu=1e-3, step_size=0.1)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    assert_close(ours, naive.rspgf(f, np.zeros(D), directions, mu=1e-3, step_size=0.1, penalty=0.1))


def test_projected_gradient(f):
    algorithm = algorithms.zo_projected_gradient(radius=1.5, q=4, mu=1e-3, step_size=0.2)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    reference = naive.projected_gradient(
        f, np.zeros(D), directions, mu=1e-3, step_size=0.2, radius=1.5
    )
    assert_close(ours, reference)
    assert any(np.abs(x).sum() > 1.49 for x in ours), "the ball must matter"


def test_zscg(f):
    ours, directions = run(algorithms.zscg(radius=2.0, q=4, mu=1e-3), f, np.zeros(D), T)
    assert_close(ours, naive.zscg(f, np.zeros(D), directions, mu=1e-3, radius=2.0))
    assert all(np.count_nonzero(x) <= t + 1 for t, x in enumerate(ours))


def test_zscg_accelerated(f):
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
    assert_close(outputs, reference)
    asked.tell([f(point) for point in asked.ask().points()])
    assert asked.done
    assert np.array_equal(asked.result.x, outputs[-1])
    assert asked.result.fun == f(outputs[-1])


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


def test_momentum(f):
    algorithm = algorithms.momentum_szoht(k=4, q=5, mu=1e-3, step_size=0.05, beta=0.7)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    reference = naive.momentum(f, np.zeros(D), directions, k=4, mu=1e-3, step_size=0.05, beta=0.7)
    assert_close(ours, reference)


def test_adamm(f):
    algorithm = algorithms.zo_adamm(
        k=4, q=5, mu=1e-3, step_size=0.1, beta_mean=0.8, beta_square=0.6
    )
    ours, directions = run(algorithm, f, np.zeros(D), T)
    constants = {"b1": 0.8, "b2": 0.6, "floor": 1e-7}
    reference = naive.adamm(f, np.zeros(D), directions, k=4, mu=1e-3, step_size=0.1, **constants)
    assert_close(ours, reference)


def test_adamm_ignores_the_scale_of_f(f):
    algorithm = algorithms.zo_adamm(k=4, q=20, mu=1e-3, step_size=0.1)
    one, _ = run(algorithm, f, np.zeros(D), T)
    thousand, _ = run(algorithm, lambda x: 1e3 * f(x), np.zeros(D), T)
    assert np.allclose(one[-1], thousand[-1], atol=1e-3)


def test_hzo_ht_grows(f):
    algorithm = algorithms.hzo_ht(k=4, q=3, growth=1.5, max_q=12, step_size=0.05)
    assert algorithm.estimator.q == Geometric(start=3, ratio=1.5, high=12)
    _, directions = run(algorithm, f, np.zeros(D), T)
    assert [len(us) for us in directions] == [3, 5, 7, 11, 12, 12, 12, 12]


def test_random_iterates_are_uniform():
    """The output is each of the four iterates equally often, over seeds."""
    algorithm = algorithms.rspgf(q=1, mu=1e-3, step_size=0.1, iterate="random")
    counts = np.zeros(4)
    for seed in range(800):
        iterates = []
        result = minimize(
            lambda x: float(x.sum()),
            np.zeros(2),
            method=algorithm,
            max_iterations=4,
            rng=seed,
            callback=lambda p, iterates=iterates: iterates.append(p.x),
        )
        counts[[np.array_equal(result.x, x) for x in iterates[:4]].index(True)] += 1
        assert result.fun == pytest.approx(result.x.sum())
    assert np.abs(counts / 800 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 800)


def test_best_iterates_count_the_penalty():
    """f alone prefers the far point, f + penalty the near one."""
    algorithm = algorithms.rspgf(penalty=1.0, q=1, mu=1e-3, step_size=0.5, iterate="best")
    asked = AskTell(np.array([0.1]), method=algorithm, max_iterations=2, rng=0)
    asked.tell([1.0, 0.9])  # at 0.1: f = 1.0, total 1.1, and a step to somewhere far
    far = asked.state.x
    assert abs(far[0]) > 5
    asked.tell([0.9, 0.9])  # f is lower there, but the penalty is not
    assert asked.state.best.x[0] == pytest.approx(0.1)


def test_rspgf_theory_setting():
    setting = algorithms.rspgf_setting(
        d=10, smoothness=4.0, budget=2_000, distance=0.5, gradient_bound=2.0, sigma=1.0
    )
    assert setting["step_size"] == 1 / 8
    assert setting["mu"] == pytest.approx(0.5 / np.sqrt(14 * 2_000))
    assert setting["q"] == int(np.ceil(np.sqrt(14 * 5 * 2_000) / 2))
    algorithms.rspgf(**setting)
    with pytest.raises(errors.ParameterError, match="must pay for one batch of 15"):
        algorithms.rspgf_setting(d=10, smoothness=1.0, budget=14, distance=1.0, gradient_bound=0.0)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("rspgf", {"penalty": -0.1}, "`penalty` must be a finite number >= 0"),
        ("zscg", {}, "`radius` must be given"),
        ("zscg", {"radius": 0.0}, "`radius` must be a finite number > 0"),
        ("zscg", {"radius": 1.0, "variant": "fast"}, "`variant` must be one of 'frank-wolfe'"),
        ("zscg", {"radius": 1.0, "variant": "accelerated", "smoothness": 0}, "`smoothness`"),
        ("zscg", {"radius": 1.0, "variant": "accelerated", "horizon": 0}, "`horizon`"),
        ("zscg", {"radius": 1.0}, r"`x0` must lie in L1Ball\(radius=1.0\)"),
        ("zo_projected_gradient", {"radius": -1}, "`radius`"),
        ("zo_projected_gradient", {"radius": 1.0}, r"`x0` must lie in L1Ball.*l1 norm 4"),
        ("momentum_szoht", {"beta": 1.0}, "`beta` must be a finite number in"),
        ("hzo_ht", {"growth": 0.9}, "`growth` must be a finite number >= 1"),
    ],
)
def test_bad_input(method, options, message):
    k = 2 if method in ("momentum_szoht", "hzo_ht") else None
    with pytest.raises(errors.ParameterError, match=message):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            k=k,
            method=method,
            options=options,
        )


def test_a_penalised_method_takes_no_k():
    with pytest.raises(errors.ParameterError, match="'rspgf' takes no `k`"):
        minimize(lambda x: 0.0, np.zeros(4), k=2, method="rspgf")


def test_adaptive_steps_need_a_weighted_projection():
    with pytest.raises(errors.CapabilityError, match="`weighted_prox`"):
        Adaptive(operator=L1Ball(1.0), step_size=0.1)
    Adaptive(operator=SoftThreshold(1.0), step_size=0.1)


def test_momentum_without_past_is_a_plain_step():
    x = np.zeros(3)
    update = Momentum(operator=Sparse(3), step_size=0.5, beta=0.0)
    estimate = Estimate(gradient=np.ones(3), value=0.0, measured=True)
    moved, _ = update.step(x, estimate, 0, update.init(x))
    assert np.array_equal(moved, [-0.5] * 3)
