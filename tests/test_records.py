"""What accompanies a release: changelog, citation and forms agree with the package."""

import re
from datetime import date
from pathlib import Path

import pytest
import yaml

import szoht

ROOT = Path(__file__).parent.parent
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml"))
GROUPS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.fixture(scope="module")
def sections():
    """The changelog's sections by their titles, newest first."""
    _, *parts = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    return dict(part.split("\n", 1) for part in parts)


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def number(version):
    return tuple(map(int, version.split(".")))


def test_changelog_and_citation_name_the_same_release(sections, citation):
    released = next(title for title in sections if title != "Unreleased")
    assert citation["version"] == released
    assert isinstance(citation["date-released"], date)
    # between two releases the package is on its way to the next one
    version, development, _ = szoht.__version__.partition(".dev")
    assert number(version) >= number(released)
    assert development or version == released


def test_the_newest_sections_are_in_groups(sections):
    for title in {"Unreleased", "0.2.0"} & sections.keys():
        groups = re.findall(r"^### (.*)$", sections[title], flags=re.M)
        assert groups
        assert set(groups) <= GROUPS
        assert len(set(groups)) == len(groups)


def test_links_of_the_documents_at_the_top_lead_to_files():
    for document in ROOT.glob("*.md"):
        targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
        assert [target for target in targets if not (ROOT / target).exists()] == [], document


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_has_questions_with_names_of_their_own(form):
    content = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= content.keys()
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert all(part["type"] in ("textarea", "dropdown", "input") for part in questions)
    assert all(part["attributes"]["label"] for part in questions)
    assert len({part["id"] for part in questions}) == len(questions) > 0


def test_the_form_for_errors_asks_for_what_the_warning_of_the_solver_names():
    (form,) = (path for path in FORMS if path.stem == "bug_report")
    text = form.read_text()
    assert all(name in text for name in ("szoht.show_versions()", "result.error", "store"))
