"""Everything shown in docstrings and documents is executed by the tests."""

import os
import signal

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

# before NumPy is imported: processes that each use every processor only disturb one another
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# the tests start processes by the hundred, and to compile the package takes as long as to import it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# the same examples on every machine; `make test-statistical` looks for others
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
# a shell ignores Ctrl-C for jobs in the background, and so would every process that tests start
signal.signal(signal.SIGINT, signal.default_int_handler)

_documents = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"])
_docstrings = Sybil(
    parsers=[DocTestParser()],
    patterns=["src/szoht/*.py", "src/szoht/**/*.py"],
)

pytest_collect_file = (_documents + _docstrings).pytest()

CLUSTERS = {"dask_client": "test_dask", "ray_cluster": "test_ray"}
"""How tests that need a cluster are called, by its fixture: processes are given names only."""

UNTRACED = (
    "tests/algorithms/auto/test_endings.py",
    "tests/algorithms/auto/test_feasible.py",
    "tests/algorithms/auto/test_integers.py",
    "tests/algorithms/auto/test_noisy.py",
    "tests/algorithms/auto/test_rough.py",
    "tests/algorithms/auto/test_solver.py",
    "tests/algorithms/auto/test_structures.py",
    "tests/conformance/test_conformance.py",
    "tests/core/test_distributions.py",
    "tests/estimators/test_sphere.py",
    "tests/problems/test_portfolio.py",
    "tests/run/test_always.py",
    "tests/store/test_crafted.py",
    "tests/store/test_extended.py",
)
"""Long files that only repeat lines which other tests run: coverage would double their time."""

FIRST = (
    "tests/test_benchmarks.py",
    "tests/evaluation/executors/test_orphans.py",
    "tests/conformance/test_conformance.py",
    "tests/algorithms/auto/test_noisy.py",
    "tests/problems/test_portfolio.py",
    "tests/store/test_crafted.py",
    "tests/algorithms/auto/test_endings.py",
    "tests/algorithms/auto/test_structures.py",
)
"""The longest files: one that came last would leave the other process idle."""

SLOW = (
    "docs/auto.md",
    "tests/algorithms/auto/test_connected.py",
    "tests/algorithms/auto/test_criteria.py",
    "tests/algorithms/auto/test_endings.py",
    "tests/algorithms/auto/test_feasible.py",
    "tests/algorithms/auto/test_finite_sums.py",
    "tests/algorithms/auto/test_gradients.py",
    "tests/algorithms/auto/test_integers.py",
    "tests/algorithms/auto/test_known.py",
    "tests/algorithms/auto/test_limits.py",
    "tests/algorithms/auto/test_model_exchange.py",
    "tests/algorithms/auto/test_noisy.py",
    "tests/algorithms/auto/test_noisy_units.py",
    "tests/algorithms/auto/test_rough.py",
    "tests/algorithms/auto/test_simulations.py",
    "tests/algorithms/auto/test_structures.py",
    "tests/algorithms/auto/test_units.py",
    "tests/algorithms/auto/test_wide_plans.py",
    "tests/algorithms/calibration",
    "tests/algorithms/test_auto_samples.py",
    "tests/algorithms/test_bounds.py",
    "tests/algorithms/test_sketch_ht.py",
    "tests/algorithms/test_variance_reduced.py",
    "tests/algorithms/test_zoro.py",
    "tests/algorithms/test_zscg.py",
    "tests/algorithms/vertex",
    "tests/applications",
    "tests/cli/test_calibrate.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_hostile_files.py",
    "tests/cli/test_interruption.py",
    "tests/cli/test_portfolio_cli.py",
    "tests/cli/test_report.py",
    "tests/cli/test_reproduce_cli.py",
    "tests/cli/test_store_cli.py",
    "tests/cli/test_variables_cli.py",
    "tests/cli/test_watching.py",
    "tests/conformance",
    "tests/core/test_distributions.py",
    "tests/estimators/test_chosen_radius.py",
    "tests/estimators/test_sphere.py",
    "tests/evaluation/executors",
    "tests/paper",
    "tests/problems/test_portfolio.py",
    "tests/problems/test_structured.py",
    "tests/run/test_always.py",
    "tests/run/test_components.py",
    "tests/run/test_endings.py",
    "tests/run/test_least_squares.py",
    "tests/store/test_crafted.py",
    "tests/store/test_extended.py",
    "tests/store/test_killed.py",
    "tests/store/test_other_processors.py",
    "tests/store/test_parts.py",
    "tests/store/test_read_only.py",
    "tests/test_benchmarks.py",
    "tests/test_conftest.py",
    "tests/test_public_api.py",
    "tests/theory/test_estimator.py",
    "tests/theory/test_recommend.py",
)
"""What ``--quick`` leaves out: files of two seconds and more, and folders that are much like them.

The tests of the default solver, of resuming and of problems stay, long as they are. Whatever
needs one of the largest packages is among those that are left out.
"""


def pytest_addoption(parser):
    """Add the selection of ``make quick``."""
    parser.addoption("--quick", action="store_true", help="leave out the slow files of tests")


def pytest_ignore_collect(collection_path, config):
    """Do not even import what is left out."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if config.getoption("quick") and name in SLOW else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run each file in one process, and in one process everything that needs a cluster.

    The examples of a document build on one another, and the fixtures of a file are made once. So
    are the clusters, whichever files ask for them. (Of pytest-xdist's own ways, ``loadgroup``
    would do this, but with pytest 9.2 it no longer groups.)
    """
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415

    class Scheduler(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file, _, name = nodeid.partition("::")
            return "clusters" if name.partition("[")[0] in CLUSTERS.values() else file

    return Scheduler(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items):
    """Put first what takes longest, check the names of tests of clusters, trace what is needed."""
    for item in items:
        for fixture in CLUSTERS.keys() & set(getattr(item, "fixturenames", ())):
            if item.originalname != CLUSTERS[fixture]:
                raise pytest.UsageError(
                    f"{item.nodeid} uses the fixture {fixture}; call it {CLUSTERS[fixture]}, so "
                    "that all of its kind run in one process."
                )
        if _file(item) in UNTRACED:
            item.add_marker("no_cover")
    items.sort(key=_rank)


def _file(item):
    return item.nodeid.partition("::")[0]


def _rank(item):
    if getattr(item, "originalname", None) in CLUSTERS.values():
        return -1
    return FIRST.index(_file(item)) if _file(item) in FIRST else len(FIRST)
