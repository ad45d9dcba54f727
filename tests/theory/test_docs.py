import inspect
import re
from pathlib import Path

import pytest

from szoht import theory

DOCS = Path(__file__).parents[2] / "docs"
FUNCTIONS = sorted(name for name in theory.__all__ if inspect.isfunction(getattr(theory, name)))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "recommend"])
def test_every_function_has_its_line_in_the_map(name):
    rows = [
        line for line in (DOCS / "theory.md").read_text("utf-8").splitlines() if line[:1] == "|"
    ]
    assert any(f"`{name}`" in row.split("|")[2] for row in rows)


def test_every_name_of_the_map_exists():
    text = (DOCS / "theory.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "`" in line]
    names = {n for row in rows for n in re.findall(r"`([a-z_]+)`", row.split("|")[2])}
    assert names - set(theory.__all__) == {"sigma"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_shows_an_example(name):
    text = inspect.getdoc(getattr(theory, name))
    assert ">>>" in text
