"""A sparse vector computes what the dense one does, and refuses what it cannot."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from szoht import Sparse, SparseVector
from szoht.core.sparse_vector import as_point
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError

D = 9
ENTRY = st.tuples(st.integers(0, D - 1), st.sampled_from([-2.0, -0.1, 0.0, 0.3, 1.0, 1e17]))
VECTORS = st.lists(ENTRY, max_size=14).map(
    lambda pairs: SparseVector(D, np.array([i for i, _ in pairs], int), [v for _, v in pairs])
)


@settings(max_examples=40, deadline=None)
@given(VECTORS, VECTORS, st.floats(-3, 3))
def test_arithmetic_has_the_bits_of_the_dense_one(a, b, c):
    x, y = a.toarray(), b.toarray()
    for ours, dense in [
        (a + b, x + y),
        (a - c * b, x - c * y),
        (np.float64(c) * a, c * x),
        (-a / 3, -x / 3),
        (abs(a), abs(x)),
        (np.abs(b - a), np.abs(y - x)),
    ]:
        assert np.array_equal(ours.toarray(), dense)
        assert (np.diff(ours.indices) > 0).all()
        assert ours.values.all()
    assert a.max() == x.max()
    assert a.any() == x.any()
    assert np.array_equal(np.flatnonzero(a), np.flatnonzero(x))
    assert np.count_nonzero(a) == np.count_nonzero(x)
    assert np.array_equal(a, b) == np.array_equal(x, y)


@settings(max_examples=40, deadline=None)
@given(VECTORS, st.integers(1, D))
def test_threshold_keeps_what_the_dense_one_keeps(a, k):
    # the values come from a short list, so ties are frequent
    assert np.array_equal(Sparse(k).prox(a, 1.0).toarray(), Sparse(k).prox(a.toarray(), 1.0))


def test_the_largest_entry_is_negative_only_if_all_are():
    assert SparseVector(2, [0, 1], [-3.0, -2.0]).max() == -2.0
    assert SparseVector(3, [0, 1], [-3.0, -2.0]).max() == 0.0


def test_vectors_of_different_sizes_are_not_equal():
    assert not np.array_equal(SparseVector(3, [1], [2.0]), SparseVector(4, [1], [2.0]))


def test_duplicates_are_added_up_in_the_order_given():
    terms = [1e17, 1.0, -1e17, 3.0]
    assert SparseVector(5, [2, 2, 2, 2], terms).values.tolist() == [((1e17 + 1.0) - 1e17) + 3.0]


def test_lookup():
    x = SparseVector(10**12, [5, 10**12 - 1], [1.5, -2.0])
    assert x[5] == 1.5
    assert x[4] == 0.0
    assert x[[[5, 6], [7, 10**12 - 1]]].tolist() == [[1.5, 0.0], [0.0, -2.0]]
    assert x[np.empty((0, 3), int)].shape == (0, 3)
    for beyond in (-1, 10**12, [0, 10**12]):
        with pytest.raises(IndexError, match="must be in"):
            x[beyond]
    for wrong in (1.5, np.ones(3, bool), slice(3)):
        with pytest.raises(ParameterTypeError, match="integer"):
            x[wrong]


@pytest.mark.parametrize(
    "dense_work",
    [
        np.asarray,
        np.exp,
        np.sum,
        lambda x: x - np.ones(10**9 % 7),
        lambda x: 1 / x,
        lambda x: x + 1,
        np.add.reduce,
        np.multiply.reduce,
        lambda x: np.add(x, x, where=np.array([True])),
        lambda x: np.multiply(x, 2, out=np.zeros(3)),
    ],
)
def test_what_needs_all_entries_raises_with_a_remedy(dense_work):
    with pytest.raises(CapabilityError, match=r"x\[indices\].*pass `x0` as an array"):
        dense_work(SparseVector(10**9, [3], [1.0]))


def test_bad_parts():
    for size, indices, values in [(0, [], []), (3, [3], [1.0]), (3, [-1], [1.0]), (3, [1], [])]:
        with pytest.raises(ParameterError):
            SparseVector(size, np.array(indices, int), values)
    with pytest.raises(ParameterTypeError, match="integers"):
        SparseVector(3, [0.5], [1.0])
    with pytest.raises(ParameterError, match="one size"):
        SparseVector(3) + SparseVector(4)
    with pytest.raises(ParameterError, match=r"x0\[2\]=inf"):
        as_point("x0", SparseVector(3, [2], [np.inf]))


def test_immutable_small_and_readable():
    x = SparseVector(10**9, np.arange(12), np.ones(12))
    with pytest.raises(ValueError, match="read-only"):
        x.values[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        x.indices[0] = 20
    assert len(pickle.dumps(x)) < 1000
    assert np.array_equal(copy.deepcopy(x), x)
    assert repr(x).endswith("9: 1, ...})")


@pytest.mark.parametrize("form", ["coo_array", "csr_array", "csc_array", "lil_matrix"])
def test_scipy_rows_and_columns(form):
    dense = np.array([[0.0, 2.0, 0.0, -1.0]])
    for matrix in (dense, dense.T):
        x = as_point("x0", getattr(sparse, form)(matrix))
        assert np.array_equal(x.toarray(), dense[0])


def test_scipy_vectors_and_back():
    x = as_point("x0", sparse.coo_array(([1.0, 2.0], ([7, 7],)), shape=(10**9,)))
    assert np.array_equal(x, SparseVector(10**9, [7], [3.0]))
    assert np.array_equal(as_point("x0", x.tocoo()), x)
    assert as_point("x0", sparse.coo_array(np.array([[3.0]]))).toarray().tolist() == [3.0]
    with pytest.raises(ParameterError, match="one row or column"):
        as_point("x0", sparse.eye_array(3))
