"""``--constraint``: simplices, groups and balls on the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from outcomes import always, most_seeds
from szoht.cli.app import app
from szoht.cli.constraints import parse_constraint
from szoht.errors import ParameterError
from szoht.operators import GroupSparse, L1Ball, SparseSimplex

MODULE = """
import numpy as np
def distance(x):
    return float(((x - np.array([0.1, 0.7, 0, 0.6, 0, 0])) ** 2).sum())
"""


@pytest.fixture
def solve(tmp_path, monkeypatch):
    (tmp_path / "distance_of_weights.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        arguments = ("distance_of_weights:distance", "--dim", 6, "--quiet", *arguments)
        outcome = CliRunner().invoke(app, ["solve", *map(str, arguments), "--output", "found.json"])
        always(outcome.exit_code == 0)
        found = json.loads((tmp_path / "found.json").read_text())
        return dict(zip(found["support"], found["values"], strict=True))

    return run


@pytest.mark.filterwarnings("ignore::szoht.errors.StartWarning")
@most_seeds
def test_weights_that_sum_to_one(seed, solve):
    found = solve("-k", 2, "--constraint", "simplex", "--budget", 300, "--seed", seed)
    assert found == pytest.approx({1: 0.55, 3: 0.45}, abs=1e-3)


@most_seeds
def test_groups_of_neighbors_and_by_number(seed, solve, tmp_path):
    found = solve("-k", 1, "--constraint", "group:2", "--budget", 300, "--seed", seed)
    assert found == pytest.approx({0: 0.1, 1: 0.7}, abs=1e-3)
    (tmp_path / "groups.json").write_text("[0, 1, 0, 1, 2, 2]")
    file = "group:groups.json"
    found = solve("-k", 1, "--constraint", file, "--budget", 300, "--seed", seed)
    assert found == pytest.approx({1: 0.7, 3: 0.6}, abs=1e-3)


def test_each_form_is_a_set(tmp_path):
    assert parse_constraint("simplex:2.5", 3) == SparseSimplex(3, total=2.5)
    assert repr(parse_constraint("group:4", 3)) == repr(GroupSparse(k=3, size=4))
    assert parse_constraint("l1:0.5", None) == L1Ball(0.5)
    np.save(tmp_path / "groups.npy", np.array([0, 0, 1]))
    read = parse_constraint(f"group:{tmp_path / 'groups.npy'}", 1)
    assert read.groups.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "k", "message"),
    [
        ("cube", 2, "must read simplex, simplex:TOTAL, .*got 'cube'"),
        ("simplex", None, "`k` must be given"),
        ("simplex:many", 2, "a number as total; got 'many'"),
        ("l1:", None, "a number as radius; got ''"),
        ("l1:1", 2, "`k` must not be given beside"),
    ],
)
def test_other_texts_are_refused(text, k, message):
    with pytest.raises(ParameterError, match=message):
        parse_constraint(text, k)


def test_groups_have_whole_numbers(tmp_path):
    (tmp_path / "groups.json").write_text("[0, 0.5, 1]")
    with pytest.raises(ParameterError, match="must number the groups"):
        parse_constraint(f"group:{tmp_path / 'groups.json'}", 1)
