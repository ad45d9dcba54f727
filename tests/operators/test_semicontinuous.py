"""Semicontinuous entries against brute force over supports and signs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.strategies import vectors
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import Semicontinuous, SparseBox


@given(vectors, st.integers(1, 8), st.floats(0, 3), st.sampled_from([-np.inf, -1.0, 0.0]))
@settings(deadline=None, max_examples=80)
def test_it_is_the_nearest_point(y, k, at_least, low):
    d, k = len(y), min(k, len(y))
    weights = np.random.default_rng(0).uniform(0.1, 10, d)
    operator = Semicontinuous(k, at_least, low, 2.0)
    operator.check(d)
    for ours, w in (
        (operator.prox(y, 1.0), np.ones(d)),
        (operator.weighted_prox(y, 1.0, weights), weights),
    ):
        assert operator.contains(ours)
        zeroed = w * y**2
        options = [zeroed]
        if at_least <= 2.0:
            options.append(w * (np.clip(y, at_least, 2.0) - y) ** 2)
        if -at_least >= low:
            options.append(w * (np.clip(y, low, -at_least) - y) ** 2)
        kept = np.min(options, axis=0)
        least = min(
            sum(kept[i] if i in support else zeroed[i] for i in range(d))
            for support in combinations(range(d), k)
        )
        assert (w * (ours - y) ** 2).sum() <= least * (1 + 1e-12)


def test_nothing_at_least_is_a_sparse_box():
    y = np.random.default_rng(0).standard_normal(12)
    box = SparseBox(4, low=-1.0, high=0.5)
    assert np.array_equal(Semicontinuous(4, 0.0, -1.0, 0.5).prox(y, 1.0), box.prox(y, 1.0))


def test_entries_that_bounds_exclude_stay_zero():
    operator = Semicontinuous(2, at_least=[1.0, 1.0], low=0.0, high=[0.5, 3.0])
    assert operator.prox(np.array([9.0, -9.0]), 1.0).tolist() == [0, 0]
    assert operator.prox(np.array([9.0, 0.6]), 1.0).tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_entries_of_any_scale(scale):
    assert not Semicontinuous(1, 1.0).prox(np.full(2, 1e-200), 1.0).any()
    x = Semicontinuous(1, scale).prox(scale * np.array([0.6, 0.7]), 1.0)
    assert x.tolist() == [0.0, scale]


def test_points_of_the_set():
    operator = Semicontinuous(2, at_least=0.5, low=-1.0, high=1.0)
    assert operator.contains(np.array([0.5, 0.0, -1.0]))
    assert not operator.contains(np.array([0.4, 0.0, 0.0]))
    assert not operator.contains(np.array([1.5, 0.0, 0.0]))
    assert not operator.contains(np.array([0.5, 0.5, 0.5]))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"at_least": -1.0}, "`at_least` must be finite and not negative"),
        ({"at_least": np.inf}, "`at_least` must be finite and not negative"),
        ({"at_least": "much"}, "`at_least` must be a number or an array"),
        ({"at_least": [1.0, 1.0]}, r"`at_least` must be a number or have shape \(d,\)"),
        ({"at_least": 1.0, "low": 0.5}, "low <= 0 <= high"),
        ({"at_least": 1.0, "k": 4}, "got k=4 with d=3"),
    ],
)
def test_bad_parameters(settings, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        Semicontinuous(**{"k": 1} | settings).check(3)
