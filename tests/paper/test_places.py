"""docs/paper.md: generated, complete, and about things that exist."""

import importlib
import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from szoht.errors import ParameterError
from szoht.paper import places as module
from szoht.paper import read_claims
from szoht.paper.places import Place, places_page, read_places
from szoht.paper.verdicts import read_verdicts

ROOT = Path(__file__).parent.parent.parent
PLACES = read_places()
PAGE = ROOT / "docs" / "paper.md"


def test_the_page_is_the_generated_one():
    generated = places_page(PLACES, read_claims(), read_verdicts())
    assert PAGE.read_text("utf-8") == generated, (
        "docs/paper.md is out of date: run `python -m szoht.paper.places docs/paper.md`"
    )


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.section}: {place.item}")
def test_every_name_of_a_place_can_be_imported(place):
    for name in place.library:
        found, parts = importlib.import_module("szoht"), name.split(".")[1:]
        for count, part in enumerate(parts):
            if not hasattr(found, part):
                importlib.import_module(".".join(["szoht", *parts[: count + 1]]))
            found = getattr(found, part)


def test_every_test_of_a_place_exists():
    for place in PLACES:
        for test in place.tests:
            file, _, function = test.partition("::")
            text = (ROOT / "tests" / file).read_text("utf-8")
            assert f"def {function or 'test_'}" in text, test


def test_every_claim_has_its_place():
    claims = read_claims()
    placed = {claim.id for place in PLACES for claim in place.find_claims(claims)}
    assert {claim.id for claim in claims} - placed == set()


def test_every_row_is_full():
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) > len(PLACES)
    for row in rows:
        cells = row.replace("\\|", "").strip("|").split("|")
        assert all(cell.strip() for cell in cells), row


def test_every_numbered_statement_of_the_paper_has_a_place():
    items = " ".join(place.item for place in PLACES)
    wanted = [f"Assumption {i}" for i in range(1, 5)] + [f"Remark {i}" for i in range(1, 6)]
    wanted += [f"Lemma B.{i}" for i in range(1, 5)] + [f"Lemma C.{i}" for i in range(1, 4)]
    wanted += ["Proposition 1", "Theorem 1", "Corollary 1", "Corollary 2", "Corollary B.1"]
    wanted += ["Algorithm 1", "Table 1"]
    assert [name for name in wanted if name not in items] == []


def test_a_place_that_says_nothing_is_refused():
    with pytest.raises(ParameterError, match="'nowhere'"):
        Place(section="s", item="nowhere", says="nothing", library=["szoht.minimize"])
    place = replace(PLACES[0], claims=["no-such-claim"])
    with pytest.raises(ParameterError, match="no-such-claim"):
        place.find_claims(read_claims())


def test_a_verdict_on_another_target_is_not_shown():
    claim = next(one for one in read_claims() if one.id == "conflict-lemma")
    place = replace(PLACES[0], call="", tests=(), claims=["conflict-lemma"], section="S")
    record = {"verdict": "holds", "target": claim.format_target(quick=False), "measured": "0.5"}
    run = {"commit": "abc", "date": "2022-11-28", "cpu_seconds": 90, "curves": 2}

    def page(**changes):
        claims = {"conflict-lemma": record | changes}
        return places_page([place], [claim], {"conflict": {**run, "claims": claims}})

    assert "| 1 holds | conflict-lemma: 0.5. |" in page()
    assert "2022-11-28, commit abc: 2 curves, 1 min 30 s of processor time" in page()
    assert "| 1 not run since its target changed | None yet. |" in page(target="≤ 2")
    assert "| 1 not run at full size | None yet. |" in places_page([place], [claim], {})


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "__file__", str(tmp_path / "places.py"))  # its own record is there
    module.main([str(tmp_path / "paper.md")])
    assert (tmp_path / "paper.md").read_text("utf-8") == PAGE.read_text("utf-8")
    with pytest.raises(SystemExit, match="usage"):
        module.main([])


def test_verdicts_are_of_claims_that_exist():
    ids = {claim.id for claim in read_claims()}
    for run in read_verdicts().values():
        assert set(run["claims"]) <= ids


def test_fields_of_the_file_are_explained():
    text = (resources.files("szoht.paper") / "places.toml").read_text("utf-8")
    head = text[: text.index("[[place]]")]
    for entry in tomllib.loads(text)["place"]:
        assert all(f"#   {name} " in head for name in entry), entry["item"]
