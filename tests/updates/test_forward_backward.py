"""One gradient step and one proximal step."""

import numpy as np
import pytest

from szoht import SoftThreshold, Sparse
from szoht.core.query import Estimate
from szoht.updates import ForwardBackward


def test_forward_backward_hands_the_step_to_the_prox():
    update = ForwardBackward(operator=SoftThreshold(1.0), step_size=0.25)
    estimate = Estimate(gradient=np.zeros(2), value=0.0, measured=True)
    x, _ = update.step(np.array([1.0, 0]), estimate, 0, None)
    assert np.array_equal(x, [0.75, 0])


def test_fixed_step_needs_a_positive_number():
    with pytest.raises(ValueError, match="`step_size` must be a finite number > 0"):
        ForwardBackward(operator=Sparse(1), step_size=0.0)
