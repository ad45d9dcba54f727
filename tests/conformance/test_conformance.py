"""One row per part: the public conformance suite on everything we ship."""

from pathlib import Path

import numpy as np
import pytest

from szoht import Full, Minibatch, Seeds, algorithms, minimize
from szoht.algorithms.auto.structures import Coordinates, Groups, Simplex, Tree, structure_of
from szoht.algorithms.composite import Composite
from szoht.estimators import Coordinate, Exact, Gaussian, Sphere
from szoht.operators import (
    Box,
    GraphSparse,
    GroupSparse,
    Identity,
    L1Ball,
    LowRank,
    Semicontinuous,
    SoftThreshold,
    Sparse,
    SparseBox,
    SparseIn,
    SparseSimplex,
    SparseSum,
    TreeSparse,
    TwoStep,
)
from szoht.operators.forest import Forest
from szoht.schedules import Geometric, Polynomial
from szoht.testing import check_algorithm, check_estimator, check_operator, check_structure
from szoht.updates import ForwardBackward, FrankWolfe, LineSearch

PARENTS = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 3, -1, 10]
RING = [[i, (i + 1) % 12] for i in range(12)]

OPERATORS = [
    Sparse(1),
    Sparse(4),
    Sparse(12),
    Sparse(2, always=[0, 7]),
    SparseBox(2, low=-0.3, high=0.5, always=[3]),
    SparseBox(1, low=-0.3, high=0.5),
    SparseBox(4, low=0.0, high=np.inf),
    SparseBox(5, low=-np.linspace(0, 1, 12), high=np.linspace(2, 0, 12)),
    GroupSparse(k=2, size=3),
    GroupSparse(k=1, groups=[0, 1, 2] * 4),
    GroupSparse(k=2, groups=[0, 1, 1, 1, 2, 2, 0, 3, 3, 3, 3, 3]),
    GroupSparse(k=2, size=4, low=-np.linspace(0, 1, 12), high=np.linspace(2, 0, 12)),
    SparseSimplex(1),
    SparseSimplex(4),
    SparseSimplex(12, total=3.0),
    SparseSum(3),
    SparseSum(4, total=0.5, low=-0.3, high=0.6),
    SparseSimplex(4, at_least=0.15, at_most=0.4),
    SparseSimplex(6, groups=[0, 1, 2] * 4, per_group=1),
    Semicontinuous(3, at_least=0.5),
    Semicontinuous(5, at_least=np.linspace(0, 1, 12), low=0.0, high=0.7),
    GroupSparse(k=2, size=4, per_group=2, high=1.0),
    GroupSparse(k=2, groups=[[0, 1, 2, 3], [3, 4, 5], [5, 6, 7, 8], [9, 10, 11]]),
    GroupSparse(k=2, groups=[[*range(8)], [0, 1], [5, 6], [8, 9, 10, 11]], overlap="explicit"),
    GroupSparse(k=2, groups=[[*range(5)], [*range(4, 9)], [*range(8, 12), 0]]),
    TreeSparse(4, PARENTS),
    TreeSparse(12, PARENTS, low=-0.5, high=1.0),
    GraphSparse(4, RING),
    GraphSparse(5, RING, components=2, low=0.0),
    LowRank(1, shape=(3, 4)),
    LowRank(2, shape=(6, 2)),
    SparseIn("dct", k=3),
    SparseIn(np.linalg.qr(np.vander(np.linspace(-1, 1, 12), 7))[0], k=3),
    TwoStep(sparse=Sparse(3), convex=L1Ball(1.0)),
    TwoStep(sparse=TreeSparse(4, PARENTS), convex=Box(low=-0.5, high=0.5)),
    Box(low=-1.0, high=0.5),
    Box(low=np.full(12, 0.1), high=np.full(12, 0.4)),
    L1Ball(0.7),
    L1Ball(5.0),
    SoftThreshold(0.0),
    SoftThreshold(0.8),
    Identity(),
]

LONG = pytest.mark.statistical  # much like others, and slow

