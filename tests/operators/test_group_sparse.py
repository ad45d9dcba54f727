"""Sparse groups against brute force over all choices of groups."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from operators.strategies import vectors
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.operators import GroupSparse, SparseBox


@given(vectors, st.integers(1, 4), st.floats(0, 3), st.booleans(), st.data())
@settings(deadline=None)
def test_group_sparse_is_the_nearest_point(y, k, high, bounded, data):
    d = len(y)
    labels = data.draw(arrays(np.intp, d, elements=st.integers(0, 3)))
    groups = np.unique(labels, return_inverse=True)[1]
    count = int(groups.max()) + 1
    k = min(k, count)
    weights = data.draw(arrays(np.float64, d, elements=st.floats(0.1, 10)))
    low, high = (-0.7, high) if bounded else (-np.inf, np.inf)
    operator = GroupSparse(k=k, groups=groups, low=low, high=high)
    operator.check(d)
    for ours, w in (
        (operator.prox(y, 1.0), np.ones(d)),
        (operator.weighted_prox(y, 1.0, weights), weights),
    ):
        assert operator.contains(ours)
        least = min(
            (w * (np.where(np.isin(groups, kept), np.clip(y, low, high), 0.0) - y) ** 2).sum()
            for kept in combinations(range(count), k)
        )
        assert (w * (ours - y) ** 2).sum() <= least * (1 + 1e-12)


def test_groups_of_a_size_are_runs_of_neighbours():
    y = np.random.default_rng(0).standard_normal(12)
    labelled = GroupSparse(k=2, groups=np.repeat(np.arange(4), 3))
    assert np.array_equal(GroupSparse(k=2, size=3).prox(y, 1.0), labelled.prox(y, 1.0))
    single = GroupSparse(k=3, size=1, low=-1.0, high=0.5)
    assert np.array_equal(single.prox(y, 1.0), SparseBox(3, low=-1.0, high=0.5).prox(y, 1.0))
    assert labelled.touched(np.eye(12)[0] + np.eye(12)[5] + np.eye(12)[4]) == 2


def test_groups_contain_what_touches_few_of_them_within_the_bounds():
    operator = GroupSparse(k=1, size=2, low=-1.0, high=2.0)
    assert operator.contains(np.array([-1.0, 2.0, 0.0, 0.0]))
    assert not operator.contains(np.array([-1.0, 0.0, 0.5, 0.0]))
    assert not operator.contains(np.array([-1.1, 0.0, 0.0, 0.0]))
    assert not operator.contains(np.array([2.1, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_groups_of_any_scale_are_compared(scale):
    """Squares of the entries would all be zero, or infinite."""
    y = scale * np.array([1.0, 1.0, 2.0, 0.0])
    assert np.array_equal(GroupSparse(k=1, size=2).prox(y, 1.0), [0.0, 0.0, 2 * scale, 0.0])
    assert not GroupSparse(k=1, size=2).prox(np.zeros(4), 1.0).any()


def test_groups_are_a_copy_that_nobody_can_change():
    given = np.array([0, 0, 1])
    operator = GroupSparse(k=1, groups=given)
    given[0] = 1
    assert operator.members(3).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        operator.members(3)[0] = 1


def test_equal_groups_go_to_the_lowest_number():
    y = np.array([1.0, 2.0, 2.0, 1.0, 1.0, 2.0])
    assert np.array_equal(
        GroupSparse(k=1, groups=[1, 1, 0, 0, 2, 2]).prox(y, 1.0) != 0, [0, 0, 1, 1, 0, 0]
    )


@pytest.mark.parametrize(
    ("settings", "d", "complaint"),
    [
        ({}, 6, "exactly one of `groups` and `size`"),
        ({"groups": [0, 1], "size": 2}, 6, "exactly one of `groups` and `size`"),
        ({"size": 0}, 6, "`size` must be an integer"),
        ({"size": 4}, 6, "`size` must divide d; got size=4 with d=6"),
        ({"size": 3, "k": 3}, 6, "got k=3 with number of groups=2"),
        ({"groups": [0, 0, 2]}, 3, "without a gap"),
        ({"groups": [0, -1]}, 2, "without a gap"),
        ({"groups": [0.0, 1.0]}, 2, "must hold integers"),
        ({"groups": np.array([[0, 1]])}, 2, "must be 1-d"),
        ({"groups": [0, 1]}, 3, r"`groups` must have shape \(d,\)"),
        ({"size": 2, "low": 0.5}, 4, "low <= 0 <= high"),
        ({"size": 2, "low": [-1.0, -1.0]}, 4, "`low` must be a number or have shape"),
    ],
)
def test_groups_that_make_no_sense(settings, d, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        GroupSparse(**{"k": 1} | settings).check(d)


def test_lists_that_do_not_overlap_number_the_coordinates():
    assert GroupSparse(k=1, groups=[[0, 3], [1, 2, 4]]).groups.tolist() == [0, 1, 1, 0, 1]


@given(vectors, st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_few_of_each_group_are_the_nearest_point(y, k, per_group, seed):
    rng = np.random.default_rng(seed)
    d = len(y)
    groups = np.unique(rng.integers(0, 4, d), return_inverse=True)[1]
    k = min(k, int(groups.max()) + 1)
    operator = GroupSparse(k=k, groups=groups, per_group=per_group, low=-2.0)
    ours = operator.prox(y, 1.0)
    assert operator.contains(ours)
    supports = (np.array(s, dtype=int) for n in range(d + 1) for s in combinations(range(d), n))
    least = min(
        ((np.where(np.isin(np.arange(d), s), np.maximum(y, -2.0), 0.0) - y) ** 2).sum()
        for s in supports
        if np.unique(groups[s]).size <= k and np.bincount(groups[s], minlength=1).max() <= per_group
    )
    assert ((ours - y) ** 2).sum() <= least * (1 + 1e-12)


def test_only_what_is_kept_of_a_group_counts():
    y = np.array([2.0, 2.0, 2.0, 3.0, 0.0, 0.0])
    assert GroupSparse(k=1, size=3, per_group=1).prox(y, 1.0).tolist() == [0, 0, 0, 3, 0, 0]


def test_groups_with_too_many_non_zeros_are_outside():
    operator = GroupSparse(k=2, size=3, per_group=1)
    assert operator.contains(np.array([1.0, 0, 0, 0, 2.0, 0]))
    assert not operator.contains(np.array([1.0, 1.0, 0, 0, 0, 0]))
    with pytest.raises(CapabilityError, match="`per_group` needs groups that do not overlap"):
        GroupSparse(k=1, groups=[[0, 1], [1, 2]], per_group=1)


@pytest.mark.parametrize(
    ("groups", "d", "complaint"),
    [
        ([[0, 1], [3, 1]], 4, "2 is in none"),
        ([[0, 1], [-1, 1]], 2, "got -1"),
        ([[0, 1], [1, 2]], 4, r"got some up to 2 with d=4"),
        ([[0, 1], []], 2, "`groups` must"),
    ],
)
def test_lists_that_make_no_sense(groups, d, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        GroupSparse(k=1, groups=groups).check(d)
