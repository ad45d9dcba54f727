import re

import pytest
import typer
from typer.testing import CliRunner

from szoht.cli.theory import theory
from szoht.theory import complexity_table, recommend

app = typer.Typer()
app.command()(theory)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def rows(output):
    lines = [line for line in output.splitlines() if line.startswith("│")]
    return [tuple(cell.strip() for cell in line.strip("│").split("│")) for line in lines]


def test_the_table_of_the_dimension_experiment():
    result = run("--d", "5000", "--k-star", "5", "--kappa", "1")
    assert result.exit_code == 0, result.output
    table = rows(result.output)
    assert ("Remark 4", "q, necessary", "2723.1", "2723.1") in table
    assert ("Theorem 1", "smallest q", "", "2724") in table
    assert ("Corollaries 1, 2", "k, sufficient", "370", "1560") in table
    assert ("Corollary 1", "q, sufficient", "1496", "6256") in table
    assert ("Corollary 2", "q, sufficient", "1494", "6254") in table
    sweep = [row for row in table if len(row) == 7]
    factors = [float(row[4]) for row in sweep]
    assert factors == sorted(factors, reverse=True)
    assert [row[5] == "never" for row in sweep] == [factor >= 1 for factor in factors]


def test_chosen_k_and_q():
    result = run("--d", "5000", "--k-star", "5", "--k", "500", "--q", "2014", "--q", "1")
    sweep = [row for row in rows(result.output) if len(row) == 7]
    assert [row[0] for row in sweep] == ["1", "2014"]
    assert sweep[1][4] == "1.0100"
    assert "k=500" in result.output


def test_the_printed_version():
    case = ("--d", "30000", "--k-star", "1", "--k", "1000", "--q", "30000")
    right = [row for row in rows(run(*case).output) if len(row) == 7]
    printed = [row for row in rows(run(*case, "--version", "paper").output) if len(row) == 7]
    assert right[0][4] == "0.9612"
    assert printed[0][4] == "0.9031"
    assert int(right[0][6]) == int(right[0][5]) * 30001
    assert int(printed[0][6]) == int(printed[0][5]) * 30000


def test_accuracy_and_distance_set_the_iterations():
    case = ("--d", "30000", "--k-star", "1", "--k", "1000", "--q", "30000", "--distance", "1")
    few = [row for row in rows(run(*case, "--accuracy", "0.1").output) if len(row) == 7]
    many = [row for row in rows(run(*case, "--accuracy", "0.01").output) if len(row) == 7]
    assert int(few[0][5]) == 59
    assert int(many[0][5]) == 117


def test_small_supports_have_no_second_corollary():
    result = run("--d", "5000", "--k-star", "5", "--support-size", "50")
    assert not any(row[0] == "Corollary 2" for row in rows(result.output))
    assert ("Corollary 1", "q, sufficient", "2090", "6850") in rows(result.output)


def test_a_dimension_that_is_too_small_is_reported():
    result = run("--d", "500", "--k-star", "5")
    assert ("Theorem 1", "smallest q", "", "none") in rows(result.output)
    assert result.output.count("d too small") == 4


def test_it_prints_what_is_recommended():
    result = run("--d", "5000", "--k-star", "5", "--budget", "1000000", "--smoothness", "2")
    assert str(recommend(d=5000, k_star=5, budget=10**6, smoothness=2.0)) in result.output
    assert "what would help" not in result.output


def test_where_nothing_works_it_says_what_would_help():
    result = run("--d", "100", "--k-star", "5", "--kappa", "10")
    assert result.exit_code == 0
    assert all(row[5] == "never" for row in rows(result.output) if len(row) == 7)
    assert "Theorem 1 covers kappa = 10 from d = 8,091,007 on." in result.output
    assert "At d = 100 it covers no kappa: even kappa = 1 needs d >= 727." in result.output
    assert "often converges" in result.output
    assert "TheoryWarning" not in result.output + result.stderr


def test_the_table_of_complexities_needs_nothing_else():
    result = run("--table")
    assert result.exit_code == 0
    assert result.output.strip() == str(complexity_table())


def test_both_figures_are_drawn(tmp_path):
    plot, picture = tmp_path / "plot.svg", tmp_path / "picture.png"
    result = run("--d", "3000", "--k-star", "12", "--plot", str(plot), "--picture", str(picture))
    assert result.exit_code == 0, result.output
    assert plot.read_bytes()[:5] == b"<?xml"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert str(plot) in result.output.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--d", "500", "--k-star", "600"), "`k_star` must be an integer in [1, d]"),
        (("--d", "500", "--k-star", "5", "--k", "501"), "`k` must be an integer in [5, d]"),
        (("--d", "500", "--k-star", "5", "--k", "250"), "`k` must satisfy 2 k + k_star <= d"),
        (("--d", "500", "--k-star", "5", "--kappa", "0.5"), "`kappa` must be"),
        (("--d", "500", "--k-star", "5", "--accuracy", "0"), "`accuracy` must be"),
        (("--d", "500"), "`--d` and `--k-star` must be given"),
        (("--d", "500", "--k-star", "5", "--budget", "1"), "`budget` must be an integer in [2"),
        (("--d", "500", "--k-star", "5", "--smoothness", "0"), "`smoothness` must be"),
        (("--d", "500", "--k-star", "200"), "`k_star` must be at most d / 3"),
        (("--d", "500", "--k-star", "5", "--plot", "plot.gif"), "must end in .png or .svg"),
        (
            ("--d", "500", "--k-star", "5", "--plot", "no/such/folder.png"),
            "must be in an existing folder",
        ),
    ],
)
def test_misuse_names_the_rule(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    # the box around the message wraps its lines
    flat = re.sub(r"[│╭╮╰╯─\s]+", " ", result.output + result.stderr)
    assert message in flat
