"""The command itself; the experiments have tests of their own."""

import pytest
from typer.testing import CliRunner

from szoht.cli.app import app


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": "200"})


def test_one_experiment(tmp_path):
    run = invoke("rho-gamma", "--quick", "--workers", "1", "--out", str(tmp_path))
    assert run.exit_code == 0, run.output
    assert "rho-gamma-value" in run.output
    assert "5 claims: 4 hold, 1 differ, 0 fail, 0 skipped." in run.output
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
