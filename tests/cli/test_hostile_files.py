"""Files of strangers on the command line: whatever they hold is read, or refused in words."""

import pytest
import typer
from typer.testing import CliRunner

from hostile import CONTENTS
from szoht.cli.app import app

MODULE = """
def fun(x):
    return float(((x - 1) ** 2).sum())
def outputs(x):
    return [float(x[0]), float(x[1])]
"""

FEW = ("-k", "1", "--budget", "10", "--quiet")
SOLVE = ("solve", "model_of_hostile:fun", *FEW)
CALIBRATE = ("calibrate", "model_of_hostile:outputs", "--dim", "2", *FEW)
PROGRAM = ("--dim", "3", "--retries", "0", *FEW)
SIMULATOR = ("calibrate", "--observed", "observed.csv", *PROGRAM)
CONSTRAINED = ("solve", "model_of_hostile:fun", "--dim", "4", "--budget", "10", "--quiet")
BOX = '{"set": "sparse_box", "k": 1, "low": "x.npy", "high": 1}'
PORTFOLIO = ("-k", "1", "--budget", "30", "--no-frontier", "--json")

READERS = {
    "variables": ("x.csv", *SOLVE, "--variables", "x.csv"),
    "known evaluations": ("x.csv", *SOLVE, "--variables", "good.csv", "--known", "x.csv"),
    "evaluations of a store": ("x.db", *SOLVE, "--variables", "good.csv", "--known", "x.db"),
    "start, JSON": ("x.json", *SOLVE, "--x0", "x.json"),
    "start, NPY": ("x.npy", *SOLVE, "--x0", "x.npy"),
    "reference": ("x.json", *SOLVE, "--reference", "x.json"),
    "unit": ("x.json", *SOLVE, "--dim", "2", "--unit", "x.json"),
    "bounds": ("x.json", *SOLVE, "--dim", "2", "--bounds", "x.json"),
    "constraint": ("x.json", *CONSTRAINED, "--constraint", "x.json"),
    "array of a constraint": ("x.npy", *CONSTRAINED, "--constraint", BOX),
    "observed, CSV": ("x.csv", *CALIBRATE, "--observed", "x.csv"),
    "observed, JSON": ("x.json", *CALIBRATE, "--observed", "x.json"),
    "observed, NPY": ("x.npy", *CALIBRATE, "--observed", "x.npy"),
    "sigma": ("x.json", *CALIBRATE, "--observed", "observed.csv", "--sigma", "x.json"),
    "prices": ("x.csv", "portfolio", "x.csv", *PORTFOLIO),
    "prices, filled": ("x.csv", "portfolio", "x.csv", "--missing", "forward-fill", *PORTFOLIO),
    "returns": ("x.csv", "portfolio", "x.csv", "--returns", *PORTFOLIO),
    "market": ("x.txt", "portfolio", "x.txt", *PORTFOLIO),
    "answers": ("x.json", "tell", "asked.db", "--answers", "x.json"),
    "value of a program": ("x", "solve", "--command", "cat x", *PROGRAM),
    "value in a file": (
        *("x", "solve", "--command", "cp x {output}", "--output-format", "npy"),
        *PROGRAM,
    ),
    "outputs, JSON": ("x", *SIMULATOR, "--command", "cat x"),
    "outputs, CSV": ("x", *SIMULATOR, "--command", "cat x", "--output-format", "csv"),
    "outputs, NPY": ("x", *SIMULATOR, "--command", "cp x {output}", "--output-format", "npy"),
    "store": ("x.db", "runs", "x.db"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "model_of_hostile.py").write_text(MODULE)
    (folder / "good.csv").write_text("name,nominal,low,high\na,1,0,5\nb,2,0,5\n")
    (folder / "observed.csv").write_text("1\n2\n")
    store = str(folder / "asked.db")
    ask = ["ask", store, "--new", "--dim", "6", "-k", "2", "--budget", "40"]
    assert CliRunner().invoke(app, ask).exit_code == 0
    return folder


COMMAND = typer.main.get_command(app)  # once, for speed


def complaint(arguments):
    """Return what is unexpected about the end of a command, None if nothing is."""
    try:
        COMMAND.main(arguments, standalone_mode=False)
    except typer.BadParameter as error:
        return None if error.message.strip() else "not a word"
    except Exception as error:
        return repr(error)
    return None


@pytest.mark.filterwarnings("ignore::szoht.errors.SzohtWarning")
@pytest.mark.parametrize("reader", READERS)
def test_whatever_a_file_holds(folder, monkeypatch, capsys, reader):
    monkeypatch.chdir(folder)
    name, *command = READERS[reader]
    unexpected = {}
    for content, data in CONTENTS.items():
        (folder / name).write_bytes(data)
        unexpected[content] = complaint(command)
    assert not {content: what for content, what in unexpected.items() if what}
    assert "\x1b" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("content", CONTENTS)
def test_answers_on_standard_input(folder, content):
    store = str(folder / "asked.db")
    run = CliRunner().invoke(app, ["tell", store], input=CONTENTS[content])
    assert isinstance(run.exception, SystemExit | None), run.exception
    assert "\x1b" not in run.output
