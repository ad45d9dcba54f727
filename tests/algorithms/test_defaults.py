"""Numbers that are not given, and those that must be."""

import numpy as np
import pytest

from szoht import AskTell, Minibatch, algorithms, errors


def test_default_q_is_at_most_d():
    assert (
        AskTell(np.zeros(4), k=4, rng=0, method="szoht", options={"mu": 1e-6}).ask().n_points == 5
    )


def test_defaults_and_switches():
    run = AskTell(np.zeros(100_001), k=1, rng=0, method="szoht")
    assert run.algorithm.estimator.support_size == 100_000
    assert algorithms.truncated_zsgd(k=1, q=1).iterate == "average"
    assert algorithms.stoiht(k=1).sampler == Minibatch(size=1)
    estimator = algorithms.szoht(k=1, q=1, orthogonal=True, central=True).estimator
    assert estimator.orthogonal
    assert estimator.central


def test_an_algorithm_object_needs_its_numbers():
    with pytest.raises(errors.ParameterError, match="`q` must be given, or `d`"):
        algorithms.szoht(k=2)
