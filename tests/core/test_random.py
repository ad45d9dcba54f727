"""Addresses, seeds and supports."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from szoht.core.random import Key, Purpose, as_seed, draw_supports
from szoht.errors import ParameterError, ParameterTypeError


def bits(key, purpose=Purpose.SAMPLE, block=0):
    return tuple(key.generator(purpose, block).integers(2**60, size=4))


def test_the_same_address_gives_the_same_bits():
    assert bits(Key(seed=1, iteration=2, round=3)) == bits(Key(seed=1, iteration=2, round=3))


def test_different_addresses_give_different_bits():
    seen = [
        bits(Key(seed=seed, iteration=t, round=r), purpose, block)
        for seed in (0, 1, 2**32, 2**32 + 1, 2**100)
        for t in (0, 1)
        for r in (0, 1)
        for purpose in Purpose
        for block in (0, 1)
    ]
    assert len(set(seen)) == len(seen)


def test_seeds_from_everything_users_pass():
    assert as_seed(5) == as_seed(np.int64(5)) == 5
    assert as_seed(None) != as_seed(None)
    assert as_seed(np.random.SeedSequence(3)) == as_seed(np.random.SeedSequence(3))
    generator = np.random.default_rng(0)
    assert as_seed(generator) != as_seed(generator)
    assert as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))


@pytest.mark.parametrize(("bad", "error"), [(-1, ParameterError), ("0", ParameterTypeError)])
def test_bad_seeds(bad, error):
    with pytest.raises(error, match="`rng`"):
        as_seed(bad)


@given(st.integers(1, 40), st.data())
@settings(deadline=None)
def test_supports_are_sorted_subsets(d, data):
    size = data.draw(st.integers(1, d))
    supports = draw_supports(np.random.default_rng(0), d=d, size=size, count=9)
    assert supports.shape == (9, size)
    assert (np.diff(supports, axis=1) > 0).all()
    assert supports.min() >= 0
    assert supports.max() < d


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_every_subset_is_equally_likely(size):
    d, count = 6, 60_000
    supports = draw_supports(np.random.default_rng(1), d=d, size=size, count=count)
    subsets = list(itertools.combinations(range(d), size))
    codes = (1 << supports).sum(axis=1)
    observed = np.array([(codes == sum(1 << i for i in s)).sum() for s in subsets])
    expected = count / len(subsets)
    chi_square = ((observed - expected) ** 2 / expected).sum()
    # mean and variance of chi-square with len - 1 degrees of freedom; five sigma
    freedom = len(subsets) - 1
    assert chi_square <= freedom + 5 * np.sqrt(2 * freedom) + 5


def test_entropy_is_128_bits():
    assert max(as_seed(np.random.SeedSequence(i)) for i in range(20)) >= 2**64
