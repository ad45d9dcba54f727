"""The whole space."""

import numpy as np

from szoht.operators import Identity


def test_weights_change_nothing():
    y, weights = np.array([1.0, -2.0, 0.1]), np.array([0.5, 4.0, 1.0])
    assert np.array_equal(Identity().weighted_prox(y, 1.0, weights), y)
