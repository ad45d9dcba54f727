"""Comma-separated values: one reader, one writer."""

import csv
import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from szoht.core.csv_text import parse_csv, write_csv
from szoht.errors import DataError

TEXT = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")


@pytest.mark.parametrize(
    ("text", "delimiter", "rows"),
    [
        ("a,b\n1,2\n", ",", [(1, ["a", "b"]), (2, ["1", "2"])]),
        ("\n\na;b\n\n1,5;2\n", ";", [(3, ["a", "b"]), (5, ["1,5", "2"])]),
        ("a\tb\r\n1\t2\r\n", "\t", [(1, ["a", "b"]), (2, ["1", "2"])]),
        ("a\rb\r", ",", [(1, ["a"]), (2, ["b"])]),
        ('"a, b; c; d",e\n', ",", [(1, ["a, b; c; d", "e"])]),
        ('"a\nb",c\n1,2\n', ",", [(2, ["a\nb", "c"]), (3, ["1", "2"])]),
        (" a ,' b'\n,\n", ",", [(1, ["a", "' b'"])]),
        ("a\u2028b,c\n", ",", [(1, ["a\u2028b", "c"])]),
        ("", ",", []),
    ],
)
def test_cells(text, delimiter, rows):
    table = parse_csv(text, "f")
    assert table.delimiter == delimiter
    assert table.rows == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a\n{'b' * 200_000}\n", r"^f has a cell of more than 131,072 characters, in line 2"),
        ('a,b\n"c,d\ne,f\n', "^f is not CSV: a quotation mark is not closed, in line 2 or below"),
        ('a,b\n1,2\n"c"d,e\n', "^f is not CSV: .*in line 3"),
    ],
)
def test_text_that_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        parse_csv(text, "f")


def test_cells_stay_short_where_others_have_raised_the_limit():
    before = csv.field_size_limit(10**9)
    try:
        with pytest.raises(DataError, match=r"more than 131,072 characters, in line 2"):
            parse_csv(f"a\n{'b' * 200_000}\n", "f")
    finally:
        csv.field_size_limit(before)


@given(st.one_of(TEXT, st.text(alphabet=" ,;\t\r\n\"'=-a1", max_size=40)))
@settings(deadline=None)
def test_any_text_is_a_table_or_refused(text):
    try:
        table = parse_csv(text, "f")
    except DataError as error:
        assert str(error).startswith("f ")  # noqa: PT017
    else:
        assert all(any(cells) for _, cells in table.rows)
        lines = [line for line, _ in table.rows]
        assert lines == sorted(set(lines))


@given(TEXT)
@example("=cmd|'/c calc'!A0")
@example("+1+1")
@example("-a")
@example("@SUM(A1)")
@example("\t=1")
@example("\r=1")
@example("'=1")
@example("''=1")
@example("'")
@example(" =1")
@example('a"b,c;d')
@settings(deadline=None)
def test_no_spreadsheet_runs_a_name_and_it_comes_back(name):
    text = write_csv(["name", "value"], [[name, -1.5]])
    ((cell, number),) = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert number == "-1.5"
    if cell.lstrip().startswith(RISKY):
        float(cell)  # what begins so is a number
    back = parse_csv(text, "f").rows[1][1][0]
    assert back.strip() == name.strip()
    if name == name.strip() or (name.startswith(RISKY) and not name[-1:].isspace()):
        assert back == name


def test_numbers_are_left_as_they_are():
    assert write_csv(["a"], [[-1], [-2.5], ["-3"], ["+4e5"], ["-inf"], [None], [""]]) == (
        "a\n-1\n-2.5\n-3\n+4e5\n-inf\n\n\n"
    )
