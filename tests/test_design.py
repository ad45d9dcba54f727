"""The document on the design shows what the code does."""

from pathlib import Path

from iteration_trace import picture

DOCUMENT = Path(__file__).parent.parent / "docs" / "design.md"


def test_the_picture_of_an_iteration_is_that_of_a_run():
    text = DOCUMENT.read_text()
    shown = text.partition("## One iteration")[2].partition("```\n")[2].partition("\n```")[0]
    assert shown == picture(), "print it with `python tests/iteration_trace.py`"


def test_the_tree_shows_the_packages():
    text = DOCUMENT.read_text()
    shown = text.partition("## The tree")[2].partition("```\n")[2].partition("```")[0]
    source = DOCUMENT.parent.parent / "src" / "szoht"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    assert packages == {word.strip("/") for word in shown.split() if word.endswith("/")} & packages
    assert packages <= {word.strip("/") for word in shown.split()}
