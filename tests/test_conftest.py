"""What `make test` relies on: data that must not be missing, clusters that are started once."""

import os
import runpy
import shutil
import subprocess
import sys
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
    names = [*named["FIRST"], *named["UNTRACED"], *named["SLOW"]]
    assert [name for name in names if not (HERE.parent / name).exists()] == []
    assert list(named["SLOW"]) == sorted(set(named["SLOW"]))


def test_what_is_slow_is_not_even_imported(inner):
    (inner.path / "tests").mkdir()
    for name in ("test_benchmarks.py", "test_house.py"):
        (inner.path / "tests" / name).write_text("def test_one(): pass")
    inner.runpytest_inprocess("tests").assert_outcomes(passed=2)
    inner.runpytest_inprocess("tests", "--quick").assert_outcomes(passed=1)


USES_DATA = ("@pytest.mark.data", "@needs_orlib")


@pytest.mark.parametrize("given", [False, True])
def test_tests_of_data_are_skipped_without_any_and_fail_in_a_folder_that_lacks_it(given, tmp_path):
    """The ones of this project, in an empty folder: nothing of the machine may help them."""
    files = [
        path
        for path in HERE.rglob("test_*.py")
        if path != Path(__file__) and any(mark in path.read_text() for mark in USES_DATA)
    ]
    at_home = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "data", "-p", "no:cacheprovider", "-q", *files],
        cwd=HERE.parent,
        env=os.environ | {"SZOHT_DATA": str(tmp_path) if given else "", **at_home},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    last = done.stdout.splitlines()[-1]
    expected, other = ("failed", "skipped") if given else ("skipped", "failed")
    assert expected in last, done.stdout
    assert other not in last, done.stdout
    assert "passed" not in last, done.stdout


def test_nothing_else_asks_where_data_is():
    asking = [
        path.relative_to(HERE).as_posix()
        for path in sorted(HERE.rglob("*.py"))
        if path != Path(__file__) and 'environ.get("SZOHT_DATA"' in path.read_text()
    ]
    assert asking == ["conftest.py", "reference/orlib_files.py"]


def test_the_script_of_continuous_integration_can_be_read():
    script, bash = HERE.parent / ".ci" / "run", shutil.which("bash")
    if not script.exists() or bash is None:
        pytest.skip("no script, or no shell")
    subprocess.run([bash, "-n", script], check=True, timeout=60)
