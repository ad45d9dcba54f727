"""Everything shown in docstrings and documents is executed by the tests."""

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

_documents = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], patterns=["*.md"])
_docstrings = Sybil(
    parsers=[DocTestParser()],
    patterns=["src/szoht/*.py", "src/szoht/**/*.py"],
)

pytest_collect_file = (_documents + _docstrings).pytest()

CLUSTERS = {"dask_client", "ray_cluster"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Tell pytest-xdist what to run in one process: a file, and everything that needs a cluster.

    The examples of a document build on one another, and a file's fixtures are made once. So are
    the clusters of this machine, whichever files ask for them; as they take longest, they go first.
    """
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        shared = CLUSTERS.intersection(getattr(item, "fixturenames", ()))
        item.add_marker(pytest.mark.xdist_group("clusters" if shared else item.path.stem))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group").args != ("clusters",))
