"""JSON from anywhere."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from szoht.core.json_text import parse_json, read_json
from szoht.errors import DataError

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**1000), 2**1000)
    | TEXT
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(VALUES)
@settings(deadline=None)
def test_what_python_writes_comes_back(value):
    assert parse_json(json.dumps(value), "f") == value
    assert parse_json(json.dumps(value, ensure_ascii=False), "f") == value


@given(st.one_of(TEXT, st.text(alphabet='[]{}",:0123456789.eE+-\\ud80nultrfs ', max_size=60)))
@settings(deadline=None)
def test_any_text_is_json_or_refused(text):
    try:
        parse_json(text, "f")
    except DataError as error:
        assert str(error).startswith("f ")  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^f is not JSON: Expecting value: line 1 column 1"),
        ("[" * 100_000, "^f is nested too deeply: JSON may have at most 100 levels"),
        ("[" * 101 + "]" * 101, "nested too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "nested too deeply"),
        ("1" + "0" * 400, "^f has an integer beyond the range of floating-point numbers"),
        ('{"a": [-1' + "0" * 400 + "]}", "an integer beyond the range"),
        ("1" + "0" * 5000, "^f is not JSON: Exceeds the limit"),
        ('["\\ud800"]', "^f has text that is no Unicode: '.ud800' is half of a character"),
        ('{"\\udfff": 1}', "half of a character"),
    ],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        parse_json(text, "f")


def test_what_is_just_allowed(tmp_path):
    deepest = "[" * 100 + "]" * 100
    assert json.dumps(parse_json(deepest, "f")) == deepest
    assert parse_json('"\\ud83d\\ude00"', "f") == "\N{GRINNING FACE}"
    assert parse_json("[1e400, -Infinity]", "f") == [math.inf, -math.inf]
    (tmp_path / "x.json").write_bytes(b"\xef\xbb\xbf[1, 2]")
    assert read_json(tmp_path / "x.json") == [1, 2]
