"""Entries that are not small, weights within limits, points of a convex set: by `auto` itself."""

import importlib
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from outcomes import always, most_seeds
from szoht import SparseSimplex, minimize
from szoht.algorithms.auto.restricted.bounded_model import best_branch, bounded_step
from szoht.operators import (
    Box,
    GraphSparse,
    GroupSparse,
    L1Ball,
    Semicontinuous,
    Sparse,
    SparseBox,
    TreeSparse,
    TwoStep,
)
from szoht.problems import structured


class L2Ball:
    """{x : |x| <= radius}."""

    def __init__(self, radius):
        self.radius = radius

    def check(self, d):
        pass

    def prox(self, y, step):
        size = np.linalg.norm(y)
        return y.copy() if size <= self.radius else y * (self.radius / size)

    def contains(self, x):
        return np.linalg.norm(x) <= self.radius * (1 + 1e-12)


class AtMost(L2Ball):
    """{x >= 0 : sum(x) <= radius}: zero is at the border, and so are all sparse points."""

    def prox(self, y, step):
        x = np.maximum(y, 0.0)
        return x if x.sum() <= self.radius else SparseSimplex(y.size, self.radius).prox(y, 1.0)

    def contains(self, x):
        return (x >= 0).all() and x.sum() <= self.radius * (1 + 1e-12)