STRUCTURES = [
    (Sparse(1), 8),
    (Sparse(3), 40),
    (Sparse(3, always=[0, 17, 39]), 40),
    (SparseBox(2, low=-1.0, high=0.5, always=[5]), 30),
    (SparseBox(3, low=-1.0, high=0.5), 40),
    pytest.param(SparseBox(2, low=np.zeros(30), high=np.linspace(0, 3, 30)), 30, marks=LONG),
    (SparseBox(4, low=0.0, high=np.inf), 20),
    (GroupSparse(k=2, size=3), 30),
    (GroupSparse(k=2, groups=[0, 1, 1, 1, 2, 2, 0, 3, 3, 3, 3, 3]), 12),
    pytest.param(GroupSparse(k=3, groups=np.arange(60) % 20), 60, marks=LONG),
    (GroupSparse(k=2, size=4, low=-np.linspace(0, 1, 40), high=np.linspace(2, 0, 40)), 40),
    (GroupSparse(k=2, size=4, per_group=2), 20),
    (GroupSparse(k=2, groups=[[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7]]), 8),
    (SparseSum(4), 40),
    pytest.param(SparseSum(5, total=3.0), 60, marks=LONG),
    (SparseSum(6, low=-0.5, high=1.5), 40),
    (SparseSimplex(1), 8),
    (SparseSimplex(4), 40),
    pytest.param(SparseSimplex(5, total=3.0), 100, marks=LONG),
    pytest.param(SparseSimplex(12), 12, marks=LONG),
    (TreeSparse(4, np.concatenate([[-1], np.arange(30) // 2])), 31),
    (TreeSparse(3, [-1, 0, 1, 2, -1, 4, 5, -1], low=-1.0, high=2.0), 8),
    (GraphSparse(2, [[i, i + 1] for i in range(11)]), 12),
    (Semicontinuous(3, at_least=0.5), 30),
    pytest.param(
        Semicontinuous(4, at_least=np.linspace(0, 1, 40), low=-1.0, high=3.0), 40, marks=LONG
    ),
    (Semicontinuous(3, at_least=0.5, low=0.0, high=2.0), 30),
    (SparseSimplex(5, at_least=0.1, at_most=0.4), 30),
    (SparseSimplex(5, total=3.0, at_most=0.9), 30),
    pytest.param(SparseSimplex(5, at_most=0.2), 30, marks=LONG),
    (SparseSimplex(6, at_least=0.05, at_most=0.25, groups=[*range(20)] * 2, per_group=1), 40),
    (TwoStep(sparse=Sparse(3), convex=L1Ball(2.0)), 30),
    (TwoStep(sparse=Sparse(3), convex=Box(-1.0, 2.0)), 30),
    (TwoStep(sparse=GroupSparse(k=2, size=3), convex=L1Ball(1.0)), 30),
    (TwoStep(sparse=TreeSparse(4, [-1, *(i // 2 for i in range(14))]), convex=L1Ball(1.0)), 15),
]
"""Constraints that `auto` serves itself, and a dimension."""

ESTIMATORS = [
    Sphere(q=1, mu=1e-3),
    Sphere(q=4, mu=1e-3, support_size=1),
    Sphere(q=4, mu=1e-3, support_size=10),
    Sphere(q=4, mu=1e-3, support_size=20),
    Sphere(q=4, mu=1e-3, support_size=29),
    Sphere(q=4, mu=1e-3, support_size=30),
    Sphere(q=3, mu=1e-3, central=True),
    Sphere(q=3, mu=1e-3, support_size=7, central=True),
    Sphere(q=30, mu=1e-3, orthogonal=True),
    Sphere(q=12, mu=1e-3, orthogonal=True),
    Sphere(q=40, mu=1e-3, support_size=7, orthogonal=True),
    Sphere(q=3, mu=1e-3, support_size=7, orthogonal=True),
    Sphere(q=Geometric(start=1, ratio=1.5, high=6), mu=Polynomial(start=1e-3)),
    Gaussian(q=3, mu=1e-3),
    Gaussian(q=3, mu=1e-3, central=True),
    Coordinate(mu=1e-3),
    Coordinate(mu=1e-3, central=True),
    Coordinate(mu=1e-3, count=4),
    Exact(),
]

# algorithm, number of components of the finite sum
ALGORITHMS = [
    (algorithms.szoht(k=3, q=12), None),
    (algorithms.szoht(k=3, d=30), None),
    (algorithms.szoht(k=3, q=12, step_size=0.2), None),
    (algorithms.szoht(k=3, q=40, step_size=0.2, support_size=1), None),
    (algorithms.szoht(k=3, q=12, step_size=0.2, support_size=10), None),
    (algorithms.szoht(k=3, q=12, step_size=0.2, central=True, mu=1e-3), None),
    (algorithms.szoht(k=3, q=12, central=True, iterate="last", mu=1e-3), None),
    (algorithms.szoht(k=3, q=30, step_size=0.5, orthogonal=True), None),
    (algorithms.szoht(constraint=SparseBox(3, low=-1.0, high=0.9), q=12), None),
    (algorithms.szoht(constraint=GroupSparse(k=3, size=2), q=12), None),
    (algorithms.szoht(constraint=GroupSparse(k=3, size=3, per_group=2), q=12), None),
    (algorithms.szoht(constraint=TreeSparse(6, np.arange(30) // 2 - 1), q=12), None),
    (algorithms.szoht(constraint=LowRank(2, shape=(5, 6)), q=12), None),
    (algorithms.szoht(constraint=SparseIn("dct", k=10), q=12), None),
    (algorithms.szoht(constraint=TwoStep(sparse=Sparse(3), convex=L1Ball(9.0)), q=12), None),
    (algorithms.szoht(k=3, q=12, step_size=0.2, sampler=Minibatch(size=2)), 10),
    (algorithms.szoht(k=3, q=12, sampler=Minibatch(size=2, replace=True)), 10),
    (algorithms.szoht(k=3, q=12, sampler=Full()), 10),
    (algorithms.truncated_zsgd(k=3, d=30), None),
    (algorithms.truncated_zsgd(k=3, q=1, step_size=0.03, iterate="last"), None),
    (algorithms.truncated_zsgd(k=3, q=1, step_size=0.03, iterate="best"), None),
    (algorithms.truncated_zsgd(k=3, q=1, step_size=0.03, iterate="average"), None),
    (algorithms.iht(k=3), None),
    (algorithms.iht(k=3, step_size=1.0), None),
    (algorithms.hzo_ht(k=3, q=8), None),
    (algorithms.momentum_szoht(k=3, q=8), None),
    (algorithms.zo_adamm(k=3, q=20), None),
    (algorithms.rspgf(penalty=1e-3, q=20), None),
    (algorithms.rspgf(penalty=1e-3, q=20, step_size=0.3, iterate="best"), None),
    (algorithms.rspgf(penalty=1e-3, q=20, step_size=0.3, iterate="random"), None),
    (algorithms.zscg(radius=2.2, q=60), None),
    (
        algorithms.zscg(radius=2.2, q=60, variant="accelerated", horizon=60, distance=3.0),
        None,
    ),
    (algorithms.zo_projected_gradient(radius=2.2, q=40), None),
    (algorithms.zoro(k=3, d=30), None),
    (algorithms.zoro(penalty=1e-3, sparsity=5, step_size=0.5), None),
    (algorithms.ada_zoro(k=3), None),
    (algorithms.ada_zoro(penalty=1e-3, step_size=0.5), None),
    (algorithms.sketch_ht(k=3), None),
    (algorithms.sketch_ht(k=3, step_size=0.3, buckets=5), None),
    (algorithms.sketch_ht(k=3, sampler=Full()), 10),
    (algorithms.auto(k=3), None),
    (algorithms.auto(k=3), 10),
    (algorithms.auto(constraint=SparseBox(3, low=-1.0, high=0.9)), None),
    (algorithms.auto(constraint=GroupSparse(k=3, size=2, low=-1.0, high=1.0), d=30), None),
    (algorithms.auto(constraint=GroupSparse(k=3, size=2)), 10),
    (algorithms.auto(constraint=L1Ball(2.2), d=30), None),
    (algorithms.vr_szht(k=3, q=20, step_size=0.2), 10),
    (algorithms.vr_szht(k=3, q=20, step_size=0.2, snapshot=Coordinate(mu=1e-6)), 10),
    (algorithms.sarah_szht(k=3, q=20, step_size=0.2), 10),
    (algorithms.saga_szht(k=3, q=20, step_size=0.2), 10),
    (algorithms.saga_szht(k=3, q=20, step_size=0.2, batch_size=3, initial_q=50), 10),
    (algorithms.stoiht(k=3), 10),
    (algorithms.stoiht(k=3, step_size=0.5, sampler=Minibatch(size=3)), 10),
    (
        Composite(
            estimator=Coordinate(mu=1e-6),
            update=FrankWolfe(operator=L1Ball(2.2)),
        ),
        None,
    ),
    (
        Composite(
            estimator=Sphere(q=12, mu=1e-6),
            update=LineSearch(operator=SoftThreshold(1e-3)),
        ),
        None,
    ),
    (
        Composite(
            estimator=Exact(),
            update=ForwardBackward(operator=Identity(), step_size=Polynomial(start=0.5)),
        ),
        None,
    ),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_operator(operator):
    check_operator(operator, d=12)


@pytest.mark.parametrize(("operator", "d"), STRUCTURES, ids=str)
def test_structure(operator, d):
    groups = isinstance(operator, GroupSparse) and operator.limited
    approximate = groups or isinstance(operator, GraphSparse)
    check_structure(structure_of(operator, d), factor=0.5 if approximate else 1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_estimator(estimator):
    check_estimator(estimator, d=30)


@pytest.mark.parametrize(("algorithm", "n_samples"), ALGORITHMS, ids=str)
def test_algorithm(algorithm, n_samples):
    check_algorithm(algorithm, d=30, n_samples=n_samples)


# units change as a whole, so the first of two may not change much
PAIRS = GroupSparse(k=3, size=2, low=-np.tile([0.1, 1.0], 15), high=np.tile([0.1, 1.0], 15))

# one query per iteration: they need more of them
SEARCHES = [
    (algorithms.sparse_rs(constraint=SparseBox(3, low=-1.0, high=1.0)), None),
    (algorithms.sparse_rs(constraint=PAIRS), None),
    (algorithms.sparse_rs(constraint=SparseBox(3, low=-1.0, high=1.0)), 10),
    (algorithms.corner_search(constraint=SparseBox(3, low=-1.0, high=1.0)), None),
    (
        algorithms.corner_search(
            constraint=SparseBox(3, low=-1.0, high=1.0),
            grid=np.arange(30).reshape(2, 3, 5),
            smooth=0.2,
        ),
        None,
    ),
    (algorithms.corner_search(constraint=PAIRS), None),
    pytest.param(
        algorithms.corner_search(constraint=SparseBox(3, low=-1.0, high=1.0)), 10, marks=LONG
    ),
]


@pytest.mark.parametrize(("algorithm", "n_samples"), SEARCHES, ids=str)
def test_search(algorithm, n_samples):
    check_algorithm(algorithm, d=30, n_samples=n_samples, iterations=400)


def test_every_named_algorithm_has_a_row():
    source = Path(__file__).read_text()
    assert [name for name in algorithms.METHODS if f"algorithms.{name}(" not in source] == []


class ScaledSphere(Sphere):
    """Wrong by a factor, as one finds in the wild."""

    def combine(self, plan, answers, memory):
        estimate, memory = super().combine(plan, answers, memory)
        return type(estimate)(
            gradient=estimate.gradient * 0.9,
            value=estimate.value,
            measured=True,
        ), memory


class ThresholdThenClip(SparseBox):
    """The common mistake: not the projection."""

    def prox(self, y, step):
        return np.clip(Sparse(self.k).prox(y, step), self.low, self.high)


class WorseThanZero(GraphSparse):
    """Says that it is approximate, and returns what is worse than nothing."""

    def prox(self, y, step):
        return y.copy() if self.contains(y) else np.where(np.arange(y.size) == 0, 99.0, 0.0)


class TooFew(Sparse):
    """Keeps k - 1 entries."""

    def prox(self, y, step):
        return Sparse(max(1, self.k - 1)).prox(y, step)


def test_the_suite_finds_a_wrong_scale():
    with pytest.raises(AssertionError, match="biased"):
        check_estimator(ScaledSphere(q=10, mu=1e-3), d=30)


@pytest.mark.parametrize("operator", [ThresholdThenClip(3, low=-0.1, high=0.2), TooFew(3)])
def test_the_suite_finds_a_wrong_projection(operator):
    with pytest.raises(AssertionError, match="nearest"):
        check_operator(operator, d=12)


def test_the_suite_finds_what_is_no_approximation():
    with pytest.raises(AssertionError, match="zero is nearer"):
        check_operator(WorseThanZero(4, RING), d=12)


class AtTheBound(Coordinates):
    """Probes from where it is, though that is at a bound."""

    def base(self, z, length):
        return z


class HalfGroups(Groups):
    """Drops single coordinates instead of groups."""

    def prune(self, z, curvature, size):
        return np.where(np.abs(z) >= np.sort(np.abs(z))[-size], z, 0.0)


class Greedy(Groups):
    """Takes the groups of the largest single slopes."""

    def head(self, slopes, size, without):
        score = np.abs(slopes)
        score[without] = 0.0
        return self.whole(np.argsort(-score)[:size])


class Unnormalized(Simplex):
    """Forgets that weights sum to one."""

    def to_x(self, z):
        return np.maximum(z, 0.0)


class Slopes(Simplex):
    """Takes slopes up to a constant for those towards the vertices."""

    def slopes(self, z, recovery):
        return Coordinates.slopes(self, z, recovery)


class Loose(Tree):
    """Keeps the largest entries, whether they are connected or not."""

    def kept(self, atoms, worth, size):
        return Coordinates.kept(self, atoms, worth, size)


class FarOff(Tree):
    """Takes the steepest coordinates, wherever they are."""

    def head(self, slopes, size, without):
        return Coordinates.head(self, slopes, size, without)


BINARY = Forest(np.concatenate([[-1], np.arange(30) // 2]))
BOX = {"x_low": np.zeros(40), "x_high": np.ones(40), "has_units": True}


@pytest.mark.parametrize(
    ("structure", "complaint"),
    [
        (AtTheBound(d=40, size=3, **BOX), "from `base` must stay inside"),
        (HalfGroups(d=40, size=3, members=np.arange(40) // 4), "lose the smallest atoms"),
        (Greedy(d=40, size=3, members=np.arange(40) // 4), "are better"),
        (Unnormalized(d=40, size=3), "keep bounds for any z"),
        (Slopes(d=40, size=3), "those along the axes"),
        (Loose(d=31, size=4, forest=BINARY), "may be an answer"),
        (FarOff(d=31, size=4, forest=BINARY), "must take whole atoms"),
    ],
)
def test_the_suite_finds_a_wrong_structure(structure, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_structure(structure)


class Ascent(ForwardBackward):
    """Steps the wrong way."""

    def step(self, x, estimate, t, memory):
        return self.operator.prox(x + 0.2 * estimate.gradient, 0.2), memory


class Unprojected(ForwardBackward):
    """Forgets the operator."""

    def step(self, x, estimate, t, memory):
        return x - 0.2 * estimate.gradient, memory


@pytest.mark.parametrize(
    ("update", "complaint"), [(Ascent, "no progress"), (Unprojected, "infeasible")]
)
def test_the_suite_finds_a_wrong_update(update, complaint):
    broken = update(operator=Sparse(3), step_size=0.2)
    with pytest.raises(AssertionError, match=complaint):
        check_algorithm(Composite(estimator=Sphere(q=12, mu=1e-6), update=broken), d=30)


def test_seeds_reach_the_objective():
    seen = []

    def fun(x, sample):
        seen.append(tuple(sample))
        noise = np.random.default_rng(sample).standard_normal()
        return float(((x - 1) ** 2).sum()) + 0.01 * noise

    minimize(
        fun,
        np.zeros(4),
        k=2,
        stochastic=True,
        method="szoht",
        options={"q": 3, "mu": 1e-6, "step_size": 0.1, "sampler": Seeds(size=2)},
        max_iterations=5,
        rng=0,
    )
    # four points per iteration share one sample; five iterations and a last measurement
    assert [len(set(seen[4 * t : 4 * t + 4])) for t in range(5)] == [1] * 5
    assert len(set(seen)) == 6
