"""Directions that are computed where they are looked up, from a hash of the coordinate."""

import pickle

import numpy as np
import pytest

from szoht import AskTell, SparseVector
from szoht.core.implicit import NO_BIT, ImplicitSigns, hash_coordinates
from szoht.errors import CapabilityError


def test_hash_is_splitmix64():
    """A transcription with Python's integers."""

    def naive(i, seed):
        mask = 2**64 - 1
        z = (i * 0x9E3779B97F4A7C15 + seed) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    indices = np.array([0, 1, 12345, 10**12])
    for seed in (0, 7, 2**64 - 1):
        assert hash_coordinates(indices, seed).tolist() == [naive(int(i), seed) for i in indices]
    # the first outputs of SplitMix64 with state 0 and 1
    assert hash_coordinates(np.array([1]), 0)[0] == 0xE220A8397B1DCDAF
    assert hash_coordinates(np.array([1]), 1)[0] == 0x910A2DEC89025CC1


def test_buckets_and_signs_are_even():
    d, buckets = 40_000, 8
    every = ImplicitSigns(
        d=d,
        seed=11,
        buckets=buckets,
        bucket=np.arange(buckets),
        bit=np.full(buckets, NO_BIT),
        excluded=np.array([4, 7]),
    )
    rows = np.concatenate([values for _, values in every.slices(0, buckets)])
    assert np.array_equal(np.abs(rows).sum(axis=0), (~np.isin(np.arange(d), [4, 7])).astype(float))
    sizes = np.count_nonzero(rows, axis=1)
    assert (np.abs(sizes - d / buckets) < 5 * np.sqrt(d / buckets)).all()
    assert (np.abs(rows.sum(axis=1)) < 5 * np.sqrt(sizes)).all()


def test_probes_refuse_to_be_listed():
    run = AskTell(SparseVector(10**9), k=3, method="sketch_ht", max_queries=1_000, rng=0)
    plan = run.ask()
    probe = plan.points()[1]
    assert probe.shape == (10**9,)
    assert set(np.abs(probe[np.arange(1000)])) == {0.0, 1e-4}
    with pytest.raises(CapabilityError, match="look up"):
        plan.sparse_points()
    with pytest.raises(CapabilityError, match="all 1000000000 entries"):
        np.asarray(probe)
    assert len(pickle.dumps(plan.queries)) < 3_000
