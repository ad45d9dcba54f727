"""Sparse points within bounds against brute force over all supports."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from operators.strategies import vectors
from reference.hard_thresholding import project_sparse_box
from szoht.errors import ParameterError
from szoht.operators import SparseBox


@given(vectors, st.integers(1, 8), st.floats(0, 3), st.floats(0, 3))
@settings(deadline=None)
def test_sparse_box_is_the_nearest_point(y, k, low, high):
    d = len(y)
    ours = SparseBox(k, low=-low, high=high).prox(y, 1.0)
    best = project_sparse_box(y, k, np.full(d, -low), np.full(d, high))
    assert np.count_nonzero(ours) <= k
    distance, least = ((ours - y) ** 2).sum(), ((best - y) ** 2).sum()
    assert distance <= least * (1 + 1e-12)


@given(vectors, st.integers(1, 8), st.data())
@settings(deadline=None)
def test_weighted_projections_are_nearest_in_the_weighted_norm(y, k, data):
    weights = data.draw(arrays(np.float64, len(y), elements=st.floats(0.1, 10)))
    operator = SparseBox(k, low=-1.5, high=0.5)

    def distance(x):
        return (weights * (x - y) ** 2).sum()

    ours = operator.weighted_prox(y, 1.0, weights)
    assert operator.contains(ours)
    kept = (
        np.isin(np.arange(len(y)), support)
        for support in combinations(range(len(y)), min(k, len(y)))
    )
    least = min(distance(np.where(inside, np.clip(y, -1.5, 0.5), 0.0)) for inside in kept)
    assert distance(ours) <= least * (1 + 1e-12)


def test_threshold_then_clip_is_not_the_projection():
    y = np.array([5.0, 0.7])
    box = SparseBox(1, low=[0.0, 0.0], high=[0.01, 1.0])
    assert np.array_equal(box.prox(y, 1.0), [0.0, 0.7])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SparseBox(2, low=0.1, high=1.0), ParameterError, "low <= 0 <= high"),
        (lambda: SparseBox(2, low=[0.0, 0.0], high=1.0).check(3), ParameterError, r"got \(2,\)"),
    ],
)
def test_bad_parameters_name_the_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_sparse_box_ranks_tiny_and_huge_entries():
    box = SparseBox(1, low=-np.inf, high=np.inf)
    assert np.array_equal(box.prox(np.array([1e-170, 2e-170]), 1.0), [0, 2e-170])
    assert np.array_equal(box.prox(np.array([1e200, 2e200]), 1.0), [0, 2e200])
