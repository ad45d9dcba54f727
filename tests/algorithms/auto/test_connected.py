"""Subtrees and connected graphs: queries to a target, feasibility of every answer."""

import sys

import numpy as np
import pytest

from operators.graphs import grid
from outcomes import always, most_seeds
from szoht import GraphSparse, GroupSparse, Sparse, Status, TreeSparse, minimize
from szoht.algorithms.auto.records import EvaluatedPoint
from szoht.algorithms.auto.restricted.goal import Solution
from szoht.algorithms.auto.sensing.blocks import connected_sets, explaining_sets, small_sets
from szoht.algorithms.auto.structures import structure_of
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, PermutedRows, RowSlice
from szoht.problems.structured import structured

TREE = np.concatenate([[-1], np.arange(510) // 2])
SIDE = 20


def grown(structure, k, seed):
    """Return k random coordinates, each next to one before."""
    rng = np.random.default_rng(seed)
    support = np.empty(0, dtype=np.intp)
    while support.size < k:
        support = np.union1d(support, rng.choice(structure.next_to(support), 1))
    return support


def problem(constraint, d, seed, kind="quadratic"):
    """Return a function of k connected coordinates, and its minimizer."""
    rng = np.random.default_rng(seed)
    best = np.zeros(d)
    support = grown(structure_of(constraint, d), constraint.k, seed)
    best[support] = rng.choice([-1, 1], support.size) * rng.uniform(0.5, 1.5, support.size)
    if kind == "quadratic":
        return (lambda x: 0.5 * float(((x - best) ** 2).sum())), best
    scale = np.exp(rng.uniform(-0.7, 0.7, d))
    return (lambda x: float(scale @ (np.logaddexp(x - best, best - x) - np.log(2)))), best


def queries(fun, d, constraint, seed):
    result = minimize(
        fun,
        np.zeros(d),
        constraint=constraint,
        target=1e-3 * fun(np.zeros(d)),
        max_queries=3000,
        rng=seed,
    )
    always(constraint.contains(result.x))
    return result.nfev if result.status is Status.TARGET else np.inf


CONSTRAINTS = [
    pytest.param(TreeSparse(30, TREE), 511, id="tree"),
    pytest.param(GraphSparse(20, grid(SIDE, SIDE)), SIDE**2, id="grid"),
]


@pytest.mark.parametrize(("constraint", "d"), CONSTRAINTS)
@pytest.mark.parametrize(("kind", "factor"), [("quadratic", 1.4), ("log-cosh", 1.3)])
def test_connected_coordinates_take_fewer_queries(constraint, d, kind, factor):
    ours, ignored = [], []
    for seed in range(5):
        fun, _ = problem(constraint, d, seed, kind)
        ours.append(queries(fun, d, constraint, seed))
        ignored.append(queries(fun, d, Sparse(constraint.k), seed))
    assert factor * np.median(ours) <= np.median(ignored)


@pytest.mark.parametrize(("constraint", "d"), CONSTRAINTS)
@most_seeds
def test_a_value_takes_little_more_than_one_query(seed, constraint, d):
    fun, _ = problem(constraint, d, seed)
    assert queries(fun, d, constraint, seed) <= 1.4 * constraint.k + 14


def found(constraint, best, seed, max_queries=1000):
    """Return the result of a search for ``best`` from its squared distance."""
    return minimize(
        lambda x: float(((x - best) ** 2).sum()),
        np.zeros(best.size),
        constraint=constraint,
        target=1e-6,
        max_queries=max_queries,
        rng=seed,
    )


@most_seeds
def test_two_regions_are_found(seed):
    constraint = GraphSparse(12, grid(SIDE, SIDE), components=2)
    best = np.zeros(SIDE**2)
    best[[25, 26, 27, 45, 46, 65]] = [1.0, -0.5, 0.7, 0.9, -1.2, 0.4]
    best[[310, 311, 330, 331, 332, 352]] = [-1.0, 0.5, -0.7, 0.9, 1.2, 0.6]
    result = found(constraint, best, seed)
    assert result.support.tolist() == np.flatnonzero(best).tolist()
    assert result.nfev <= 60


@most_seeds
def test_a_subtree_of_equal_values_is_found(seed):
    # signs would cancel: rows over candidates have other entries
    constraint = TreeSparse(15, TREE)
    best = np.zeros(511)
    best[:15] = 1.0
    result = found(constraint, best, seed)
    assert result.support.tolist() == list(range(15))
    assert result.nfev <= 45


@most_seeds
def test_a_subtree_with_a_gap_is_found(seed):
    # node 1 has no slope: what is behind it is not found from one to the next
    constraint = TreeSparse(6, TREE)
    best = np.zeros(511)
    best[[0, 2, 3, 7, 16]] = [1.0, -1.0, 1.5, 0.8, -0.6]
    result = found(constraint, best, seed, max_queries=2000)
    np.testing.assert_allclose(result.x, best, atol=2e-3)


@pytest.mark.parametrize(
    ("fewer", "d"),
    [(TreeSparse(6, TREE[:255]), 255), (GraphSparse(5, grid(10, 10)), 100)],
    ids=["tree", "grid"],
)
@most_seeds
def test_a_dense_gradient_is_no_obstacle(seed, fewer, d):
    _, best = problem(fewer, d, 1)
    design = np.random.default_rng(0).standard_normal((80, d))
    result = minimize(
        lambda x: 0.5 * float(((design @ (x - best)) ** 2).mean()),
        np.zeros(d),
        constraint=fewer,
        target=1e-4,
        max_queries=4000,
        rng=seed,
    )
    always(fewer.contains(result.x))
    assert result.status is Status.TARGET


def functions(d):
    rng = np.random.default_rng(0)
    return {
        "smooth": lambda x: float(((x - 0.3) ** 2) @ np.arange(1, d + 1)),
        "kinks": lambda x: float(np.abs(x - 1 / d).sum()),
        "steps": lambda x: float(np.floor(20 * ((x - 0.5) ** 2).sum())),
        "flat": lambda x: 1.0,
        "fresh noise": lambda x: float(((x - 0.3) ** 2).sum() + 0.01 * rng.standard_normal()),
        "a fixed error": lambda x: float(
            ((x - 0.3) ** 2).sum() + 1e-3 * np.sin(1e7 * x @ np.arange(d))
        ),
    }


@pytest.mark.parametrize(
    ("constraint", "d"),
    [
        (TreeSparse(4, TREE[:31], low=0.0, high=0.5), 31),
        (TreeSparse(1, TREE[:15]), 15),
        (GraphSparse(3, grid(4, 4)), 16),
        (GraphSparse(3, [[0, 1], [2, 3]]), 6),
    ],
    ids=["tree in a box", "root", "grid", "apart"],
)
@pytest.mark.parametrize("name", functions(2))
def test_every_answer_is_connected(constraint, d, name):
    for budget in (12, 150):
        result = minimize(
            functions(d)[name], np.zeros(d), constraint=constraint, max_queries=budget, rng=0
        )
        assert constraint.contains(result.x)


def test_connected_sets_are_all_and_only_those():
    # a path 0 - 1 - 2 - 3 that is entered at 0, and 5 by itself
    def neighbors(i):
        return [j for j in (i - 1, i + 1) if 0 <= j <= 3] if i <= 3 else []

    sets = connected_sets(np.array([0, 1, 2, 3, 5]), [0, 5], neighbors)
    assert {tuple(np.flatnonzero(row).tolist()) for row in sets} == {
        (*range(n), *last) for n in range(5) for last in ((), (4,))
    }


def test_the_set_that_explains_rows_is_told_from_others():
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.5, 1.0, (4, 8)) * rng.choice([-1, 1], (4, 8))
    y = rows[:, [1, 4, 6]] @ [1.0, -0.5, 0.7]
    sets = small_sets(8, 3)
    chosen = explaining_sets(sets[sets.sum(axis=1) == 3], rows, y, 1e-9)
    assert [np.flatnonzero(row).tolist() for row in chosen] == [[1, 4, 6]]
    assert not len(explaining_sets(sets[sets.sum(axis=1) == 2], rows, y, 1e-9))


@most_seeds
def test_model_pursuit_needs_fewer_rows_than_coordinates_do(seed):
    structure = structure_of(TreeSparse(20, TREE), 511)
    plain = structure_of(Sparse(20), 511)
    gradient = np.zeros(511)
    support = grown(structure, 20, seed)
    gradient[support] = np.random.default_rng(seed).choice([-1.0, 1.0], 20)
    rows = PermutedRows(key=Key(seed=seed), d=511, free=np.arange(511))
    taken = RowSlice(rows=rows, start=0, count=60)
    measured = Measurements(((taken, rows.block(0, 60) @ gradient),))
    none = np.empty(0, dtype=np.intp)
    found = structure.recover(measured, none, held_out=4, noise=0.0)
    assert found.error < 1e-9
    assert np.sort(found.support).tolist() == support.tolist()
    assert plain.recover(measured, none, held_out=4, noise=0.0).error > 0.1


@most_seeds(seeds=(4, 9, 10, 11, 12))
def test_no_wrong_set_explains_rows_by_chance(seed):
    # with one row to spare, whatever the number of sets, the first two took 93 and 126 queries
    problem = structured("region", rng=seed)
    fun = problem.objective.value
    assert queries(fun, problem.dimension, problem.constraint, seed) <= 65


@pytest.mark.parametrize("kind", ["overlapping_groups", "few_per_group"])
@pytest.mark.parametrize("loss", ["squares", "log_cosh"])
@most_seeds
def test_rules_on_groups_cost_nothing(seed, kind, loss):
    problem = structured(kind, loss=loss, rng=seed + 1)
    fun, d = problem.objective.value, problem.dimension
    k = int(np.count_nonzero(problem.best_x))
    ours = queries(fun, d, problem.constraint, seed)
    assert ours <= 1.05 * queries(fun, d, Sparse(k), seed)


@pytest.mark.parametrize(
    "constraint",
    [
        GroupSparse(k=2, size=4, per_group=2),
        GroupSparse(k=2, groups=[range(i, min(i + 5, 20)) for i in range(0, 20, 3)]),
        GroupSparse(k=2, groups=[range(20), range(10), range(5)], overlap="explicit"),
    ],
    ids=["per group", "latent", "explicit"],
)
@pytest.mark.parametrize("name", functions(2))
def test_every_answer_keeps_the_rules_on_groups(constraint, name):
    for budget in (12, 150):
        result = minimize(
            functions(20)[name], np.zeros(20), constraint=constraint, max_queries=budget, rng=0
        )
        assert constraint.contains(result.x)
        assert not any("handed" in line for line in result.explain)


class Stray:
    """A move that proposes a point outside the set, and claims that it is better."""

    name = "stray"

    def propose(self, context, state):
        z = np.zeros(31)
        z[[29, 30]] = 1.0
        value = yield from context.value(z)
        return Solution(EvaluatedPoint(z, value - 100.0), None)


def test_what_a_move_proposes_outside_the_set_is_refused(monkeypatch):
    # the package's name `auto` is that of the function, so the module is looked up by its path
    descent = sys.modules["szoht.algorithms.auto.descent"]
    monkeypatch.setattr(descent, "MOVES", (Stray(),) * len(descent.MOVES))
    constraint = TreeSparse(2, TREE[:31])
    result = minimize(
        lambda x: float(((x - 0.3) ** 2).sum()),
        np.zeros(31),
        constraint=constraint,
        max_queries=150,
        rng=0,
    )
    assert constraint.contains(result.x)
