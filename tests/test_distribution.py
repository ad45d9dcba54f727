"""What is published: the source archive can be tested by itself, the wheel has all of its data."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

build = pytest.importorskip("hatchling.build")

ROOT = Path(__file__).parent.parent
DATA = (".json", ".toml", ".npz", ".LICENSE", ".typed")
RECORDS = ("CHANGELOG.md", "CITATION.cff", "SECURITY.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dist")


@pytest.fixture(scope="module")
def in_sdist(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        with tarfile.open(folder / build.build_sdist(str(folder))) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def in_wheel(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        with zipfile.ZipFile(folder / build.build_wheel(str(folder))) as archive:
            return set(archive.namelist())


def files(folder):
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_source_archive_has_everything_that_its_tests_use(in_sdist):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    singles = {path for path in wanted if (ROOT / path).is_file()}
    singles |= {"conftest.py", "pyproject.toml", "Makefile", "LICENSE", *RECORDS}
    assert singles <= in_sdist
    for folder in ("src", "tests", "docs", "examples", "benchmarks", ".github"):
        assert files(folder) - in_sdist == set()


def test_the_source_archive_has_nothing_that_was_made_here(in_sdist):
    assert not [name for name in in_sdist if name.startswith((".venv", "out/", "build/", ".mypy"))]
    assert not [name for name in in_sdist if "__pycache__" in name]


def test_the_wheel_has_the_data_of_the_package(in_wheel):
    wanted = {name.removeprefix("src/") for name in files("src") if name.endswith((".py", *DATA))}
    assert "szoht/problems/orlib.npz" in wanted
    assert wanted - in_wheel == set()
    assert {name.partition("/")[0] for name in in_wheel if ".dist-info" not in name} == {"szoht"}
