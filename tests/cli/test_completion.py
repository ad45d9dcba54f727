"""Shell completion: the shells that it is installed for, and what it offers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import szoht

CODE = "import sys; sys.argv[0] = 'szoht'; from szoht.cli import main; main()"


def complete(words, *, shell="bash"):
    """Return what a shell is offered for the last of some words."""
    line = " ".join(("szoht", *words))
    variables = {
        "_SZOHT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_shown_for_each_shell(shell):
    done = subprocess.run(
        [sys.executable, "-c", CODE, "--show-completion", shell],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "_SZOHT_COMPLETE" in done.stdout
