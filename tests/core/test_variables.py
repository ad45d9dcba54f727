"""Users' numbers and the solver's: the mapping, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from szoht.core.variables import Variables
from szoht.errors import ParameterError, ParameterTypeError

SIZES = st.floats(-9, 9).map(lambda power: 10.0**power)
SHARES = st.floats(0, 1)
ANY_Z = st.one_of(
    st.floats(-3, 3), st.floats(-1e12, 1e12), st.sampled_from([0.0, -0.0, np.inf, -np.inf])
)


@st.composite
def boxes(draw):
    """A variable of any width and place, whose nominal value may be a bound."""
    width = draw(SIZES)
    low = draw(st.floats(-1, 1)) * draw(SIZES)
    high = low + width
    nominal = min(max(low + draw(SHARES) * width, low), high)
    return low, nominal, high


@settings(max_examples=120, deadline=None)
@given(boxes(), ANY_Z)
def test_every_z_is_inside_the_bounds(box, z):
    low, nominal, high = box
    (x,) = Variables([nominal], low=[low], high=[high]).to_x(np.array([z]))
    assert low <= x <= high


@settings(max_examples=120, deadline=None)
@given(boxes())
def test_bounds_and_the_nominal_value_are_reached_exactly(box):
    low, nominal, high = box
    v = Variables([nominal], low=[low], high=[high])
    assert v.to_x(np.zeros(1))[0] == nominal
    assert v.to_z([nominal])[0] == 0.0
    assert v.to_x(v.z_low)[0] == low
    assert v.to_x(v.z_high)[0] == high


@settings(max_examples=120, deadline=None)
@given(boxes(), SHARES)
def test_round_trip_of_x(box, share):
    low, nominal, high = box
    x = min(max(low + share * (high - low), low), high)
    v = Variables([nominal], low=[low], high=[high])
    again = v.to_x(v.to_z([x]))[0]
    assert abs(again - x) <= 4 * np.spacing(max(abs(low), abs(high)))


@settings(max_examples=120, deadline=None)
@given(st.floats(-300, 300), st.floats(-300, 300), st.floats(-300, 300), ANY_Z)
def test_logarithmic_scale_over_the_range_of_numbers(a, b, c, z):
    low, nominal, high = (10.0**power for power in sorted((a, b, c)))
    v = Variables([nominal], low=[low], high=[high], log=True)
    assert low <= v.to_x(np.array([z]))[0] <= high
    assert v.to_x(np.zeros(1))[0] == nominal
    assert v.to_z([nominal])[0] == 0.0
    assert v.to_x(v.z_low)[0] == low
    assert v.to_x(v.z_high)[0] == high
    middle = np.clip(np.sqrt(low) * np.sqrt(high), low, high)
    assert v.to_x(v.to_z([middle]))[0] == pytest.approx(middle, rel=1e-12)


@pytest.mark.parametrize("z", [-1e300, -1e4, 1e4, 1e300])
def test_without_bounds_a_logarithmic_scale_has_no_zero_and_no_infinity(z):
    (x,) = Variables([1e-5], log=True).to_x(np.array([z]))
    assert 0 < x < np.inf


@pytest.mark.parametrize(("nominal", "x"), [(1e-300, 1e290), (1e300, 1e-290)])
def test_logarithmic_scale_from_one_end_of_the_range_to_the_other(nominal, x):
    v = Variables([nominal], log=True)
    assert v.to_x(v.to_z([x]))[0] == pytest.approx(x, rel=1e-11)


@settings(max_examples=120, deadline=None)
@given(
    st.floats(-1e6, 1e6),
    st.floats(2, 1e6),
    SHARES,
    ANY_Z,
    st.one_of(st.none(), st.floats(1e-3, 1e3)),
)
def test_integers_stay_on_the_grid_and_inside(low, width, share, z, unit):
    high = low + width
    nominal = min(np.ceil(low) + np.rint(share * (width - 2)), np.floor(high))
    v = Variables([nominal], low=[low], high=[high], integer=True, unit=unit)
    (x,) = v.to_x(np.array([z]))
    assert x == np.rint(x)
    assert low <= x <= high
    assert v.to_x(np.zeros(1))[0] == nominal
    assert v.to_x(v.to_z([x]))[0] == x


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=9, unique=True), st.data(), ANY_Z)
def test_lists_of_values(entries, data, z):
    entries = sorted(float(entry) for entry in entries)
    nominal = data.draw(st.sampled_from(entries))
    v = Variables([nominal, 0.0], values=[entries, None])
    x = v.to_x(np.array([z, 0.0]))
    assert x[0] in entries
    assert v.to_x(np.zeros(2))[0] == nominal
    for entry in entries:
        assert v.to_x(v.to_z([entry, 0.0]))[0] == entry


def test_one_step_along_a_list():
    v = Variables({"threads": 4}, values={"threads": [1, 2, 4, 8, 16]}, unit=1.0)
    assert [v.to_x(np.array([z]))[0] for z in (-9, -2, -1, 0, 0.4, 1, 2, 3)] == [
        1, 1, 2, 4, 4, 8, 16, 16,
    ]  # fmt: skip


def test_bounds_shorten_a_list():
    v = Variables([4.0], values=[[1, 2, 4, 8]], low=2, high=5)
    assert v.to_x(np.array([-9.0]))[0] == 2
    assert v.to_x(np.array([9.0]))[0] == 4


def test_stacks_of_points():
    v = Variables([1.0, 2.0, 3.0], low=0, high=10, log=[False, True, False], integer=[0, 0, 1])
    stack = np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0], [-5.0, 1.0, 9.0]])
    assert np.array_equal(v.to_x(stack), [v.to_x(row) for row in stack])


def test_units():
    v = Variables(
        [0.0, 5.0, 5.0, -2.0, 0.0, 1.0, 3.0, 7.0],
        low=[None, 0, None, -3, None, 0.1, None, 7],
        high=[None, 9, 9, -1, None, 10, None, 7],
        unit=[None, None, None, 0.25, None, None, None, None],
        log=[False, False, False, False, False, True, True, False],
        integer=[False, False, False, False, True, False, False, False],
    )
    expected = [1.0, 9.0, 5.0, 0.25, 1.0, np.log(100.0), 1.0, 7.0]
    assert v.scale == pytest.approx(expected)
    assert not v.has_units  # of the first nothing is known
    assert Variables([0.0, 1.0], unit=[3.0, None]).has_units


def test_a_fixed_variable_never_moves():
    v = Variables([2.0, 7.0], low=[0, 7], high=[9, 7])
    assert v.to_x(np.array([0.1, 5.0]))[1] == 7
    assert v.z_low[1] == v.z_high[1] == 0
    assert v.free.tolist() == [True, False]


def test_the_derivative_is_that_of_the_mapping():
    v = Variables([2.0, 7.0], low=[0, 1], high=[9, 70], log=[False, True])
    z, h = np.array([0.1, -0.2]), 1e-6
    numeric = (v.to_x(z + h) - v.to_x(z - h)) / (2 * h)
    assert v.derivative(z) == pytest.approx(numeric, rel=1e-6)


def test_changed_counts_what_the_user_sees():
    v = Variables([4.0, 5.0, 6.0], integer=[True, False, False], unit=1.0)
    assert v.changed(v.to_x(np.array([0.3, 0.3, 0.0]))).tolist() == [1]


def test_names_from_a_series_and_columns_by_name():
    v = Variables(
        pd.Series({"b": 1.0, "a": 2.0}), high={"a": 4.0}, low=pd.Series({"a": 1.0, "b": 0.0})
    )
    assert v.names == ("b", "a")
    assert v.low.tolist() == [0.0, 1.0]
    assert v.high.tolist() == [np.inf, 4.0]
    assert Variables(pd.Series([1.0, 2.0])).names == ()
    assert Variables([1.0, 2.0]).labels == ("x[0]", "x[1]")


def test_flags_by_name():
    v = Variables({"a": 1.0, "b": 2.0}, integer=["b"], log={"a": True})
    assert (v.integer.tolist(), v.log.tolist()) == ([False, True], [True, False])


def test_arrays_are_copies_and_read_only():
    nominal = np.ones(2)
    v = Variables(nominal, low=0)
    nominal[0] = 5
    assert v.nominal[0] == 1
    for name in ("nominal", "low", "high", "unit", "log", "integer", "start", "scale"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(v, name)[0] = 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 3.0}, "`nominal` must lie within the bounds; got variable 0 with nominal=1"),
        ({"high": {"b": 1.5}, "names": ["a", "b"]}, "got variable 'b' with nominal=2"),
        ({"low": 2.0, "high": 1.0}, "`low` must not exceed `high`"),
        ({"unit": 0.0}, "`unit` must be a finite number > 0; got variable 0 .*unit=0"),
        ({"unit": [1.0, -2.0]}, "got variable 1 with nominal=2, low=-inf, high=inf, unit=-2"),
        ({"unit": np.inf}, "`unit` must be a finite number"),
        ({"names": ["a", "a"]}, "`names` must differ; got 'a' twice"),
        ({"names": ["a"]}, "one entry for each of the 2 variables; got 1"),
        (
            {"integer": True, "low": [0.2, 0], "high": [0.8, 4]},
            r"needs an integer between.*low=0\.2, high=0\.8",
        ),
        ({"integer": True, "start": [1.5, 2.0]}, "`start` of an integer variable must be an int"),
        ({"log": True, "low": -1.0}, "`low` >= 0 on a logarithmic scale"),
        ({"log": True, "integer": True}, "not both"),
        ({"start": [0.0, 9.0], "high": 5.0}, "`start` must lie within the bounds"),
        ({"values": [[3, 1], None]}, "in increasing order"),
        ({"values": [[0, 3], None]}, "`nominal` must be one of the variable's values"),
        ({"values": [[1, 2]]}, "one entry for each of the 2 variables"),
        ({"values": [[1, 2], None], "high": [0.5, 9], "low": [0.1, 0]}, "within the bounds"),
        ({"low": {"c": 1.0}, "names": ["a", "b"]}, "names of the variables, 'a', 'b'; got 'c'"),
        ({"low": [1.0, 2.0, 3.0]}, r"`low` must be 1-d with 2 entries or be a number"),
        ({"integer": [0.5, 1]}, r"`integer` must be True or False"),
        ({"low": np.inf}, "`low` must be below inf"),
        ({"names": "ab"}, "`names` must be several strings; got 'ab'"),
        ({"names": ["a", "b"], "log": "a"}, r"names in a list; got 'a'. Pass \['a'\]"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises((ParameterError, ParameterTypeError), match=message):
        Variables([1.0, 2.0], **arguments)


def test_categories_are_refused_with_a_remedy():
    with pytest.raises(ParameterTypeError, match="one on/off variable for each"):
        Variables({"solver": "fast", "tolerance": 1e-3})
    with pytest.raises(ParameterTypeError, match="one on/off variable for each"):
        Variables([1.0], values=[["red", "green"]])


@pytest.mark.parametrize("nominal", [[], [[1.0]], 3.0, [np.nan], [np.inf], [1 + 2j], None])
def test_nominal_values_that_are_no_vector(nominal):
    with pytest.raises((ParameterError, ParameterTypeError), match="nominal"):
        Variables(nominal)


def test_repr_is_short():
    text = repr(Variables(np.ones(500), integer=[True] * 10 + [False] * 490, low=0))
    assert text == "<Variables: 500 variables, 10 integer>"


@pytest.mark.parametrize("none", [[], (), {}, np.zeros(0), None, False])
def test_an_empty_list_of_flags_means_none(none):
    v = Variables({"a": 1.0, "b": 2.0}, log=none, integer=none)
    assert not v.log.any()
    assert not v.integer.any()
