"""Sparse-RS against its description."""

import numpy as np
import pytest

from algorithms.vertex.problem import HIGH, LOW, bent
from reference.sparse_rs import share_of, sparse_rs
from szoht import GroupSparse, SparseBox, minimize
from szoht.algorithms.vertex.sparse_rs import random_swap, swap_fraction
from szoht.core.random import Key, Purpose


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_sparse_rs_equals_its_description(size, dark):
    """With values that are often equal: a point that is no better is not kept.

    On a dark image zero is a vertex, and a swap of one unit must not leave it there.
    """
    low = np.zeros(12) if dark else LOW
    k, horizon = 4 if size == 1 else 2, 80
    asked = []

    def rounded(x):
        return round(2 * bent(x)) / 2

    def fun(x):
        asked.append(x.copy())
        return rounded(x)

    operator = (
        SparseBox(k, low=low, high=HIGH)
        if size == 1
        else GroupSparse(k=k, size=size, low=low, high=HIGH)
    )
    result = minimize(
        fun,
        np.zeros(12),
        constraint=operator,
        method="sparse_rs",
        options={"share": 0.8, "horizon": horizon},
        max_queries=horizon,
        rng=7,
    )
    groups = np.arange(12).reshape(-1, size).tolist()
    generator = Key(seed=7, iteration=1).generator(Purpose.DIRECTIONS)
    limits = {"share": 0.8, "horizon": horizon, "queries": horizon}
    points, best = sparse_rs(rounded, groups, low, HIGH, k, generator=generator, **limits)
    assert np.array_equal(asked, points)
    assert np.array_equal(result.history["best"], best)
    assert result.nfev == horizon


@pytest.mark.parametrize("horizon", [100, 10_000])
def test_the_share_follows_the_published_list(horizon):
    for iteration in range(1, horizon + 1, max(1, horizon // 997)):
        assert swap_fraction(iteration, horizon) == share_of(iteration, horizon)


def test_exchanges_are_uniform_and_without_repetition():
    generator = np.random.default_rng(0)
    chosen = np.array([5, 2, 7])
    came = np.zeros(8)
    for _ in range(3_000):
        places, into = random_swap(generator, chosen, 8, 2)
        assert len(set(places)) == len(set(into)) == 2
        assert not set(into) & set(chosen)
        came[into] += 1
    expected = 3_000 * 2 / 5
    assert np.abs(came[[0, 1, 3, 4, 6]] - expected).max() < 5 * np.sqrt(expected)
    places, into = random_swap(generator, np.arange(3), 3, 2)
    assert np.array_equal(into, np.arange(3)[places])  # nobody is outside
    places, into = random_swap(generator, np.array([4, 0, 1, 3]), 5, 3)
    assert len(places) == 1
    assert into.tolist() == [2]  # only one is


def test_a_swap_of_one_unit_changes_it_where_it_can():
    """Pixel 3 cannot change at all, and may be drawn all the same."""
    high = np.ones(6)
    high[3] = 0.0
    asked = []
    minimize(
        lambda x: asked.append(x.copy()) or float(len(asked) == 1),
        np.zeros(6),
        constraint=SparseBox(2, low=0.0, high=high),
        method="sparse_rs",
        max_queries=200,
        rng=0,
    )
    incumbent = asked[1]  # the only one that was better than those before
    for x in asked[2:]:
        came = np.flatnonzero((x != 0) & (incumbent == 0))
        assert came.size == 1 or np.count_nonzero(incumbent[x != 0]) == np.count_nonzero(x)
    lost = [x for x in asked[2:] if not ((x != 0) & (incumbent == 0)).any()]
    assert 0 < len(lost) < 100  # those for which pixel 3 was drawn: about a quarter
