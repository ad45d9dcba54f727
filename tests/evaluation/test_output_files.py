"""Many numbers in a file: JSON, CSV and NPY."""

import math

import numpy as np
import pytest

from szoht.evaluation.output_files import OutputTable, read_outputs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n2.5e3\n", [1.0, 2500.0]),
        ("value\n1\n2", [1.0, 2.0]),
        ("a,1\nb,2", {"a": 1.0, "b": 2.0}),
        ("Value; Name\n1;a\n\n2;b\n", {"a": 1.0, "b": 2.0}),
        ('name,value\n"a, b",1', {"a, b": 1.0}),
        ("a\t1\nb\t-inf", {"a": 1.0, "b": -math.inf}),
        ("\ufeffname,value\na,1", {"a": 1.0}),
    ],
)
def test_csv(tmp_path, text, expected):
    (tmp_path / "outputs.csv").write_text(text)
    assert read_outputs(tmp_path / "outputs.csv", "csv") == expected


def test_an_empty_cell_is_missing_and_sigma_is_a_column():
    table = OutputTable.parse("name,value,sigma\na,1,0.1\nb,,0.2")
    assert table.value[0] == 1.0
    assert math.isnan(table.value[1])
    assert table.by_name(table.sigma) == {"a": 0.1, "b": 0.2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("name,value\na,1,2", "line 2 has 3 cells, and others 2"),
        ("name,sigma\na,1", "it has no column 'value'"),
        ("value,value\n1,2", "it has two columns 'value'"),
        ("name,value\n,1", "line 2 has no name"),
        ("a,1,2,3", "line 1 has 4 cells"),
    ],
)
def test_bad_csv(text, message):
    with pytest.raises(ValueError, match=message):
        OutputTable.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2]", [1.0, 2.0]),
        ("log line\n[1, 2]\n", [1.0, 2.0]),
        ('{"a": 1,\n "b": 2}', {"a": 1.0, "b": 2.0}),
        ('{"value": [1, 2], "seconds": 3}', [1.0, 2.0]),
        ('{"value": {"a": 1}}', {"a": 1.0}),
        ('{"value": 1, "other": 2}', {"value": 1.0, "other": 2.0}),
    ],
)
def test_json(tmp_path, text, expected):
    (tmp_path / "outputs.json").write_text(text)
    assert read_outputs(tmp_path / "outputs.json", "json") == expected


def test_null_is_missing(tmp_path):
    (tmp_path / "outputs.json").write_text("[null, NaN, 1]")
    assert np.isnan(read_outputs(tmp_path / "outputs.json", "json")).tolist() == [True, True, False]


def test_long_answers_are_read_from_their_beginning(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(10_000).tolist()
    (tmp_path / "outputs.json").write_text(f"{numbers}")
    assert read_outputs(tmp_path / "outputs.json", "json") == numbers


@pytest.mark.parametrize("text", ["3", "[]", "{}", "", "[true]", '["1"]', "[[1]]"])
def test_bad_json(tmp_path, text):
    (tmp_path / "outputs.json").write_text(text)
    with pytest.raises(ValueError, match=r"number|Expecting"):
        read_outputs(tmp_path / "outputs.json", "json")


def test_npy(tmp_path):
    path = tmp_path / "outputs.npy"
    np.save(path, np.array([1, 2]))
    assert read_outputs(path, "npy") == [1.0, 2.0]
    np.save(path, np.eye(2))
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        read_outputs(path, "npy")