def correlated(seed, d):
    """Return a quadratic with its Hessian and minimum, half of which is zero."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((3 * d, d))
    hessian, best = design.T @ design / (3 * d), np.zeros(d)
    best[rng.choice(d, d // 2, replace=False)] = rng.choice([-1, 1], d // 2) * rng.uniform(
        0.1, 1.0, d // 2
    )
    return (lambda x: 0.5 * float((x - best) @ hessian @ (x - best))), hessian, best


# models


@pytest.mark.parametrize("total", [None, 0.0])
def test_a_step_within_limits_is_the_best(total):
    rng = np.random.default_rng(3)
    for _ in range(60):
        n = int(rng.integers(2, 9))
        factor = rng.standard_normal((n, n))
        hessian, slopes = factor @ factor.T / n + 0.1 * np.eye(n), rng.standard_normal(n)
        low = -rng.uniform(0, 1, n) * (rng.random(n) < 0.8)
        high = rng.uniform(0, 1, n) * (rng.random(n) < 0.8)
        step = bounded_step(slopes, hessian, low, high, total=total)
        assert (step >= low).all()
        assert (step <= high).all()
        assert total is None or abs(step.sum()) < 1e-12
        # the slopes of all entries that can still change are equal, or lead outside
        rising = slopes + hessian @ step
        up, down = rising[step < high - 1e-9], rising[step > low + 1e-9]
        if total is None:
            up, down = np.append(up, 0.0), np.append(down, 0.0)
        assert up.size == 0 or down.size == 0 or up.min() >= down.max() - 1e-7


def test_a_branch_is_the_best_of_all():
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = 4
        factor = rng.standard_normal((n, n))
        hessian, slopes = factor @ factor.T / n + 0.1 * np.eye(n), rng.standard_normal(n)
        values = rng.dirichlet(np.ones(n))
        within, zero = (0.3, 0.9), (0.0, 0.0)
        sides = [[within, zero] if value > 0.15 else [zero, within] for value in values]

        def model(at, slopes=slopes, hessian=hessian, values=values):
            step = at - values
            return slopes @ step + 0.5 * step @ hessian @ step

        found = best_branch(slopes, hessian, values, sides, given_sum=True)
        best = np.inf
        for choice in itertools.product(*sides):
            low, high = np.array(choice).T - values
            step = bounded_step(slopes, hessian, low, high, total=0.0)
            if abs(step.sum()) < 1e-9:
                best = min(best, model(values + step))
        assert ((found == 0) | ((found >= 0.3 - 1e-12) & (found <= 0.9 + 1e-12))).all()
        assert found.sum() == pytest.approx(1.0)
        assert model(found) <= best + 1e-9


# entries that are not small


def least_of_all(hessian, best, low, high, *, k=3, least=0.6):
    """Return the minimum over all supports and sides."""
    slopes, lowest = -(hessian @ best), 0.0
    for support in itertools.combinations(range(best.size), k):
        own = np.ix_(support, support)
        options = [[(0.0, 0.0), (least, high), *([(low, -least)] if low <= -least else [])]] * k
        for choice in itertools.product(*options):
            lows, highs = np.array(choice).T
            step = bounded_step(slopes[list(support)], hessian[own], lows, highs)
            lowest = min(lowest, slopes[list(support)] @ step + 0.5 * step @ hessian[own] @ step)
    return lowest + 0.5 * best @ hessian @ best


@pytest.mark.parametrize(("low", "high"), [(-3.0, 3.0), (0.0, 3.0)])
@most_seeds
def test_the_best_of_all_points_without_small_entries_is_found(low, high, seed):
    fun, hessian, best = correlated(seed, 8)
    constraint = Semicontinuous(3, at_least=0.6, low=low, high=high)

    def watched(x):
        always(((x >= low) & (x <= high)).all())
        return fun(x)

    result = minimize(watched, np.zeros(8), constraint=constraint, max_queries=600, rng=seed)
    always(constraint.contains(result.x))
    always(not any("handed" in line for line in result.explain))
    reference = least_of_all(hessian, best, low, high)
    assert result.fun <= reference + 1e-6 * (fun(np.zeros(8)) - reference)


@most_seeds
def test_limits_that_do_not_bind_cost_nothing(seed):
    problem = structured("semicontinuous", rng=seed)
    value = problem.objective.value
    target = 1e-3 * value(problem.x0)
    counts = [
        minimize(value, problem.x0, constraint=constraint, target=target, rng=seed).nfev
        for constraint in (problem.constraint, Sparse(5))
    ]
    assert counts[0] <= 1.05 * counts[1]


@most_seeds
def test_an_entry_between_zero_and_the_limit_goes_where_f_is_lower(seed):
    best = np.zeros(30)
    best[[3, 8, 20]] = [0.9, 0.35, -0.2]
    result = minimize(
        lambda x: float(((x - best) ** 2).sum()),
        np.zeros(30),
        constraint=Semicontinuous(3, at_least=0.5),
        max_queries=200,
        rng=seed,
    )
    expected = np.zeros(30)
    expected[[3, 8]] = [0.9, 0.5]
    assert result.x == pytest.approx(expected, abs=1e-4)
    assert result.x[8] == 0.5


# weights within limits


def variance(seed, d):
    rng = np.random.default_rng(seed)
    loadings = np.column_stack([rng.normal(1, 0.3, d), 0.7 * rng.standard_normal((d, 2))])
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.3, 2.0, d))
    return (lambda x: float(x @ covariance @ x)), covariance


@most_seeds
def test_the_best_of_all_limited_portfolios_is_found(seed):
    d, sectors = 9, np.arange(9) % 3
    constraint = SparseSimplex(
        4, at_least=0.15, at_most=0.4, groups=tuple(sectors.tolist()), per_group=2
    )
    fun, covariance = variance(seed, d)

    def watched(x):
        always(abs(x.sum() - 1) <= 1e-12)
        always(x.min() >= 0)
        always(x.max() <= 0.4 + 1e-12)
        return fun(x)

    start = constraint.prox(np.zeros(d), 1.0)
    result = minimize(watched, start, constraint=constraint, max_queries=800, rng=seed)
    always(constraint.contains(result.x))
    assert result.fun <= _least_variance(covariance, sectors) * (1 + 1e-6)


def _least_variance(covariance, sectors):
    lowest = np.inf
    for m in (3, 4):
        for support in itertools.combinations(range(sectors.size), m):
            if np.bincount(sectors[list(support)]).max() > 2:
                continue
            own = covariance[np.ix_(support, support)]
            start = np.full(m, 1 / m)
            step = bounded_step(2 * own @ start, 2 * own, 0.15 - start, 0.4 - start, total=0.0)
            lowest = min(lowest, (start + step) @ own @ (start + step))
    return lowest


@most_seeds
def test_limited_portfolios_are_as_good_as_exchanges_with_slopes(seed):
    d, k = 80, 8
    sectors = np.arange(d) % 8
    constraint = SparseSimplex(
        k, at_least=0.05, at_most=0.25, groups=tuple(sectors.tolist()), per_group=2
    )
    fun, covariance = variance(3, d)
    start = constraint.prox(np.zeros(d), 1.0)
    result = minimize(fun, start, constraint=constraint, max_queries=2000, rng=seed)
    always(constraint.contains(result.x))
    assert result.fun <= _exchanged(covariance, sectors, k) * (1 + 1e-6)


def _exchanged(covariance, sectors, k):
    """Exchange one for one, from the best weights without k, until nothing gains."""

    def solved(support):
        own, start = covariance[np.ix_(support, support)], np.full(len(support), 1 / len(support))
        low = 0.05 if len(support) == k else 0.0
        done = scipy_minimize(
            lambda w: w @ own @ w,
            start,
            jac=lambda w: 2 * own @ w,
            bounds=[(low, 0.25)] * len(support),
            constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}],
            options={"ftol": 1e-12},
        )
        return done.fun, done.x

    order = np.argsort(-solved(list(range(sectors.size)))[1])
    support = []
    for i in order:
        if len(support) < k and np.count_nonzero(sectors[support] == sectors[i]) < 2:
            support.append(int(i))
    value, gained = solved(support)[0], True
    while gained:
        gained = False
        for out, new in itertools.product(range(k), order[: 3 * k]):
            other = [*support[:out], int(new), *support[out + 1 :]]
            if new in support or np.bincount(sectors[other]).max() > 2:
                continue
            found = solved(other)[0]
            if found < value * (1 - 1e-9):
                support, value, gained = other, found, True
                break
    return value


@most_seeds
def test_weights_that_are_all_at_their_limit_are_exchanged(seed):
    best = np.zeros(40)
    best[[3, 11, 27, 35]] = 0.25
    result = minimize(
        lambda x: float(((x - best) ** 2).sum()),
        np.repeat([0.25, 0.0], [4, 36]),
        constraint=SparseSimplex(4, at_most=0.25),
        target=1e-9,
        max_queries=2000,
        rng=seed,
    )
    assert np.flatnonzero(result.x).tolist() == [3, 11, 27, 35]


# convex sets


CONVEX = [L1Ball(2.0), L2Ball(1.0), AtMost(1.0), Box(-0.4, 0.6)]


@pytest.mark.parametrize("convex", CONVEX, ids=lambda convex: type(convex).__name__)
@most_seeds
def test_points_of_a_convex_set_are_found(seed, convex):
    rng = np.random.default_rng(0)
    d, best, weights = 120, np.zeros(120), np.exp(rng.uniform(-1, 1, 120))
    best[rng.choice(d, 5, replace=False)] = rng.choice([-1, 1], 5) * rng.uniform(0.5, 1.5, 5)

    def fun(x):
        always(np.abs(convex.prox(x, 1.0) - x).max() <= 1e-12)
        return 0.5 * float(weights @ (x - best) ** 2)

    x = np.zeros(d)
    for _ in range(3000):
        x = convex.prox(np.where(best != 0, x - weights * (x - best) / weights.max(), 0.0), 1.0)
    reference, start = fun(x), fun(np.zeros(d))
    constraint = TwoStep(sparse=Sparse(5), convex=convex)
    target = reference + 1e-5 * (start - reference)
    result = minimize(
        fun, np.zeros(d), constraint=constraint, target=target, max_queries=400, rng=seed
    )
    always(constraint.contains(result.x))
    assert result.fun <= target
    assert result.nfev <= 120


def test_a_box_in_two_steps_is_a_sparse_box():
    best = np.zeros(100)
    best[[4, 50, 77]] = [1.0, -2.0, 0.3]

    def queries(constraint):
        result = minimize(
            lambda x: float(((x - best) ** 2).sum()),
            np.zeros(100),
            constraint=constraint,
            max_queries=60,
            rng=0,
        )
        return result.nfev, result.fun

    assert queries(TwoStep(sparse=Sparse(3), convex=Box(-1, 1))) == queries(SparseBox(3, -1, 1))


EDGES = [[i, i + 1] for i in range(19)]


@pytest.mark.parametrize(
    "sparse",
    [
        GroupSparse(k=2, size=4),
        GroupSparse(k=2, size=4, per_group=2),
        TreeSparse(4, [-1, *(i // 2 for i in range(19))]),
        GraphSparse(4, EDGES),
        Sparse(3, always=[0]),
    ],
    ids=str,
)
@most_seeds
def test_other_sparse_sets_within_a_ball(seed, sparse):
    constraint, rng = TwoStep(sparse=sparse, convex=L2Ball(1.0)), np.random.default_rng(4)
    best = 2 * constraint.prox(rng.standard_normal(20), 1.0)
    result = minimize(
        lambda x: float(((x - best) ** 2).sum()),
        np.zeros(20),
        constraint=constraint,
        max_queries=300,
        rng=seed,
    )
    always(constraint.contains(result.x))
    nearest = best / np.linalg.norm(best)
    assert result.fun <= float(((nearest - best) ** 2).sum()) * (1 + 1e-4)


@most_seeds
def test_small_entries_are_avoided_in_noise(seed):
    rng, best = np.random.default_rng(seed), np.zeros(60)
    best[[1, 7, 12]] = [0.9, 0.35, -0.6]
    constraint = Semicontinuous(3, at_least=0.5)
    result = minimize(
        lambda x: float(((x - best) ** 2).sum() + 0.02 * rng.standard_normal()),
        np.zeros(60),
        constraint=constraint,
        max_queries=1000,
        rng=seed,
    )
    always(constraint.contains(result.x))
    assert float(((result.x - best) ** 2).sum()) < 0.1  # of 1.29, where 0.0225 is the least


def test_a_solve_that_ends_outside_the_set_is_no_answer(monkeypatch):
    sqp = importlib.import_module("szoht.algorithms.auto.restricted.sqp")
    monkeypatch.setattr(sqp, "CHOICES", 0)
    groups = tuple((np.arange(9) % 3).tolist())
    constraint = SparseSimplex(4, at_least=0.15, at_most=0.4, groups=groups, per_group=2)
    for seed in range(3):
        start = constraint.prox(np.zeros(9), 1.0)
        result = minimize(
            variance(seed, 9)[0], start, constraint=constraint, max_queries=800, rng=seed
        )
        assert constraint.contains(result.x)


def functions(d):
    """Return functions without slopes, or with noise."""
    rng = np.random.default_rng(0)
    best = np.zeros(d)
    best[[1, 7, 12]] = [0.7, 0.2, 0.4]
    return {
        "noise": lambda x: float(((x - best) ** 2).sum() + 0.01 * rng.standard_normal()),
        "steps": lambda x: float(np.floor(40 * ((x - best) ** 2).sum())),
        "kinks": lambda x: float(np.abs(x - best).sum()),
        "failures": lambda x: float("nan") if x[3] > 0.05 else float(((x - best) ** 2).sum()),
        "flat": lambda x: 1.0,
    }


@pytest.mark.parametrize("name", functions(20))
@pytest.mark.parametrize(
    "constraint",
    [
        Semicontinuous(3, at_least=0.3, low=-1.0, high=1.0),
        SparseSimplex(
            4, at_least=0.1, at_most=0.5, groups=tuple((np.arange(20) % 5).tolist()), per_group=2
        ),
        TwoStep(sparse=Sparse(3), convex=L1Ball(1.0)),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_every_answer_is_in_the_set(constraint, name):
    fun, start = functions(20)[name], constraint.prox(np.zeros(20), 1.0)
    for budget in (9, 150):
        result = minimize(
            fun, start, constraint=constraint, max_queries=budget, rng=1, on_error="skip"
        )
        assert constraint.contains(result.x)
        assert result.nfev <= budget
