"""Groups and weights: queries to a target, feasibility of every point, honest endings."""

from itertools import combinations

import numpy as np
import pytest

from interrupts import interrupted
from outcomes import always, most_seeds
from szoht import GroupSparse, Sparse, SparseSimplex, SparseSum, minimize, resume
from szoht.algorithms import auto
from szoht.algorithms.auto.structures import structure_of
from szoht.operators import (
    GraphSparse,
    L1Ball,
    LowRank,
    Semicontinuous,
    SparseIn,
    TreeSparse,
    TwoStep,
)

D, SIZE = 300, 10


def grouped(seed, kind="quadratic", s=2):
    """Return a function of s of 30 groups, and where it is least."""
    rng = np.random.default_rng(seed)
    best = np.zeros(D)
    for group in rng.choice(D // SIZE, s, replace=False):
        inside = slice(SIZE * group, SIZE * (group + 1))
        best[inside] = rng.choice([-1, 1], SIZE) * rng.uniform(0.5, 1.5, SIZE)
    if kind == "quadratic":
        return (lambda x: 0.5 * float(((x - best) ** 2).sum())), best
    design = rng.standard_normal((100, D))
    return (lambda x: 0.5 * float(((design @ (x - best)) ** 2).mean())), best


def weighted(seed, d=300, k=6, total=1.0):
    """Return a function of weights, least at k of them, and a start with k others."""
    rng = np.random.default_rng(seed)
    best, x0 = np.zeros(d), np.zeros(d)
    best[rng.choice(d, k, replace=False)] = total * rng.dirichlet(np.full(k, 5.0))
    x0[:k] = total / k
    scale = np.exp(rng.uniform(-0.5, 0.5, d))
    return (lambda x: float(scale @ (x - best) ** 2)), x0


@pytest.mark.parametrize(("kind", "most"), [("quadratic", 60), ("regression", 900)])
@most_seeds
def test_groups_are_found(kind, most, seed):
    fun, best = grouped(seed, kind)
    result = minimize(
        fun,
        np.zeros(D),
        constraint=GroupSparse(k=2, size=SIZE),
        target=1e-3 * fun(np.zeros(D)),
        max_queries=2000,
        rng=seed,
    )
    assert result.nfev <= most
    assert set(result.support // SIZE) == set(np.flatnonzero(best) // SIZE)


@most_seeds
def test_rows_tell_neighbors_in_a_group_apart(seed):
    # with rows of a Hadamard matrix in the order of the coordinates, 41 rows and those held out
    # agreed on slopes that were off by 0.58
    rng = np.random.default_rng(3)
    best = np.zeros(1000)
    for group in rng.choice(100, 3, replace=False):
        inside = slice(10 * group, 10 * group + 10)
        best[inside] = rng.choice([-1, 1], 10) * rng.uniform(0.5, 1.5, 10)
    result = minimize(
        lambda x: 0.5 * float(((x - best) ** 2).sum()),
        np.zeros(1000),
        constraint=GroupSparse(k=3, size=10),
        target=1e-6,
        max_queries=8000,
        rng=seed,
    )
    assert result.nfev <= 120


@most_seeds
def test_small_groups_cost_no_more_than_coordinates(seed):
    fun, _ = grouped(seed + 1)
    pairs = [
        minimize(
            fun, np.zeros(D), constraint=constraint, target=1e-6, max_queries=2000, rng=seed
        ).nfev
        for constraint in (GroupSparse(k=10, size=2), Sparse(20))
    ]
    assert pairs[0] <= 1.05 * pairs[1]


@pytest.mark.parametrize("kind", ["quadratic", "regression"])
@most_seeds
def test_groups_stay_within_bounds(seed, kind):
    fun, _ = grouped(4, kind)
    low, high = -np.linspace(0, 1, D), np.linspace(0.2, 0.8, D)

    def watched(x):
        always((x >= low).all())
        always((x <= high).all())
        return fun(x)

    constraint = GroupSparse(k=2, size=SIZE, low=low, high=high)
    result = minimize(
        watched, np.zeros(D), constraint=constraint, max_queries=900, rng=seed, on_error="raise"
    )
    always(constraint.contains(result.x))
    assert result.fun < fun(np.zeros(D))


def functions(d):
    rng = np.random.default_rng(0)
    returns = 0.01 * rng.standard_t(4, (60, d))
    return {
        "smooth": lambda x: float(((x - 0.3) ** 2) @ np.arange(1, d + 1)),
        "linear": lambda x: float(x @ np.arange(d)),
        "kinks": lambda x: float(np.abs(x - 1 / d).sum()),
        "drawdown": lambda x: -float(np.cumsum(returns @ x).min()),
        "steps": lambda x: float(np.floor(20 * (x**2).sum())),
        "logarithms": lambda x: -float(np.log(x + 1e-3).sum()),
        "fresh noise": lambda x: float((x**2).sum() + 0.01 * rng.standard_normal()),
        "a fixed error": lambda x: float((x**2).sum() + 1e-3 * np.sin(1e7 * x @ np.arange(d))),
    }


@pytest.mark.parametrize(("d", "k", "total"), [(1, 1, 7.0), (6, 1, 1.0), (6, 6, 7.0), (50, 4, 1.0)])
@pytest.mark.parametrize("name", functions(2))
def test_no_point_is_off_the_simplex(name, d, k, total):
    fun = functions(d)[name]
    x0 = np.zeros(d)
    x0[:k] = total / k

    def watched(x):
        assert abs(x.sum() - total) <= 1e-12 * total
        assert (x >= 0).all()
        return fun(x / total)

    constraint = SparseSimplex(k, total=total)
    for budget in (12, 60, 250):
        result = minimize(
            watched, x0, constraint=constraint, max_queries=budget, rng=0, on_error="raise"
        )
        assert constraint.contains(result.x)


@pytest.mark.parametrize("total", [1.0, 5.0])
@most_seeds
def test_weights_are_found(seed, total):
    fun, x0 = weighted(seed, total=total)
    result = minimize(
        fun,
        x0,
        constraint=SparseSimplex(6, total=total),
        target=1e-3 * fun(x0),
        max_queries=2000,
        rng=seed,
    )
    assert result.nfev <= 130


@most_seeds
def test_many_weights_vanish_at_once(seed):
    # the start and the minimum have no weight in common
    best, x0 = np.zeros(200), np.zeros(200)
    best[100:110], x0[:10] = 0.1, 0.1
    result = minimize(
        lambda x: float(((x - best) ** 2).sum()),
        x0,
        constraint=SparseSimplex(10),
        target=1e-12,
        max_queries=300,
        rng=seed,
    )
    assert result.fun <= 1e-12
    assert result.support.tolist() == list(range(100, 110))


@pytest.mark.parametrize("error", ["fresh", "fixed"])
@most_seeds
def test_groups_under_noise_end_without_a_false_claim(seed, error):
    fun, _ = grouped(2)
    rng = np.random.default_rng(seed)

    def noisy(x):
        off = rng.standard_normal() if error == "fresh" else np.sin(1e7 * x @ np.arange(D))
        return fun(x) + 0.01 * off

    constraint = GroupSparse(k=2, size=SIZE)
    result = minimize(noisy, np.zeros(D), constraint=constraint, max_queries=800, rng=seed)
    always(constraint.contains(result.x))
    assert fun(result.x) < 0.5 * fun(np.zeros(D))
    assert result.status.name in {"EXHAUSTED", "QUERIES"}


@pytest.mark.parametrize(
    "constraint", [GroupSparse(k=2, size=3), SparseSimplex(3)], ids=["groups", "simplex"]
)
def test_a_flat_function_is_no_success(constraint):
    x0 = np.zeros(30)
    x0[:3] = 1 / 3
    result = minimize(lambda x: 1.0, x0, constraint=constraint, max_queries=400, rng=0)
    assert result.status.name == "CONSTANT"
    assert constraint.contains(result.x)


@pytest.mark.parametrize(
    "constraint", [GroupSparse(k=2, size=SIZE), SparseSimplex(4)], ids=["groups", "simplex"]
)
def test_a_stored_run_goes_on_as_if_it_had_not_stopped(constraint, tmp_path):
    x0 = np.zeros(D)
    x0[:4] = 0.25
    settings = {"constraint": constraint, "max_queries": 200, "rng": 0}
    whole = minimize(Stopped(), x0, **settings)
    interrupted(minimize, Stopped(at=120), x0, store=tmp_path / "run", **settings)
    rest = resume(tmp_path / "run", Stopped())
    assert (rest.nfev, rest.fun) == (whole.nfev, whole.fun)


class Stopped:
    """A function that is interrupted at some call."""

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return float((1 + np.arange(D) % 7) @ (x - 0.01) ** 2)


@most_seeds
def test_a_finite_sum_over_groups(seed):
    _, best = grouped(5, "regression")
    rng = np.random.default_rng(0)
    design = rng.standard_normal((400, D))

    def component(x, sample):
        return float(0.5 * ((design[sample] @ (x - best)) ** 2).mean())

    result = minimize(
        component,
        np.zeros(D),
        constraint=GroupSparse(k=2, size=SIZE),
        n_samples=400,
        max_queries=300_000,
        target=1e-3,
        rng=seed,
    )
    assert set(result.support // SIZE) == set(np.flatnonzero(best) // SIZE)


@pytest.mark.parametrize(
    "constraint",
    [
        L1Ball(1.0),
        TwoStep(sparse=Semicontinuous(2, at_least=0.1), convex=L1Ball(1.0)),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_a_constraint_that_is_handed_over_is_named(constraint):
    result = minimize(
        lambda x: float(((x - 1) ** 2).sum()),
        constraint.prox(np.zeros(5), 1.0),
        constraint=constraint,
        max_queries=50,
        rng=0,
    )
    assert type(constraint).__name__ in result.explain[0]
    assert "handed to `szoht`" in result.explain[0]
    assert constraint.contains(result.x)


@pytest.mark.parametrize(
    ("constraint", "name"),
    [
        (GroupSparse(k=1, size=2), "Auto"),
        (GroupSparse(k=1, size=2, per_group=1), "Auto"),
        (SparseSimplex(2), "Auto"),
        (SparseSimplex(2, at_least=0.2), "Auto"),
        (Semicontinuous(2, at_least=0.5), "Auto"),
        (TwoStep(sparse=Sparse(2), convex=L1Ball(1.0)), "Auto"),
        (TreeSparse(2, [-1, 0, 0]), "Auto"),
        (GraphSparse(2, [[0, 1], [1, 2]]), "Auto"),
        (LowRank(1, (2, 3)), "AutoLowRank"),
        (SparseIn("dct", 2), "AutoTransformed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_served_is_not_handed_over(constraint, name):
    assert type(auto(constraint=constraint)).__name__ == name


def test_large_groups_are_not_preferred_for_their_size():
    members = np.repeat([0, 1], [90, 10])
    slopes = np.random.default_rng(0).standard_normal(100)
    slopes[90:] *= 2.5
    structure = structure_of(GroupSparse(k=1, groups=members), 100)
    assert (slopes[:90] ** 2).sum() > (slopes[90:] ** 2).sum()
    nothing = np.empty(0, dtype=np.intp)
    assert structure.head(slopes, 1, nothing).tolist() == list(range(90, 100))


def test_free_coordinates_are_no_atoms():
    structure = structure_of(Sparse(2, always=[0, 3]), 8)
    z = np.array([5.0, 1.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    assert structure.active(z).tolist() == [0, 1, 2, 3, 4]
    assert [atom.tolist() for atom in structure.atoms(structure.active(z))] == [[1], [2], [4]]
    assert structure.prune(z, None, 2).tolist() == [5.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    steepest = structure.head(np.arange(8.0)[::-1].copy(), 2, np.empty(0, dtype=np.intp))
    assert steepest.tolist() == [1, 2]
    assert not structure.contains(z)
    assert structure.contains(np.array([5.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]))


def variance(seed, d=10):
    rng = np.random.default_rng(seed)
    returns = rng.standard_normal((60, d)) * np.exp(rng.uniform(-0.5, 0.5, d))
    covariance = np.cov((returns + 3 * rng.standard_normal((60, 1)) * rng.uniform(0.5, 1.5, d)).T)
    return (lambda x: float(x @ covariance @ x)), covariance


@most_seeds
def test_weights_of_either_sign(seed):
    fun, covariance = variance(seed)
    least = min(
        1 / float(np.linalg.inv(covariance[np.ix_(chosen, chosen)]).sum())
        for chosen in combinations(range(10), 3)
    )
    result = minimize(
        fun, np.eye(10)[0], constraint=SparseSum(3), target=least * (1 + 1e-6), rng=seed
    )
    assert result.success
    assert result.nfev < 1_500
    assert result.x.min() < 0


@most_seeds
def test_every_point_has_the_sum_and_keeps_the_bounds(seed):
    fun, covariance = variance(3)
    seen = []

    def watched(x):
        seen.append(x.copy())
        return fun(x)

    constraint = SparseSum(4, total=2.0, low=-0.3, high=1.1)
    start = constraint.prox(np.ones(10), 1.0)
    result = minimize(watched, start, constraint=constraint, max_queries=600, rng=seed)
    points = np.array(seen)
    always(np.abs(points.sum(axis=1) - 2).max() < 1e-9)
    always(-0.3 - 1e-12 <= points.min() <= points.max() <= 1.1 + 1e-12)
    always(constraint.contains(result.x))
    best = minimize(
        fun, start, constraint=constraint, gradient=lambda x: 2 * covariance @ x, rng=seed
    )
    assert best.fun <= result.fun * (1 + 1e-6)


@most_seeds
def test_a_sum_of_zero_is_handed_over(seed):
    fun, _ = variance(4)
    constraint = SparseSum(3, total=0.0)
    result = minimize(
        lambda x: fun(x) + x[0] - x[1],
        np.zeros(10),
        constraint=constraint,
        max_queries=500,
        rng=seed,
    )
    always(abs(result.x.sum()) < 1e-9)
    assert result.fun < 0
    assert "handed" in result.explain[0] or "szoht" in result.explain[0]
