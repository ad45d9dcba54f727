"""Validators and the messages that they raise."""

import numpy as np
import pytest

from szoht import SparseVector, errors
from szoht.core.validation import check_choice, check_integer, check_real, check_vector


def test_validators():
    assert check_integer("n", np.int32(3), low=1, high=3) == 3
    with pytest.raises(
        errors.ParameterError, match=r"`n` must be an integer in \[1, 3\]; got n=4\."
    ):
        check_integer("n", 4, low=1, high=3)
    assert check_real("r", np.float32(0.5), low=0, high=1) == 0.5
    with pytest.raises(errors.ParameterError, match=r"`r` must be a finite number in \[0, 1\]"):
        check_real("r", 2, low=0, high=1)
    with pytest.raises(errors.ParameterError, match=r"in \(0, 1\]"):
        check_real("r", 0, low=0, high=1, open_low=True)
    with pytest.raises(errors.ParameterError, match="must have 3 entries; got 2"):
        check_vector("v", [1, 2], size=3)
    with pytest.raises(errors.ParameterError, match="must be one of 'a', 'b'; got c='x'"):
        check_choice("c", "x", ("a", "b"))
    vector = check_vector("v", [1, 2])
    assert not vector.flags.writeable


def test_a_message_ends_with_one_full_stop():
    sparse = SparseVector(10**9, [3], [1.0])
    with pytest.raises(errors.ParameterTypeError) as caught:
        check_vector("x0", sparse)
    assert str(caught.value).endswith("as an array.")
