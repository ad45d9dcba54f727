"""Shell completion: the shells that it is installed for, and what it offers."""

import os
import subprocess
import sys

import numpy as np
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app


def complete(words):
    """Return what a shell is offered for the last of some words."""
    variables = {
        "_SZOHT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("szoht", *words)),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(app, [], prog_name="szoht", env=variables).stdout


def test_commands_options_methods_and_sets_are_offered():
    assert complete(["so"]).split() == ["solve"]
    assert "--known" in complete(["ask", "--kn"])
    assert complete(["solve", "--method", "sp"]).split() == ["sparse_rs"]
    assert complete(["solve", "--constraint", "si"]).split() == ["simplex"]
    assert "drop-days" in complete(["portfolio", "--missing", "drop"])


def test_the_runs_of_a_store_are_offered(tmp_path):
    store = tmp_path / "runs.db"
    result = szoht.minimize(
        lambda x: float((x**2).sum()), np.ones(3), k=3, max_queries=9, rng=0, store=store
    )
    assert complete(["resume", str(store), ""]).split() == [result.run]
    assert complete(["resume", str(tmp_path / "nosuch.db"), ""]).split() == []


def test_a_script_for_a_shell_is_shown():
    code = "import sys; sys.argv[0] = 'szoht'; from szoht.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--show-completion", "zsh"],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "_SZOHT_COMPLETE" in done.stdout
