"""Steps with a length of their own for each coordinate: the operators that they need."""

import pytest

from szoht import L1Ball, SoftThreshold, errors, operators
from szoht.updates import Adaptive


def test_an_adaptive_update_names_every_operator_that_it_can_use():
    with pytest.raises(errors.CapabilityError) as caught:
        Adaptive(operator=operators.SparseSimplex(2), step_size=0.1)
    able = [
        name
        for name in operators.__all__
        if name != "Operator" and hasattr(getattr(operators, name), "weighted_prox")
    ]
    assert all(name in str(caught.value) for name in able)


def test_adaptive_steps_need_a_weighted_projection():
    with pytest.raises(errors.CapabilityError, match="`weighted_prox`"):
        Adaptive(operator=L1Ball(1.0), step_size=0.1)
    Adaptive(operator=SoftThreshold(1.0), step_size=0.1)
