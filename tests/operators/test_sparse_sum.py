"""Sparse vectors with a given sum: the projection against all supports."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from operators.strategies import tied
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import SparseSimplex, SparseSum
from szoht.operators.sparse_sum import onto_sum

vectors = st.lists(st.floats(-3, 3) | tied, min_size=1, max_size=7).map(np.array)


def projected(y, total, low, high):
    """Return the projection by root finding."""
    reach = np.abs(y).max() + abs(total) + 10 + sum(abs(b) for b in (low, high) if np.isfinite(b))

    def excess(shift):
        return np.clip(y - shift, low, high).sum() - total

    return np.clip(y - brentq(excess, -reach, reach, xtol=1e-14), low, high)


BOXES = [(-np.inf, np.inf), (-0.5, 1.0), (-0.3, np.inf), (0.0, np.inf), (-1.0, 0.6)]


@given(vectors, st.integers(1, 4), st.sampled_from(BOXES), st.sampled_from([1.0, 0.0, -0.4]))
@example(np.array([0.0, 1.0]), 1, BOXES[0], -0.4)  # the smallest entries alone
@example(np.array([0.0, 1.0]), 1, BOXES[0], 1.0)  # the largest alone
@example(np.full(3, 0.1), 3, BOXES[0], 0.0)  # zeros but for rounding
@example(np.full(3, 2.75516543), 3, BOXES[1], 0.0)
@settings(deadline=None, max_examples=150)
def test_projections_are_nearest(y, k, box, total):
    k = min(k, len(y))
    if not k * box[0] <= total <= k * box[1]:
        return
    operator = SparseSum(k, total=total, low=box[0], high=box[1])
    x = operator.prox(y, 1.0)
    assert operator.contains(x)
    least = np.inf
    for chosen in combinations(range(len(y)), k):
        other = np.zeros(len(y))
        other[list(chosen)] = projected(y[list(chosen)], total, *box)
        least = min(least, ((other - y) ** 2).sum())
    assert ((x - y) ** 2).sum() <= least + 1e-9


@given(vectors, st.integers(1, 4))
@settings(deadline=None)
def test_without_shorts_it_is_the_simplex(y, k):
    k = min(k, len(y))
    ours, theirs = SparseSum(k, low=0.0).prox(y, 1.0), SparseSimplex(k).prox(y, 1.0)
    assert ((ours - y) ** 2).sum() == pytest.approx(((theirs - y) ** 2).sum())


def test_a_sum_at_its_bounds():
    assert onto_sum(np.array([5.0, -5.0]), 2.0, -1.0, 1.0).tolist() == [1.0, 1.0]
    assert onto_sum(np.array([5.0, -5.0]), -2.0, -1.0, 1.0).tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"k": 0}, ParameterError, "`k` must be an integer in"),
        ({"k": 2, "low": 0.1}, ParameterError, "must include 0"),
        ({"k": 2, "high": 0.4}, ParameterError, "what k entries can sum to"),
        ({"k": 2, "total": np.inf}, ParameterError, "`total` must be a finite number"),
        ({"k": 2, "low": [-1.0, -2.0]}, ParameterTypeError, "one number for all"),
    ],
)
def test_misuse(settings, error, message):
    with pytest.raises(error, match=message):
        SparseSum(**settings)
