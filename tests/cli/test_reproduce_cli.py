"""The command itself; the experiments have tests of their own."""

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from szoht import paper
from szoht.cli.app import app
from szoht.cli.verdicts import print_verdicts
from szoht.paper.claims import ClaimResult, Verdict
from szoht.paper.experiment_result import ExperimentResult


def invoke(*arguments, columns=200):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": str(columns)})


def test_one_experiment(tmp_path):
    run = invoke("rho-gamma", "--quick", "--workers", "1", "--out", str(tmp_path))
    assert run.exit_code == 0, run.output
    assert "The paper's claims (2): 2 hold, 0 differ, 0 fail, 0 skipped." in run.output
    assert "Checks (3): 2 hold, 1 differ, 0 fail, 0 skipped." in run.output
    assert (tmp_path / "report.html").is_file()
    again = invoke("rho-gamma", "--workers", "1", "--out", str(tmp_path))
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "`name` must be one of"),
        (["rho-gamma", "--seeds", "0"], "`seeds` must be an integer in [1, inf)"),
        (["rho-gamma", "--workers", "0"], "`workers` must be an integer in [1, inf)"),
    ],
)
def test_bad_input(tmp_path, arguments, message):
    run = invoke(*arguments, "--out", str(tmp_path))
    assert run.exit_code == 2
    assert message in " ".join(run.output.replace("│", " ").split())


def test_settings_that_cannot_be_read(tmp_path):
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "assets.json").write_text("{")
    run = invoke("rho-gamma", "--out", str(tmp_path))
    assert run.exit_code == 2
    assert "is not JSON" in run.output


def test_statements_are_read_in_full_at_80_columns(tmp_path):
    run = invoke("rho-gamma", "--quick", "--workers", "1", "--out", str(tmp_path), columns=80)
    lines = [line for line in run.output.splitlines() if not line.startswith("wrote ")]  # a path
    assert max(map(len, lines)) <= 80
    words = " ".join(run.output.split())
    for claim in paper.read_claims():
        if claim.experiment == "rho-gamma":
            assert claim.statement in words
            assert " ".join(claim.note.split()) in words
    assert "differs The same with the corollaries' rho" in words


def test_a_failure_is_marked():
    results = [
        ClaimResult(claim=claim, verdict=verdict)
        for claim, verdict in zip(paper.read_claims(), (Verdict.FAILS, Verdict.HOLDS), strict=False)
    ]
    console = Console(width=80, file=io.StringIO())
    experiment = paper.get_experiment("conflict")
    print_verdicts(console, [ExperimentResult(experiment=experiment, claim_results=results)])
    text = console.file.getvalue()
    assert text.count("✗ fails") == 1
    assert experiment.title in text
    assert "  holds" in text


def test_the_list_says_what_a_run_costs(monkeypatch, tmp_path):
    monkeypatch.setenv("SZOHT_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = invoke("--list", columns=80)
    assert run.exit_code == 0, run.output
    lines = [line for line in run.output.splitlines() if not line.startswith("wrote ")]  # a path
    assert max(map(len, lines)) <= 80
    words = " ".join(run.output.split())
    for name in paper.experiment_names():
        experiment = paper.get_experiment(name)
        assert f"{name}: {experiment.title}" in words
        assert " ".join(experiment.where.split()) in words
    assert words.count("with --quick") == len(paper.experiment_names())
    assert "Not here: " in words


def test_a_name_is_needed():
    run = invoke()
    assert run.exit_code == 2
    assert "--list" in run.output
