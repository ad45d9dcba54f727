"""Bounds on expansivity hold on random points, and are unknown where nothing is known."""

import numpy as np
import pytest

from szoht.operators import (
    Box,
    GraphSparse,
    GroupSparse,
    L1Ball,
    LowRank,
    Semicontinuous,
    SoftThreshold,
    Sparse,
    SparseBox,
    SparseIn,
    SparseSimplex,
    TreeSparse,
    TwoStep,
    expansivity_bound,
)

GOLDEN = (1 + np.sqrt(5)) / 2
PARENTS = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 3, -1, 10]

KNOWN = [
    (Box(low=-1.0, high=0.5), 1.0),
    (L1Ball(0.7), 1.0),
    (Sparse(3), GOLDEN),
    (Sparse(11), np.sqrt(1 + (1 / 1 + np.sqrt(5)) / 2)),
    (SparseIn("dct", k=3), GOLDEN),
    (SparseIn(np.eye(12)[:, :5], k=5), 1.0),
    (TreeSparse(4, PARENTS), GOLDEN),
    (GroupSparse(k=2, groups=[[0, 1, 2], [2, 3, 4, 5], [*range(6, 12)]]), GOLDEN),
    (TreeSparse(4, PARENTS, low=0.0), 2.0),
    (SparseBox(3, low=0.0, high=1.0), 2.0),
    (LowRank(1, shape=(3, 4)), 2.0),
    (SparseSimplex(3, at_least=0.2), 2.0),
    (Semicontinuous(3, at_least=0.5), 2.0),
    (TwoStep(sparse=Sparse(3), convex=L1Ball(2.0)), GOLDEN),
]


@pytest.mark.parametrize(("operator", "bound"), KNOWN, ids=str)
def test_bounds_hold(operator, bound):
    assert expansivity_bound(operator, 12) == pytest.approx(bound)
    rng = np.random.default_rng(0)
    for _ in range(300):
        a = operator.prox(rng.standard_normal(12), 1.0)
        b = a + rng.standard_normal(12) * rng.choice([0.1, 1.0])
        moved = np.linalg.norm(operator.prox(b, 1.0) - a)
        assert moved <= bound * np.linalg.norm(b - a) * (1 + 1e-9)


@pytest.mark.parametrize(
    "operator",
    [
        GraphSparse(3, [[i, i + 1] for i in range(11)]),
        GroupSparse(k=2, groups=[[*range(5)], [*range(4, 9)], [*range(8, 12), 0]]),
        SoftThreshold(0.1),
    ],
    ids=str,
)
def test_unknown(operator):
    assert expansivity_bound(operator, 12) is None
