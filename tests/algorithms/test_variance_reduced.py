"""Variance-reduced methods: transcriptions, the variance table, and the precision that they buy."""

import numpy as np
import pytest

from dense import dense
from outcomes import always, most_seeds
from reference import baselines as naive
from szoht import AskTell, Minibatch, algorithms, errors, minimize
from szoht.core.query import Stage
from szoht.estimators import Coordinate

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
        algorithm = getattr(algorithms, name)(k=K, q=5, mu=1e-6, step_size=0.05)
        _, plans = record(algorithm, components)
        (_, here), (_, there) = plans[1]
        assert np.array_equal(here, there)


@pytest.mark.parametrize(
    ("name", "first", "later"),
    [("vr_szht", N * 31, 2 * 2 * 6), ("sarah_szht", N * 31, 2 * 2 * 6), ("saga_szht", N * 31, 24)],
)
def test_documented_cost(components, name, first, later):
    options = {"q": 5, "mu": 1e-6, "step_size": 0.05, "batch_size": 2}
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
    """Return the median distance to the solution after 40,000 evaluations, over five seeds."""
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
        for seed in range(5)
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


@pytest.mark.statistical
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


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_bad_input(name):
    def fun(*_):
        pytest.fail("a query was spent")

    with pytest.raises(errors.CapabilityError, match="no `n_samples`"):
        minimize(fun, np.zeros(4), k=2, method=name, options={"step_size": 0.1})
    with pytest.raises(errors.ParameterError, match="size=6 with n_samples=5"):
        minimize(
            fun,
            np.zeros(4),
            k=2,
            method=name,
            n_samples=5,
            options={"step_size": 0.1, "batch_size": 6},
        )


@pytest.mark.filterwarnings("ignore::szoht.errors.NoGainWarning")  # as few passes as that
@pytest.mark.parametrize("passes", [10, 30, 100, 1000])
@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
@most_seeds
def test_without_a_step_size_the_answer_is_the_best_point_on_the_whole_sum(seed, name, passes):
    values, best, n = regression()
    start = values(np.zeros((1, best.size)), np.arange(n))[0]
    result = minimize(
        values,
        np.zeros(best.size),
        k=3,
        method=name,
        vectorized=True,
        n_samples=n,
        max_queries=passes * n,
        rng=seed,
    )
    whole = values(result.x[np.newaxis], np.arange(n))[0]
    always(result.nfev <= passes * n)
    always(
        result.fun == pytest.approx(whole, rel=1e-12)
    )  # matrices of other shapes round otherwise
    always(result.fun <= start)
    if passes >= 100:
        assert result.fun < (0.9 if passes == 100 else 0.5) * start


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_without_a_step_size_many_passes_solve_the_problem(name):
    assert median_distance(name, {}) < 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_by_default_none_is_behind_szoht(name):
    assert median_distance(name, {}) < median_distance("szoht", {})


@pytest.mark.filterwarnings("ignore::szoht.errors.NoGainWarning")  # so few components
@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_searches_are_on_the_whole_sum(components, name):
    run = AskTell(
        np.zeros(D),
        method=getattr(algorithms, name)(k=K, q=5, mu=1e-6, d=D, n_samples=N),
        max_iterations=T,
        rng=4,
        n_samples=N,
        stochastic=True,
    )
    fun, sizes = finite_sum(components), []
    while not run.done and run.state.iteration < T:
        plan = run.ask()
        if plan.stage is Stage.SEARCH:
            sizes.append({len(query.sample) for query in plan.queries})
        run.tell([fun(point, q.sample) for q in plan.queries for point in q.points()])
    assert len(sizes) > 2
    assert all(size == {N} for size in sizes)


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
@pytest.mark.filterwarnings("ignore::szoht.errors.NoGainWarning")
def test_without_a_step_size_the_first_plan_takes_an_eighth_of_the_budget_at_most(name):
    options = {"k": 3, "d": 500, "mu": 1e-6, "n_samples": N}
    algorithm = getattr(algorithms, name)(**options, max_queries=80 * N)
    assert algorithm.ask(algorithm.init(np.zeros(500), seed=0, n_samples=N)).cost == 10 * N
    given = getattr(algorithms, name)(**options, max_queries=80 * N, step_size=0.1)
    assert given.ask(given.init(np.zeros(500), seed=0, n_samples=N)).cost > 50 * N
