"""Coordinates that are free and not counted, against brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.strategies import vectors
from szoht import SparseVector
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import Sparse, SparseBox


def nearest(y, k, always, *, low, high, weights):
    """Return the least weighted distance over all choices of at most k others."""
    others = [i for i in range(len(y)) if i not in always]
    clipped = np.clip(y, low, high)
    return min(
        (
            weights * (np.where(np.isin(range(len(y)), [*always, *chosen]), clipped, 0.0) - y) ** 2
        ).sum()
        for chosen in combinations(others, min(k, len(others)))
    )


@given(vectors, st.integers(1, 4), st.data())
@settings(deadline=None)
def test_projections_are_nearest(y, k, data):
    always = data.draw(st.lists(st.integers(0, len(y) - 1), max_size=3))
    weights = data.draw(st.sampled_from([np.ones(len(y)), 1.0 + np.arange(len(y))]))
    for operator, low, high in (
        (Sparse(k, always=always), -np.inf, np.inf),
        (SparseBox(k, low=-1.0, high=1.5, always=always), -1.0, 1.5),
    ):
        x = operator.weighted_prox(y, 1.0, weights)
        assert operator.contains(x)
        least = nearest(y, k, always, low=low, high=high, weights=weights)
        assert (weights * (x - y) ** 2).sum() <= least * (1 + 1e-12)
        assert np.array_equal(
            operator.prox(y, 1.0), operator.weighted_prox(y, 1.0, np.ones(len(y)))
        )


@given(vectors, st.integers(1, 4), st.data())
@settings(deadline=None)
def test_sparse_vectors_are_projected_alike(y, k, data):
    operator = Sparse(k, always=data.draw(st.lists(st.integers(0, len(y) - 1), max_size=3)))
    sparse = operator.prox(SparseVector(len(y), np.arange(len(y)), y), 1.0)
    assert np.array_equal(sparse[np.arange(len(y))], operator.prox(y, 1.0))
    assert operator.contains(sparse)


def test_others_are_counted():
    operator = Sparse(2, always=[4, 0, 4])
    assert operator.always == (0, 4)
    assert operator.contains(np.array([1.0, 1, 1, 0, 1]))
    assert not operator.contains(np.array([0.0, 1, 1, 1, 1]))


def test_a_set_says_what_it_does_not_count():
    assert repr(Sparse(2)) == "Sparse(k=2)"
    assert repr(Sparse(2, always=(3,))) == "Sparse(k=2, always=[3])"
    assert repr(SparseBox(2, low=-1.0, high=1.0, always=(3,))).endswith("always=[3])")


@pytest.mark.parametrize("always", ["3", 3, [0.5], [True]])
def test_coordinates_are_integers(always):
    with pytest.raises(ParameterTypeError, match="`always` must be"):
        Sparse(2, always=always)


def test_coordinates_exist():
    with pytest.raises(ParameterError, match=r"`always` .* got always=5 with d - 1=4"):
        SparseBox(2, low=-1.0, high=1.0, always=[5]).check(5)
    with pytest.raises(ParameterError, match="`always` must be an integer in"):
        Sparse(2, always=[-1])
