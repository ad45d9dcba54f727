"""Steps along an average of past estimates."""

import numpy as np

from szoht import Sparse
from szoht.core.query import Estimate
from szoht.updates import Momentum


def test_momentum_without_past_is_a_plain_step():
    x = np.zeros(3)
    update = Momentum(operator=Sparse(3), step_size=0.5, beta=0.0)
    estimate = Estimate(gradient=np.ones(3), value=0.0, measured=True)
    moved, _ = update.step(x, estimate, 0, update.init(x))
    assert np.array_equal(moved, [-0.5] * 3)
