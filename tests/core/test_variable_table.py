"""Tables of variables: files and DataFrames."""

import numpy as np
import pandas as pd
import pytest

from szoht.core.variables import Variables
from szoht.errors import ParameterError

TABLE = """name,nominal,low,high,unit,log,integer,values,start
speed,20,0,80,,,,,25
rate,1e-4,1e-6,1e-2,,yes,,,
buffers,3,1,12,,no,true,,
threads,4,,,,,,1|2|4|8,
"pump, left",off,0,1,,,1,,
"""


def write(folder, text):
    path = folder / "knobs.csv"
    path.write_text(text)
    return path


def check(v):
    assert v.names == ("speed", "rate", "buffers", "threads", "pump, left")
    assert v.nominal.tolist() == [20, 1e-4, 3, 4, 0]
    assert v.start.tolist() == [25, 1e-4, 3, 4, 0]
    assert v.high.tolist() == [80, 1e-2, 12, 8, 1]
    assert v.log.tolist() == [False, True, False, False, False]
    assert v.integer.tolist() == [False, False, True, True, True]
    assert v.values[3] == (1, 2, 4, 8)


def test_a_file(tmp_path):
    check(Variables.from_csv(write(tmp_path, TABLE)))


def test_semicolons_a_mark_of_byte_order_and_empty_lines(tmp_path):
    text = "\ufeff" + TABLE.replace('"pump, left"', "pump, left_").replace(",", ";")
    path = write(tmp_path, text.replace("pump; left_", "pump, left").replace("\n", "\n\n"))
    check(Variables.from_csv(path))


def test_a_frame(tmp_path):
    check(Variables.from_frame(pd.read_csv(write(tmp_path, TABLE))))


def test_the_index_of_a_frame_is_the_names():
    frame = pd.DataFrame({"nominal": [1.0, 2.0], "Low": [0.0, np.nan]}, index=["a", "b"])
    v = Variables.from_frame(frame)
    assert v.names == ("a", "b")
    assert v.low.tolist() == [0.0, -np.inf]
    assert Variables.from_frame(frame.reset_index(drop=True)).names == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("nominal\n", "at least one row"),
        ("name,low\na,1\n", "must have a column 'nominal'"),
        ("name,nominal,lower\na,1,0\n", "got 'lower' in .*Did you mean 'low'"),
        ("nominal,nominal\n1,2\n", "one column 'nominal'"),
        ("name,nominal\na,1\nb,\n", "line 3 of .* has none"),
        ("name,nominal\na,1\n,2\n", "`name` must be given"),
        ("nominal,low\n1,0,4\n", "2 cells in each line.* got 3 in line 2"),
        ("name,nominal\na,red\n", "got 'red' in line 2 of .*one on/off variable for each"),
        ("nominal,values\n1,red green\n", "numbers separated by spaces; got 'red green'"),
        ("nominal,integer\n1,maybe\n", "`integer` must be yes or no; got 'maybe'"),
        ("nominal,integer\n1,2\n", "`integer` must be yes or no; got '2'"),
        ("name,nominal,high\na,1,0\n", "variable 'a' with nominal=1, low=-inf, high=0"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    with pytest.raises(ParameterError, match=message):
        Variables.from_csv(write(tmp_path, text))


@pytest.mark.parametrize(
    ("cell", "flag"),
    [
        *((cell, True) for cell in ("yes", "Y", "y", "T", "true", "x", "X", "on", "1", "1.0")),
        *((cell, False) for cell in ("no", "N", "f", "False", "off", "0", "")),
    ],
)
def test_flags_as_people_write_them(tmp_path, cell, flag):
    v = Variables.from_csv(write(tmp_path, f"nominal,integer\n3,{cell}\n4,no\n"))
    assert v.integer.tolist() == [flag, False]


def test_letters_are_no_numbers(tmp_path):
    with pytest.raises(ParameterError, match="`nominal` must be a number; got 'y'"):
        Variables.from_csv(write(tmp_path, "nominal\ny\n"))
