"""Variance-reduced methods: transcriptions, the variance table, and the precision that they buy."""

import numpy as np
import pytest

from algorithms.runs import dense
from reference import baselines as naive
from szoht import AskTell, Minibatch, algorithms, errors, minimize
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import SARAH, SVRG, Coordinate, MemoryTable, Sphere
from szoht.estimators.anchored import Anchor

N, D, K, T = 6, 11, 3, 9


@pytest.fixture
def components():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((N, D)), rng.standard_normal(N)
    return [
        lambda x, a=a[i], b=b[i]: float(0.5 * (a @ x - b) ** 2 + 0.05 * (x**4).sum())
        for i in range(N)
    ]


def finite_sum(components):
    return lambda x, sample: float(np.mean([components[i](x) for i in sample]))


def record(algorithm, components):
    """Return the iterates and the plans of a run."""
    fun = finite_sum(components)
    asked = AskTell(
        np.zeros(D), method=algorithm, max_iterations=T, rng=4, n_samples=N, stochastic=True
    )
    iterates, plans = [], []
    while asked.state.iteration < T:
        plan = asked.ask()
        plans.append([(q.sample, dense(q.directions)) for q in plan.queries])
        asked.tell([fun(point, q.sample) for q in plan.queries for point in q.points()])
        iterates.append(np.array(asked.state.x))
    return iterates, plans


def assert_close(ours, reference):
    for mine, theirs in zip(ours, reference, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht"])
def test_svrg_and_sarah(components, name):
    constants = {"k": K, "mu": 1e-4, "step_size": 0.05, "every": 4}
    algorithm = getattr(algorithms, name)(q=5, snapshot_q=9, batch_size=2, **constants)
    ours, plans = record(algorithm, components)
    assert [len(plan) for plan in plans] == [1, 2, 2, 2, 1, 2, 2, 2, 1]
    assert all(len(plan[0][1]) == (9 if len(plan) == 1 else 5) for plan in plans)
    assert [len(plan[0][0]) for plan in plans[:5]] == [N, 2, 2, 2, N]
    draws = [plan[0] for plan in plans]
    reference = {"vr_szht": naive.svrg, "sarah_szht": naive.sarah}[name]
    assert_close(ours, reference(components, np.zeros(D), draws, **constants))


@pytest.mark.parametrize("batch_size", [1, 2])
def test_saga(components, batch_size):
    constants = {"k": K, "mu": 1e-4, "step_size": 0.05}
    algorithm = algorithms.saga_szht(q=5, initial_q=9, batch_size=batch_size, **constants)
    ours, plans = record(algorithm, components)
    assert [len(plan) for plan in plans] == [N] + [2 * batch_size] * (T - 1)
    draws = [
        [(int(sample[0]), us) for sample, us in (plan if t == 0 else plan[:batch_size])]
        for t, plan in enumerate(plans)
    ]
    assert_close(ours, naive.saga(components, np.zeros(D), draws, **constants))


def test_both_terms_share_their_directions(components):
    for name in ("vr_szht", "sarah_szht", "saga_szht"):
        algorithm = getattr(algorithms, name)(k=K, q=5, step_size=0.05)
        _, plans = record(algorithm, components)
        (_, here), (_, there) = plans[1]
        assert np.array_equal(here, there)


@pytest.mark.parametrize(
    ("name", "first", "later"),
    [("vr_szht", N * 31, 2 * 2 * 6), ("sarah_szht", N * 31, 2 * 2 * 6), ("saga_szht", N * 31, 24)],
)
def test_documented_cost(components, name, first, later):
    options = {"q": 5, "step_size": 0.05, "batch_size": 2}
    options["initial_q" if name == "saga_szht" else "snapshot_q"] = 30
    result = minimize(
        finite_sum(components),
        np.zeros(D),
        k=K,
        method=name,
        n_samples=N,
        options=options,
        max_iterations=4,
        rng=0,
    )
    assert result.history["queries"][0] == first
    assert np.array_equal(np.diff(result.history["queries"][:4]), [later] * 3)


def least_squares(n=50, d=100, seed=0):
    """The problem of the variance table: f = mean of n squares in d dimensions."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n, d)), rng.standard_normal(n)

    def values(points, sample):
        residuals = points @ a[sample].T - b[sample]
        return 0.5 * (residuals**2).mean(axis=1)

    def gradient(x):
        return a.T @ (a @ x - b) / n

    return values, gradient


def answers(plan, values):
    return [Answer(values=values(query.points(), query.sample)) for query in plan.queries]


def test_variance_table():
    """E||v - grad f||^2 near a snapshot: shared directions help, independent ones hurt."""
    n, d, q, distance, trials = 50, 100, 10, 0.1, 600
    values, gradient = least_squares(n, d)
    rng = np.random.default_rng(3)
    anchor = rng.standard_normal(d)
    sphere = Sphere(q=q, mu=1e-6)
    errors_ = {"plain": [], "shared": [], "independent": []}
    for t in range(trials):
        step = rng.standard_normal(d)
        x = anchor + distance * step / np.linalg.norm(step)
        sample = rng.integers(n, size=1)
        everything = np.arange(n)

        def estimate(point, members, seed):
            plan = sphere.plan(point, members, None, Key(seed=seed, iteration=t))  # noqa: B023
            return sphere.combine(plan, answers(plan, values), None)[0].gradient

        full = estimate(anchor, everything, 99)
        here = estimate(x, sample, 1)
        exact = gradient(x)
        errors_["plain"].append(((here - exact) ** 2).sum())
        errors_["independent"].append(
            ((here - estimate(anchor, sample, 2) + full - exact) ** 2).sum()
        )
        svrg = SVRG(estimator=sphere, snapshot=sphere, every=5)
        memory = Anchor(anchor, full)
        plan = svrg.plan(x, sample, memory, Key(seed=1, iteration=5 * t + 1))
        corrected, _ = svrg.combine(plan, answers(plan, values), memory)
        errors_["shared"].append(((corrected.gradient - exact) ** 2).sum())
    plain, shared, independent = (np.mean(errors_[name]) for name in errors_)
    spread = {name: np.std(e) / np.sqrt(trials) for name, e in errors_.items()}
    assert shared + 3 * spread["shared"] < 0.2 * (plain - 3 * spread["plain"])
    assert independent - 3 * spread["independent"] > plain + 3 * spread["plain"]


def regression(seed=0, n=60, d=30, k=3):
    """Sparse regression with noise: the components disagree at the solution."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, d))
    truth = np.zeros(d)
    truth[rng.choice(d, k, replace=False)] = rng.choice([-1.0, 1.0], k) * 2
    b = a @ truth + 0.5 * rng.standard_normal(n)

    def values(points, sample):
        residuals = points @ a[sample].T - b[sample]
        return 0.5 * (residuals**2).mean(axis=1)

    support = np.flatnonzero(truth)
    best = np.zeros(d)
    best[support] = np.linalg.lstsq(a[:, support], b, rcond=None)[0]
    return values, best, n


def median_distance(method, options):
    """Return the median distance to the solution after 40,000 evaluations, over three seeds."""
    values, best, n = regression()
    results = [
        minimize(
            values,
            np.zeros(best.size),
            k=3,
            method=method,
            vectorized=True,
            n_samples=n,
            options=options,
            max_queries=40_000,
            rng=seed,
        )
        for seed in range(3)
    ]
    return float(np.median([np.linalg.norm(result.x - best) for result in results]))


@pytest.fixture(scope="module")
def szoht_at_its_best():
    """The best of a grid of steps and batch sizes, with directions that span the space."""
    return min(
        median_distance(
            "szoht",
            {
                "step_size": step,
                "q": 30,
                "orthogonal": True,
                "sampler": Minibatch(size=size),
            },
        )
        for step in (0.01, 0.03, 0.1)
        for size in (1, 4)
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vr_szht", {"step_size": 0.03, "q": 15, "every": 30, "snapshot": Coordinate(mu=1e-6)}),
        ("sarah_szht", {"step_size": 0.03, "q": 15, "every": 30, "snapshot": Coordinate(mu=1e-6)}),
        ("saga_szht", {"step_size": 0.05, "q": 30, "orthogonal": True, "batch_size": 4}),
    ],
)
def test_variance_reduction_reaches_what_szoht_cannot(name, options, szoht_at_its_best):
    assert median_distance(name, options) < 0.1 * szoht_at_its_best


