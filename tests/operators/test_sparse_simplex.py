"""The sparse simplex against brute force over supports, with a simplex projection by bisection."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from szoht.errors import ParameterError
from szoht.operators import SparseSimplex

entries = st.floats(-50, 50, allow_subnormal=False) | st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
vectors = st.integers(1, 7).flatmap(lambda d: arrays(np.float64, d, elements=entries))


def onto_simplex(y, total):
    """Subtract the number that makes what is left sum to the total."""
    lowest = y.min() - total - 1e-9  # a little lower, lest rounding leave less than the total
    theta = brentq(lambda t: np.maximum(y - t, 0).sum() - total, lowest, y.max(), xtol=1e-14)
    return np.maximum(y - theta, 0)


@given(vectors, st.integers(1, 7), st.sampled_from([0.5, 1.0, 10.0]))
@settings(deadline=None)
def test_it_is_the_nearest_point(y, k, total):
    operator = SparseSimplex(k, total)
    ours = operator.prox(y, 1.0)
    assert operator.contains(ours)
    candidates = []
    for support in combinations(range(len(y)), min(k, len(y))):
        x = np.zeros_like(y)
        x[list(support)] = onto_simplex(y[list(support)], total)
        candidates.append(((x - y) ** 2).sum())
    assert ((ours - y) ** 2).sum() <= min(candidates) + 1e-9 * (1 + min(candidates))


def test_all_negative_entries_still_give_a_portfolio():
    assert SparseSimplex(2).prox(np.array([-3.0, -1.0, -1.2]), 1.0) == pytest.approx([0, 0.6, 0.4])


def test_ties_go_to_the_lowest_index():
    assert SparseSimplex(2).prox(np.ones(4), 1.0).tolist() == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("scale", [1e12, 1e200, 1e300])
def test_a_total_lost_to_rounding_goes_to_the_largest(scale):
    x = SparseSimplex(2).prox(scale * np.array([1.0, 3.0, 2.0]), 1.0)
    assert x.tolist() == [0.0, 1.0, 0.0]


def test_the_best_vertex_has_the_whole_total_where_the_slope_is_least():
    vertex = SparseSimplex(2, 10.0).lmo(np.array([0.5, -1.0, -3.0, 2.0]))
    assert vertex.tolist() == [0.0, 0.0, 10.0, 0.0]


@pytest.mark.parametrize("total", [1e-12, 1.0, 1e12])
def test_points_of_the_set(total):
    """Up to rounding of the sum, relative to the total."""
    operator = SparseSimplex(2, total)
    assert operator.contains(total * np.array([0.3, 0.0, 0.7 + 1e-12]))
    assert not operator.contains(total * np.array([0.3, 0.0, 0.6]))
    assert not operator.contains(total * np.array([-0.5, 0.0, 1.5]))
    assert not operator.contains(total * np.array([0.5, 0.25, 0.25]))
    projected = operator.prox(total * np.array([0.31, 0.1, 0.72]), 1.0)
    assert projected.sum() == pytest.approx(total, rel=1e-15)


def test_the_total_survives_entries_that_are_large_beside_it():
    """What is left of them after the subtraction has rounding errors of 1e-6."""
    operator = SparseSimplex(3)
    for seed in range(6):
        y = 1e10 + np.random.default_rng(seed).random(6)
        assert operator.contains(operator.prox(y, 1.0))


@pytest.mark.parametrize(("k", "total"), [(0, 1.0), (1, 0.0), (1, -1.0), (1, np.inf)])
def test_bad_parameters(k, total):
    with pytest.raises(ParameterError):
        SparseSimplex(k, total)


def test_k_beyond_the_dimension():
    with pytest.raises(ParameterError, match="with d=3"):
        SparseSimplex(4).check(3)


def onto_limits(y, total, low, high):
    """Subtract the number that makes what is left, within limits, sum to the total."""
    high = min(high, total)
    low_end, high_end = y.min() - high - 1, y.max() - low + 1
    theta = brentq(lambda t: np.clip(y - t, low, high).sum() - total, low_end, high_end, xtol=1e-14)
    return np.clip(y - theta, low, high)


LIMITS = [(0.0, 0.4), (0.2, np.inf), (0.15, 0.45), (0.25, 0.25), (0.5, 0.5), (1.0, 1.0)]


@pytest.mark.parametrize(("at_least", "at_most"), LIMITS)
@pytest.mark.parametrize("per_group", [None, 1, 2])
def test_weights_with_limits_are_the_nearest_point(at_least, at_most, per_group):
    """Against all supports, of all sizes, that groups allow."""
    d, k = 7, 4
    groups = (0, 0, 0, 1, 1, 2, 3)
    operator = SparseSimplex(
        k,
        at_least=at_least,
        at_most=at_most,
        groups=None if per_group is None else groups,
        per_group=per_group,
    )
    operator.check(d)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal(d) * rng.choice([0.1, 1.0, 10.0])
        ours = operator.prox(y, 1.0)
        assert operator.contains(ours)
        candidates = []
        for m in range(1, k + 1):
            if m * at_least > 1 + 1e-9 or m * at_most < 1 - 1e-9:
                continue
            for support in map(list, combinations(range(d), m)):
                if per_group and np.bincount(np.array(groups)[support]).max() > per_group:
                    continue
                x = np.zeros(d)
                exact = m * at_most == 1 or m * at_least == 1
                x[support] = 1 / m if exact else onto_limits(y[support], 1.0, at_least, at_most)
                candidates.append(((x - y) ** 2).sum())
        assert ((ours - y) ** 2).sum() <= min(candidates) + 1e-9 * (1 + min(candidates))


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e200])
def test_limits_survive_entries_of_any_scale(scale):
    operator = SparseSimplex(4, at_least=0.1, at_most=0.6)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        assert operator.contains(operator.prox(scale * rng.standard_normal(9), 1.0))
        assert operator.contains(operator.prox(1e10 + rng.random(9), 1.0))


def test_the_best_vertex_fills_the_lowest_slopes():
    gradient = np.array([0.5, -1.0, -3.0, 2.0])
    limited = SparseSimplex(3, at_least=0.3, at_most=0.6)
    assert limited.lmo(gradient) == pytest.approx([0, 0.4, 0.6, 0])
    grouped = SparseSimplex(3, at_most=0.6, groups=(0, 1, 1, 2), per_group=1)
    assert grouped.lmo(gradient) == pytest.approx([0.4, 0, 0.6, 0])


def test_small_large_and_crowded_weights_are_outside():
    operator = SparseSimplex(3, at_least=0.2, at_most=0.6, groups=[0, 0, 1, 2], per_group=1)
    assert operator.contains(np.array([0.4, 0, 0.6, 0]))
    assert not operator.contains(np.array([0.1, 0, 0.4, 0.5]))
    assert not operator.contains(np.array([0.7, 0, 0.3, 0]))
    assert not operator.contains(np.array([0.4, 0.3, 0.3, 0]))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"at_least": 0.4, "at_most": 0.45}, "at least 3 entries are needed, and at most 2 fit"),
        ({"at_most": 0.2}, "at least 5 entries are needed, and at most 3 fit"),
        ({"at_least": 1.5}, "at most 0 fit"),
        ({"at_least": 0.4, "at_most": 0.3}, "`at_most` must be a number >= 0.4"),
        ({"per_group": 1}, "must be given together"),
        ({"groups": [0, 0], "per_group": 1}, "must have d entries; got 2 with d=4"),
        ({"groups": [0] * 4, "per_group": 1, "at_most": 0.5}, "per_group=1, which allows 1"),
    ],
)
def test_limits_that_leave_nothing(settings, complaint):
    with pytest.raises(ParameterError, match=complaint):
        SparseSimplex(3, **settings).check(4)
