"""A Dask scheduler and its workers as processes of their own, for tests that kill them."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

SEARCH_PATH = os.pathsep.join(
    filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
)


@contextmanager
def process(*arguments, **environment):
    """Start a process, and end it by its id whatever happens."""
    child = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": SEARCH_PATH, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait(10)


def scheduler(file):
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    return process("distributed.cli.dask_scheduler", *options)


def worker(file, **environment):
    options = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
    return process("distributed.cli.dask_worker", *options, "--scheduler-file", file, **environment)
