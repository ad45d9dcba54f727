"""What `make test` relies on: data that must not be missing, clusters that are started once."""

import runpy
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
DATA = """
    import pytest

    @pytest.mark.data
    def test_of_data():
        pytest.skip("no such file")

    @pytest.mark.data
    @pytest.mark.skipif(True, reason="no such file")
    def test_marked():
        pass

    def test_of_something_else():
        pytest.skip("no browser")
"""
CLUSTERS = """
    import os, pytest

    def test_first(): pass
    def test_dask(): open("processes", "a").write(f"{os.getpid()} ")
    def test_ray(): open("processes", "a").write(f"{os.getpid()} ")
    def test_last(): pass
"""


@pytest.fixture
def inner(pytester, monkeypatch):
    """Give a project with our `conftest.py` files merged into one."""
    monkeypatch.delenv("SZOHT_DATA", raising=False)
    pytester.makeini("[pytest]\nmarkers = data")
    parts = [(folder / "conftest.py").read_text() for folder in (HERE.parent, HERE)]
    pytester.makeconftest("\n".join(parts))
    return pytester


def test_without_data_its_tests_are_skipped(inner):
    inner.makepyfile(DATA)
    inner.runpytest_inprocess().assert_outcomes(skipped=3)


def test_with_data_a_test_that_does_not_find_it_fails(inner, monkeypatch):
    monkeypatch.setenv("SZOHT_DATA", "/folder/of/data")
    inner.makepyfile(DATA)
    result = inner.runpytest_inprocess()
    result.assert_outcomes(skipped=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["skipped, though SZOHT_DATA lists /folder/of/data: *no such*"])


def test_all_tests_of_clusters_run_in_one_process(inner):
    inner.makepyfile(test_a=CLUSTERS, test_b=CLUSTERS, test_c=CLUSTERS)
    inner.runpytest_subprocess("-n2", "--dist=loadfile").assert_outcomes(passed=12)
    processes = (inner.path / "processes").read_text().split()
    assert len(processes) == 6
    assert len(set(processes)) == 1


def test_a_test_of_a_cluster_has_the_name_by_which_it_is_grouped(inner):
    inner.makepyfile("def test_slowly(dask_client): pass")
    result = inner.runpytest_inprocess()
    result.stderr.fnmatch_lines(["*test_slowly uses the fixture dask_client; call it test_dask*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_files_that_are_named_exist():
    named = runpy.run_path(str(HERE.parent / "conftest.py"))
    files = [*named["FIRST"], *named["UNTRACED"]]
    assert [file for file in files if not (HERE.parent / file).is_file()] == []
