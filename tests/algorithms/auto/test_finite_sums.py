"""Finite sums: parts are searched, fresh components validate, the answer is about the whole."""

import math

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import AskTell, minimize
from szoht.algorithms.auto.samples import fresh_part, part, sizes, validated_size

N, D, K = 2_000, 60, 3


def logistic(n, d, seed=0):
    """Return the mean logistic loss; few components are separable, so that losses there vanish."""
    rng = np.random.default_rng(seed)
    a, w = rng.standard_normal((n, d)), np.zeros(d)
    w[:K] = 1.0
    b = np.where(rng.random(n) < 1 / (1 + np.exp(-a @ w)), 1.0, -1.0)
    return lambda x, sample: float(np.logaddexp(0, -b[sample] * (a[sample] @ x)).mean())


class Recorded:
    """A function that keeps its samples."""

    def __init__(self, fun):
        self.fun, self.samples = fun, []

    def __call__(self, x, sample):
        """Evaluate."""
        self.samples.append(sample)
        return self.fun(x, sample)


def least_squares(n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    a, w = rng.standard_normal((n, d)), np.zeros(d)
    w[[4, 17, 40]] = [1.0, -0.7, 0.5]
    b = a @ w + 0.1 * rng.standard_normal(n)
    return lambda x, sample: 0.5 * float(((a[sample] @ x - b[sample]) ** 2).mean())


@most_seeds
def test_small_parts_come_before_the_whole_sum(seed):
    fun = Recorded(least_squares())
    result = minimize(fun, np.zeros(D), k=K, n_samples=N, max_queries=200 * N, rng=seed)
    always(result.fun == fun.fun(result.x, np.arange(N)))
    assert np.array_equal(result.support, [4, 17, 40])
    seen = [sample.size for sample in fun.samples]
    assert seen[0] == N  # the start, to compare with
    assert sorted(set(seen)) == [72, 216, 648, N]
    assert seen[1:] == sorted(seen[1:])
    assert any("72 of 2000 components" in line for line in result.explain)


def test_what_a_part_found_is_measured_on_as_many_components_that_it_has_not_seen():
    fun = Recorded(least_squares())
    minimize(fun, np.zeros(D), k=K, n_samples=N, max_queries=200 * N, rng=0)
    for size in (72, 216, 648):
        searched, *others = {tuple(s): s for s in fun.samples if s.size == size}.values()
        (fresh,) = others
        assert not np.intersect1d(searched, fresh).size


@pytest.mark.parametrize("passes", [0.1, 0.5, 2, 5, 11, 20, 35, 60, 100])
@pytest.mark.parametrize("problem", [logistic, least_squares])
def test_wherever_a_run_ends_fun_is_about_the_answer_and_no_worse_than_at_the_start(
    problem, passes
):
    """Runs used to end with a value on 36 components, at points worse than the start."""
    fun, budget = Recorded(problem(N, D)), round(passes * N)
    result = minimize(fun, np.zeros(D), k=K, n_samples=N, max_queries=budget, rng=1)
    answered_on = fun.samples[0]
    assert result.nfev <= budget
    assert answered_on.size == min(N, budget // 10)
    assert result.fun == fun.fun(result.x, answered_on)
    assert result.fun <= fun.fun(np.zeros(D), answered_on)
    assert np.isin(np.concatenate(fun.samples), answered_on).all()


@most_seeds
def test_no_value_on_a_part_is_ever_reported(seed):
    """Values on parts are 100 lower; neither the history nor an interrupted run may show them."""
    whole, base = N, least_squares()
    run = AskTell(np.zeros(D), k=K, n_samples=N, max_queries=100 * N, rng=seed)
    while not run.done:
        plan = run.ask()
        lower = 100.0 if plan.queries[0].sample.size < whole else 0.0
        run.tell([base(x, q.sample) - lower for q in plan.queries for x in q.points()])
        always(run.state.best is None or run.state.best.value >= 0)
        always(run.state.measured is None or run.state.measured.value >= 0)
    always(run.result.history["best"].min() >= 0)
    assert 0 <= run.result.fun < 0.02


@most_seeds
def test_a_part_that_misleads_does_not_lead_the_answer_away(seed):
    """On parts, the minimum is where the whole sum is large."""
    y, wrong = np.zeros(30), np.zeros(30)
    y[[4, 7]], wrong[[3, 9]] = [1.0, -1.0], [50.0, 50.0]

    def fun(x, sample):
        return float(((x - (y if sample.size == N else wrong)) ** 2).sum())

    for passes in (20, 400):
        result = minimize(fun, np.zeros(30), k=2, n_samples=N, max_queries=passes * N, rng=seed)
        always(result.fun == fun(result.x, np.arange(N)))
        assert result.fun <= 2
    assert np.allclose(result.x, y, atol=1e-4)


@pytest.mark.parametrize(("far", "begins_at"), [(50.0, 0.0), (3.2, 1.6), (1.2, 1.2)])
@most_seeds
def test_the_next_part_begins_where_fresh_components_agree(seed, far, begins_at):
    """The part that is searched wants ``far``, the others 1: refused, shortened, accepted."""
    searched, first = {}, {}

    def fun(x, sample):
        known = searched.setdefault(sample.size, sample)
        first.setdefault(sample.size, x.copy())
        wanted = far if sample.size < N and known is sample else 1.0
        return float(((x - wanted * np.eye(D)[7]) ** 2).sum())

    minimize(fun, np.zeros(D), k=1, n_samples=N, max_queries=400 * N, rng=seed)
    smallest, following, *_ = sorted(first)
    assert np.array_equal(first[smallest], np.zeros(D))
    assert np.allclose(first[following], begins_at * np.eye(D)[7], atol=1e-3)


@most_seeds
def test_overfitting_ends_a_part(seed):
    """On separable components losses fall without end; fresh ones stop that at small weights."""
    fun = Recorded(logistic(20_000, 100))
    result = minimize(fun, np.zeros(100), k=K, n_samples=20_000, max_queries=100 * 20_000, rng=seed)
    best = fun.fun(np.r_[np.ones(K), np.zeros(97)], np.arange(20_000))
    assert np.array_equal(result.support, np.arange(K))
    assert result.fun < best + 0.01 * (math.log(2) - best)


def test_without_a_budget_it_is_100_passes():
    fun = Recorded(lambda x, sample: float(np.abs(x - 0.3).sum()))
    result = minimize(fun, np.zeros(30), k=2, n_samples=300, rng=0)
    assert fun.samples[0].size == 300
    assert result.nfev <= 100 * 300


def test_a_start_without_a_value_ends_the_run():
    result = minimize(
        lambda x, sample: math.nan, np.zeros(D), k=K, n_samples=N, max_queries=50 * N, rng=0
    )
    assert not result.success


def test_parts_grow_up_to_the_whole():
    assert sizes(50, 12 * 10, math.inf) == []
    assert sizes(1_000, 12 * 10, math.inf) == [60, 180]
    assert sizes(1_000, 12 * 10, 1_000) == []  # too little to search any part
    small, large = part(3, 1_000, 20), part(3, 1_000, 80)
    assert set(small) < set(large)
    assert np.unique(large).size == 80
    fresh = set(fresh_part(3, 1_000, 20))
    assert fresh < set(large)
    assert not set(small) & fresh
    assert np.array_equal(part(3, 100, 100), np.arange(100))
    assert validated_size(100, None) == 100


@most_seeds
def test_errors_that_are_counted_are_searched_on_parts(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((4_000, 30))
    labels = np.sign(data[:, [3, 11, 20]] @ [1.0, -1.5, 2.0])

    def fun(x, sample):
        return float((labels[sample] * (data[sample] @ x) <= 0).mean())

    result = minimize(fun, np.zeros(30), k=3, n_samples=4_000, max_queries=100 * 4_000, rng=seed)
    always(result.fun == fun(result.x, np.arange(4_000)))
    assert result.fun < 0.05
    full = minimize(lambda x: fun(x, slice(None)), np.zeros(30), k=3, max_queries=100, rng=seed)
    assert result.fun < full.fun
