"""What the documents show of solvers holds for other seeds, too: they are run with five of them."""

import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

from outcomes import most_seeds

pytestmark = pytest.mark.statistical

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
@most_seeds(seeds=range(1, 6))
def test_assertions_hold_for_most_seeds(seed, document, tmp_path, monkeypatch):
    reseeded = re.sub(r"\brng=0\b", f"rng={seed}", document.read_text())
    (tmp_path / document.name).write_text(reseeded)
    monkeypatch.chdir(tmp_path)
    sybil = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"])
    for example in sybil.parse(tmp_path / document.name).examples():
        example.evaluate()
