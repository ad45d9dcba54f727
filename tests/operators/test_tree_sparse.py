"""Rooted subtrees against brute force over all sets of nodes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.strategies import vectors
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import TreeSparse


def rooted_subtrees(parents, k):
    for size in range(min(k, len(parents)) + 1):
        for nodes in combinations(range(len(parents)), size):
            if all(parents[i] < 0 or parents[i] in nodes for i in nodes):
                yield list(nodes)


@given(vectors, st.integers(1, 6), st.booleans(), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_it_is_the_nearest_point(y, k, bounded, seed):
    rng = np.random.default_rng(seed)
    d, k = len(y), min(k, len(y))
    # any arity, any number of roots, any order of numbers
    names = rng.permutation(d)
    parents = np.empty(d, dtype=int)
    for i in range(d):
        above = int(rng.integers(-1, i)) if i else -1
        parents[names[i]] = names[above] if above >= 0 else -1
    low, high = (-0.7, 1.5) if bounded else (-np.inf, np.inf)
    weights = rng.uniform(0.1, 10, d)
    operator = TreeSparse(k, parents, low, high)
    operator.check(d)
    for ours, w in (
        (operator.prox(y, 1.0), np.ones(d)),
        (operator.weighted_prox(y, 1.0, weights), weights),
    ):
        assert operator.contains(ours)
        least = min(
            (w * (np.where(np.isin(np.arange(d), s), np.clip(y, low, high), 0.0) - y) ** 2).sum()
            for s in rooted_subtrees(parents.tolist(), k)
        )
        # sums over the tree round, relative to the largest
        assert (w * (ours - y) ** 2).sum() <= least + 1e-12 * (w * y**2).sum()


def test_a_node_counts_with_all_above_it():
    operator = TreeSparse(2, [-1, 0, 1, 0])
    assert operator.contains(np.array([0.0, 1.0, 0.0, 0.0]))
    assert not operator.contains(np.array([0.0, 0.0, 1.0, 0.0]))
    assert not operator.contains(np.array([0.0, 1.0, 0.0, 1.0]))
    assert not TreeSparse(2, [-1, 0], low=0.0, high=1.0).contains(np.array([2.0, 0.0]))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_entries_of_any_scale_are_compared(scale):
    y = scale * np.array([1.0, 1.0, 2.0])
    assert TreeSparse(2, [-1, 0, 0]).prox(y, 1.0).tolist() == [scale, 0.0, 2 * scale]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1, [1, 0]), "got a cycle above node 0"),
        ((1, [-1, 5]), r"got parents\[1\]=5 with d=2"),
        ((1, [-1, -2]), r"got parents\[1\]=-2"),
        ((1, [[0]]), "must be 1-d"),
        ((1, [-1.0, 0.0]), "must hold integers"),
        ((3, [-1, 0]), "got k=3 with d=2"),
        ((1, [-1, 0, 0]), r"must have shape \(d,\)"),
    ],
)
def test_trees_that_make_no_sense(arguments, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        TreeSparse(*arguments).check(2)
