"""The command line's entry point."""

import subprocess
import sys

import pytest

import szoht
from szoht import cli


def szoht_command(*arguments, code="import sys; from szoht.cli import main; main()"):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_version():
    run = szoht_command("--version")
    assert run.returncode == 0
    assert run.stdout.strip() == f"szoht {szoht.__version__}"


def test_the_module_is_the_command():
    ran = subprocess.run(
        [sys.executable, "-m", "szoht", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip().endswith(szoht.__version__)


def test_help():
    run = szoht_command("--help")
    assert run.returncode == 0
    assert "Sparse black-box optimization" in run.stdout


def test_unknown_commands_fail():
    assert szoht_command("nonsense").returncode == 2


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['typer'] = None; from szoht.cli import main; main()"
    run = szoht_command("--version", code=code)
    assert run.returncode == 1
    assert "pip install 'szoht[cli]'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("szoht", ("rich", "typer", "matplotlib", "pandas", "scipy", "torch")),
        ("szoht.cli.app", ("matplotlib", "pandas", "scipy", "torch")),
    ],
)
def test_what_is_slow_to_import_waits_until_it_is_used(module, unwanted):
    """SciPy takes as long as all the rest, in each worker process again."""
    code = f"import sys, {module}; print([m for m in {unwanted} if m in sys.modules])"
    assert szoht_command(code=code).stdout.strip() == "[]"


def test_main_is_the_entry_point():
    assert callable(cli.main)


def test_a_missing_file_is_named_without_its_number():
    run = szoht_command("portfolio", "nosuch.csv", "-k", "2")
    assert run.returncode != 0
    assert "nosuch.csv: No such file or directory." in " ".join(run.stderr.split())
    assert "Errno" not in run.stderr
