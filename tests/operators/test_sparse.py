"""Hard thresholding against sorting and brute force, ties, extremes, and expansivity."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from operators.strategies import vectors
from reference.hard_thresholding import hard_threshold
from szoht.errors import NonFiniteError, ParameterError, ParameterTypeError
from szoht.operators import Sparse


@given(vectors, st.integers(1, 8))
@settings(deadline=None)
def test_sparse_equals_sorting(y, k):
    assert np.array_equal(Sparse(k).prox(y, 1.0), hard_threshold(y, k))


@pytest.mark.parametrize("k", [1, 10, 2_500, 4_999])
def test_large_vectors_are_selected_exactly(k):
    """Small arrays come back sorted from a partition, so only large ones test the selection."""
    y = np.random.default_rng(k).standard_normal(5_000).round(2)
    assert np.array_equal(Sparse(k).prox(y, 1.0), hard_threshold(y, k))


def test_ties_go_to_the_lowest_index():
    assert np.array_equal(Sparse(2).prox(np.array([1.0, -2, 2, -2, 2]), 1.0), [0, -2, 2, 0, 0])


@pytest.mark.parametrize("d", [1, 5])
def test_k_equal_to_d_changes_nothing(d):
    y = np.arange(1.0, d + 1)
    assert np.array_equal(Sparse(d).prox(y, 1.0), y)


@given(vectors, st.integers(1, 8), st.data())
@settings(deadline=None)
def test_weighted_projections_are_nearest_in_the_weighted_norm(y, k, data):
    weights = data.draw(arrays(np.float64, len(y), elements=st.floats(0.1, 10)))
    operator = Sparse(k)

    def distance(x):
        return (weights * (x - y) ** 2).sum()

    ours = operator.weighted_prox(y, 1.0, weights)
    assert operator.contains(ours)
    kept = (
        np.isin(np.arange(len(y)), support)
        for support in combinations(range(len(y)), min(k, len(y)))
    )
    least = min(distance(np.where(inside, y, 0.0)) for inside in kept)
    assert distance(ours) <= least * (1 + 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_entries_are_refused_by_index(bad):
    with pytest.raises(NonFiniteError, match=r"y\[1\]"):
        Sparse(1).prox(np.array([0.0, bad]), 1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Sparse(0), ParameterError, r"`k` must be an integer in \[1, d\]; got k=0"),
        (lambda: Sparse(3).check(2), ParameterError, "got k=3 with d=2"),
        (lambda: Sparse(1.0), ParameterTypeError, "of type float"),
        (lambda: Sparse(np.True_), ParameterTypeError, "of type bool"),
    ],
)
def test_bad_parameters_name_the_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()


def gamma(k, k_star, d):
    """Lemma A.4: the expansivity of H_k towards k_star-sparse points."""
    overlap = min(k_star, d - k)
    beta = overlap / (k - k_star + overlap)
    return np.sqrt(1 + (beta + np.sqrt((4 + beta) * beta)) / 2)


@given(st.data())
@settings(deadline=None)
def test_expansivity_never_exceeds_gamma(data):
    d = data.draw(st.integers(2, 12))
    k = data.draw(st.integers(1, d - 1))
    k_star = data.draw(st.integers(1, k))
    b = data.draw(arrays(np.float64, d, elements=st.floats(-10, 10)))
    a = np.zeros(d)
    support = data.draw(st.permutations(range(d)))[:k_star]
    a[list(support)] = data.draw(arrays(np.float64, k_star, elements=st.floats(-10, 10)))
    left = np.linalg.norm(Sparse(k).prox(b, 1.0) - a)
    assert left <= gamma(k, k_star, d) * np.linalg.norm(b - a) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("d", "k", "k_star"), [(10, 4, 2), (10, 2, 1), (20, 8, 8), (6, 5, 2)])
def test_expansivity_is_nearly_attained_by_the_worst_vector(d, k, k_star):
    """b ties k entries off the support of a with those on it, so H_k drops the wrong ones."""
    worst = 0.0
    overlap = min(k_star, d - k)
    for height in np.linspace(0.01, 3, 600):
        a = np.zeros(d)
        a[-overlap:] = height
        b = np.zeros(d)
        b[: k - k_star + overlap] = 1.0
        b[-overlap:] = 1.0
        # entries of b on the rest of a's support are exact and survive
        rest = slice(k - k_star + overlap, k)
        a[rest] = b[rest] = 10.0
        ratio = np.linalg.norm(Sparse(k).prox(b, 1.0) - a) / np.linalg.norm(b - a)
        worst = max(worst, ratio)
    bound = gamma(k, k_star, d)
    assert worst <= bound * (1 + 1e-12)
    assert worst >= 0.99 * bound
