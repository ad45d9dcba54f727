"""Two projections in a row: in both sets, nearest for balls, conditions that are checked."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from szoht.errors import CapabilityError, ParameterTypeError
from szoht.operators import (
    Box,
    Identity,
    L1Ball,
    LowRank,
    SoftThreshold,
    Sparse,
    SparseBox,
    SparseSimplex,
    TreeSparse,
    TwoStep,
)
from szoht.theory import relaxed_expansivity, three_point_factor


def test_a_ball_gives_the_nearest_point():
    rng = np.random.default_rng(0)
    operator = TwoStep(sparse=Sparse(3), convex=L1Ball(1.5))
    operator.check(7)
    for _ in range(30):
        y = rng.standard_normal(7)
        x = operator.prox(y, 1.0)
        assert operator.contains(x)
        errors = []
        for support in combinations(range(7), 3):
            other = np.zeros(7)
            other[list(support)] = L1Ball(1.5).prox(y[list(support)], 1.0)
            errors.append(((other - y) ** 2).sum())
        assert ((x - y) ** 2).sum() == pytest.approx(min(errors))


@pytest.mark.parametrize("convex", [L1Ball(2.0), Box(low=-0.4, high=1.0), Identity()], ids=str)
def test_the_inequalities_of_the_paper(convex):
    rng = np.random.default_rng(1)
    k, k_star, d = 6, 2, 20
    operator = TwoStep(sparse=Sparse(k), convex=convex)
    operator.check(d)
    for _ in range(300):
        a = TwoStep(sparse=Sparse(k_star), convex=convex).prox(rng.standard_normal(d), 1.0)
        y = a + rng.standard_normal(d) * rng.choice([0.1, 1.0])
        v, x = Sparse(k).prox(y, 1.0), operator.prox(y, 1.0)
        rest = (1 - three_point_factor(k=k, k_star=k_star)) * ((v - a) ** 2).sum()
        bound = ((y - a) ** 2).sum() - ((x - a) ** 2).sum() + rest
        assert ((x - y) ** 2).sum() <= bound + 1e-12
        expanded = relaxed_expansivity(k=k, k_star=k_star) * np.linalg.norm(y - a)
        assert np.linalg.norm(x - a) <= expanded + 1e-12


def test_trees_in_a_box():
    operator = TwoStep(sparse=TreeSparse(2, [-1, 0, 0]), convex=Box(low=-1.0, high=1.0))
    operator.check(3)
    assert operator.k == 2
    x = operator.prox(np.array([0.5, 3.0, -2.0]), 1.0)
    assert x.tolist() == [0.5, 1.0, 0.0]
    assert operator.contains(x)
    assert not operator.contains(np.array([0.5, 2.0, 0.0]))
    assert not operator.contains(np.array([0.5, 1.0, 1.0]))


@dataclass(frozen=True)
class Halfspace:
    """Points with a sum of at most 1: convex, and its projection changes all entries."""

    def check(self, d):
        """Fits every dimension."""

    def prox(self, y, step):
        return y - max(y.sum() - 1.0, 0.0) / y.size

    def contains(self, x):
        return x.sum() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("convex", "reason"),
    [
        (SparseSimplex(3), "does not contain zero"),
        (Box(low=0.1, high=1.0), "does not contain zero"),
        (LowRank(1, shape=(3, 3)), "it is not convex"),
        (Halfspace(), "makes zeros non-zero"),
    ],
    ids=str,
)
def test_conditions_on_the_convex_set(convex, reason):
    with pytest.raises(CapabilityError, match=reason):
        TwoStep(sparse=Sparse(3), convex=convex).check(9)


def test_sets_that_make_no_sense():
    with pytest.raises(ParameterTypeError, match="`convex` must be a set"):
        TwoStep(sparse=Sparse(3), convex=SoftThreshold(1.0))
    with pytest.raises(CapabilityError, match="`sparse` must have no bounds"):
        TwoStep(sparse=SparseBox(3, low=0.0, high=1.0), convex=L1Ball(1.0))
