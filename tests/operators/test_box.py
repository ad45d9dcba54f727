"""Boxes: their vertices, weights and bounds."""

import numpy as np
import pytest

from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import Box


def test_weights_do_not_move_the_projection():
    y, weights = np.array([1.0, -2.0, 0.1]), np.array([0.5, 4.0, 1.0])
    operator = Box(low=-1.0, high=0.5)
    assert np.array_equal(operator.weighted_prox(y, 1.0, weights), operator.prox(y, 1.0))


def test_infinite_boxes_have_no_vertex():
    with pytest.raises(ParameterError, match="finite bounds"):
        Box(low=-np.inf, high=1.0).lmo(np.array([1.0, -1.0]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Box(low=1.0, high=0.0), ParameterError, "must not exceed"),
        (lambda: Box(low=np.nan, high=0.0), ParameterError, "not NaN"),
        (lambda: Box(low="a", high=0.0), ParameterTypeError, "`low`"),
        (lambda: Box(low=[0.0], high=[1.0, 2.0]), ParameterError, "same shape"),
    ],
)
def test_bad_parameters_name_the_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()
