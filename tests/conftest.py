"""Clusters on this machine, started once and only if a test wants them; and tests of real data."""

import os
import secrets
import warnings
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
SEARCH_PATH = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))


@pytest.fixture(scope="session")
def dask_client():
    """A scheduler, two workers with one thread each, and a client."""
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory):
    """A local Ray with two processors."""
    # Ray protects itself with a token; one of our own keeps it out of the home directory
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    os.environ.setdefault("RAY_AUTH_TOKEN_PATH", str(token))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray  # noqa: PLC0415

        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
            runtime_env={"env_vars": {"PYTHONPATH": SEARCH_PATH}},
        )
    yield ray
    ray.shutdown()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test of real data that skips although there is a folder of data."""
    report = yield
    folders = os.environ.get("SZOHT_DATA")
    if folders and report.skipped and item.get_closest_marker("data"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though SZOHT_DATA lists {folders}: {report.longrepr[-1]}"
    return report
