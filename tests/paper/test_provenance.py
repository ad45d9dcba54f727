import re
import shutil
import subprocess

import pytest

from szoht.core.version import __version__
from szoht.paper import provenance

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of a package that the module believes to lie in."""
    (tmp_path / "paper").mkdir()
    (tmp_path / "__init__.py").write_text("")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "paper" / "provenance.py"))
    return tmp_path


def git(folder, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([shutil.which("git"), "-C", str(folder), *identity, *arguments], check=True)


def commit():
    return provenance.commit.__wrapped__()


@needs_git
def test_the_commit_and_whether_files_differ_from_it(package):
    git(package, "init", "-q")
    git(package, "add", ".")
    git(package, "commit", "-q", "-m", "one")
    assert re.fullmatch("[0-9a-f]{12}", commit())
    (package / "new.py").write_text("")
    assert re.fullmatch("[0-9a-f]{12} \\+ changes", commit())


@needs_git
def test_a_package_inside_another_checkout_is_not_its_commit(package):
    git(package, "init", "-q")
    git(package, "commit", "-q", "--allow-empty", "-m", "another project")
    assert commit() == f"version {__version__}"


def test_without_git_there_is_the_version(package, monkeypatch):
    monkeypatch.setattr(provenance.shutil, "which", lambda name: None)
    assert commit() == f"version {__version__}"
