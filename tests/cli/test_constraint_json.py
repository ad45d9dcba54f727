"""Constraints that a file states."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from outcomes import always, most_seeds
from szoht.cli.app import app
from szoht.cli.constraint_json import SETS, read_constraint
from szoht.errors import DataError, ParameterError, ParameterTypeError


def test_arrays_are_lists_or_files(tmp_path):
    np.save(tmp_path / "parents.npy", np.array([-1, 0, 0, 1]))
    text = '{"set": "tree_sparse", "k": 2, "parents": "parents.npy", "low": 0}'
    (tmp_path / "tree.json").write_text(text)
    tree = read_constraint(str(tmp_path / "tree.json"))
    assert isinstance(tree, szoht.TreeSparse)
    assert tree.parents.tolist() == [-1, 0, 0, 1]
    groups = read_constraint('{"set": "group_sparse", "k": 1, "groups": [[0, 1], [1, 2]]}')
    assert groups.overlaps is not None


def test_sets_within_sets():
    stated = {"set": "two_step", "sparse": {"set": "sparse", "k": 2}}
    both = read_constraint(json.dumps(stated | {"convex": {"set": "l1_ball", "radius": 1.5}}))
    assert both == szoht.TwoStep(sparse=szoht.Sparse(2), convex=szoht.L1Ball(1.5))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "`constraint` is not JSON: Expecting"),
        ('{"k": 2}', 'JSON object with "set"'),
        ('{"set": "tree", "k": 2}', "`set` must be one of .*'tree_sparse'"),
        ('{"set": "sparse"}', "missing a required argument: 'k'"),
        ('{"set": "sparse", "k": 2, "r": 1}', r"parameters of Sparse\(k"),
        ('{"set": "sparse", "k": 0}', "`k` must be an integer"),
    ],
)
def test_constraints_that_make_no_sense(text, complaint):
    with pytest.raises((ParameterError, ParameterTypeError, DataError), match=complaint):
        read_constraint(text)


@most_seeds
def test_solve_under_a_stated_constraint(seed, tmp_path, monkeypatch):
    (tmp_path / "function_with_low_rank.py").write_text(
        "import numpy as np\nT = np.outer([1, 2, 3], [1, -1, 0.5, 2]).ravel()\n"
        "def f(x):\n    return float(((x - T) ** 2).sum())\n"
    )
    monkeypatch.chdir(tmp_path)
    command = "solve function_with_low_rank:f --dim 12 --method szoht --budget 600 --quiet"
    stated = '{"set": "low_rank", "r": 1, "shape": [3, 4]}'
    options = ["--seed", str(seed), "--constraint", stated, "--output", "out.json"]
    done = CliRunner().invoke(app, [*command.split(), *options])
    always(done.exit_code == 0)
    assert json.loads((tmp_path / "out.json").read_text())["fun"] < 1e-3
    assert "low_rank" in SETS
