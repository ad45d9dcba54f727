"""Validators and the messages that they raise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from szoht import SparseVector, errors
from szoht.core.validation import (
    as_array,
    check_choice,
    check_flag,
    check_integer,
    check_real,
    check_vector,
    real_array,
    shown,
)


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


def test_flags():
    assert [check_flag("f", value) for value in (True, np.True_, 1, False, np.False_, 0)] == [
        *[True] * 3,
        *[False] * 3,
    ]
    for value in (2, None, "yes", 1.0, np.ones(2), np.array(1)):
        with pytest.raises(errors.ParameterTypeError, match="`f` must be True or False; got f="):
            check_flag("f", value)


def test_numbers_beyond_what_can_be_counted():
    assert check_integer("n", 2**63 - 1, low=0) == 2**63 - 1
    for value in (2**63, 10**400, 10**5000):
        with pytest.raises(errors.ParameterError, match=r"at most 2\*\*63 - 1 can be counted"):
            check_integer("n", value, low=0)
    with pytest.raises(errors.ParameterError, match=r"got n=an integer of 401 digits\.$"):
        check_integer("n", -(10**400), low=0)
    with pytest.raises(errors.ParameterError, match=r"beyond 1\.8e308"):
        check_real("r", 10**400)
    with pytest.raises(ValueError, match="an integer is beyond the range"):
        real_array([1, 10**400])


def test_infinite_numbers_where_they_mean_something():
    assert check_real("r", math.inf, low=1, infinite=True) == math.inf
    for value in (-math.inf, math.nan):
        with pytest.raises(errors.ParameterError, match="`r` must be a number"):
            check_real("r", value, infinite=True)
    with pytest.raises(errors.ParameterTypeError, match="of type Fraction"):
        check_real("r", Fraction(1, 3))


def test_words_for_whatever_it_is():
    class Wordless:
        def __repr__(self):
            raise RuntimeError

    assert shown(Wordless()) == "an object of type Wordless"
    assert shown("a" * 200) == "'" + "a" * 76 + "..."
    assert shown([10**5000]) == "an object of type list"
    with pytest.raises(errors.ParameterTypeError, match="`a` must be an array; got "):
        as_array("a", [[1], [2, 3]])


def test_a_choice_is_a_word():
    for value in (None, 3, np.zeros(2), np.array("a"), ["a"]):
        with pytest.raises(errors.ParameterTypeError, match="`c` must be one of 'a', 'b'; got c="):
            check_choice("c", value, ("a", "b"))