def test_the_table_is_sparse():
    estimator = MemoryTable(estimator=Sphere(q=4, mu=1e-3), initial=Sphere(q=4, mu=1e-3))
    d = 5_000
    x = np.zeros(d)
    x[:3] = 1.0
    plan = estimator.plan(x, np.arange(7), None, Key(seed=0))
    estimate, table = estimator.combine(plan, answers(plan, lambda p, s: p.sum(axis=1)), None)
    numbers = sum(
        entry.values.size + entry.weights.size + len(entry.directions.__dict__["_cache"])
        for entry in table.entries
    )
    assert numbers == 7 * (3 + 4)
    gradients = [entry.gradient for entry in table.entries]
    assert np.allclose(np.mean(gradients, axis=0), table.mean)
    assert np.allclose(estimate.gradient, table.mean)
    assert all(np.array_equal(entry.point, x) for entry in table.entries)


def test_a_failed_anchor_costs_the_correction_only():
    svrg = SVRG(estimator=Sphere(q=4, mu=1e-3), snapshot=Sphere(q=4, mu=1e-3), every=5)
    memory = Anchor(np.zeros(6), np.ones(6))
    plan = svrg.plan(np.ones(6), np.array([0]), memory, Key(seed=0, iteration=1))
    told = answers(plan, lambda p, s: p.sum(axis=1))
    told[1].values[0] = np.nan
    estimate, after = svrg.combine(plan, told, memory)
    plain, _ = svrg.estimator.combine(type(plan)(queries=plan.queries[:1]), told[:1], None)
    assert np.array_equal(estimate.gradient, plain.gradient)
    assert after is memory


def test_a_failed_snapshot_is_not_remembered():
    for kind in (SVRG, SARAH):
        estimator = kind(estimator=Sphere(q=4, mu=1e-3), snapshot=Sphere(q=4, mu=1e-3), every=5)
        plan = estimator.plan(np.ones(6), np.arange(3), None, Key(seed=0))
        told = answers(plan, lambda p, s: p.sum(axis=1))
        told[0].values[:] = np.nan
        estimate, memory = estimator.combine(plan, told, None)
        assert np.isnan(estimate.value)
        assert memory is None


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_bad_input(name):
    def fun(*_):
        pytest.fail("a query was spent")

    with pytest.raises(errors.CapabilityError, match="no `n_samples`"):
        minimize(fun, np.zeros(4), k=2, method=name, options={"step_size": 0.1})
    with pytest.raises(errors.ParameterError, match="`step_size` must be given"):
        minimize(fun, np.zeros(4), k=2, method=name, n_samples=5)
    with pytest.raises(errors.ParameterError, match="size=6 with n_samples=5"):
        minimize(
            fun,
            np.zeros(4),
            k=2,
            method=name,
            n_samples=5,
            options={"step_size": 0.1, "batch_size": 6},
        )
