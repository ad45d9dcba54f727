"""No program outlives its run: not its process, not what it started, not its folder."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from dask_processes import scheduler, worker

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")

SECONDS = 120
"""How long anything is waited for; every case ends much earlier unless it fails."""

MARKERS = count(100_000 + 1_000 * (os.getpid() % 1_000))

SCRIPT = """
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
import numpy as np
import szoht
from szoht.executors import Dask, Processes, Serial, Threads

def dask():
    from distributed import Client, LocalCluster
    options = dict(threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    return Dask(Client(LocalCluster(1, **options)))

def dask_elsewhere():
    from distributed import Client
    return Dask(Client(scheduler_file=sys.argv[4]))

EXECUTORS = {
    "none": lambda: None,
    "Serial": Serial,
    "Threads": lambda: Threads(2),
    "Processes": lambda: Processes(2),
    "ThreadPoolExecutor": lambda: ThreadPoolExecutor(2),
    "spawned pool": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    "forked pool": lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")),
    "Dask": dask,
    "Dask elsewhere": dask_elsewhere,
}

if __name__ == "__main__":
    name, marker, timeout = sys.argv[1:4]
    # it starts another program, and both would run for more than a day
    program = szoht.Program(command=["sh", "-c", 'sleep "$0" & sleep "$0"', marker])
    rules = {"timeout": float(timeout), "retries": 0} if float(timeout) else {}
    try:
        result = szoht.minimize(
            program, np.zeros(5), k=2, method="szoht", max_queries=50, rng=0,
            executor=EXECUTORS[name](), **rules,
        )
    except KeyboardInterrupt as stop:
        print(stop.result.status.name, flush=True)
        sys.exit(130)
    print(result.status.name, flush=True)
"""


class Starter:
    """Starts scripts in forks of one interpreter; see `started.py`."""

    def __init__(self):
        self.server = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("started.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, **order):
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return Started(int(self.server.stdout.readline()), self.server.stdout)

    def close(self):
        self.server.stdin.close()
        self.server.wait(SECONDS)
        self.server.stdout.close()


class Started:
    """A process that the server has started."""

    def __init__(self, pid, reports):
        self.pid, self.reports, self.code = pid, reports, None

    def wait(self):
        """Return how the process ended, as `subprocess.Popen` does."""
        if self.code is None:
            assert select.select([self.reports], [], [], SECONDS)[0], f"{self.pid} goes on"
            self.code = int(self.reports.readline())
        return self.code

    def send(self, number):
        os.kill(self.pid, number)


@pytest.fixture(scope="module")
def starter():
    starter = Starter()
    yield starter
    starter.close()


class Case:
    """A script that evaluates a program, and what is left of it."""

    def __init__(self, starter, folder):
        self.starter = starter
        self.marker = str(next(MARKERS))
        self.tmp = folder / "tmp"
        self.tmp.mkdir()
        self.log = folder / "log"
        self.script = folder / "script.py"
        self.script.write_text(SCRIPT)

    @contextmanager
    def start(self, *arguments, **what):
        order = {"arguments": arguments, "log": str(self.log), "tmp": str(self.tmp), **what}
        process = self.starter.start(**order)
        try:
            yield process
        finally:
            for pid in [*self.programs(), *([process.pid] if process.code is None else [])]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def run(self, executor, timeout=0.0, *more):
        return self.start(executor, self.marker, str(timeout), *more, script=str(self.script))

    @property
    def said(self):
        """What the script wrote, without what CPython 3.11 may add where a pool of its own broke.

        At the exit of the interpreter such a pool may be woken by a pipe that it has just closed.
        """
        text = self.log.read_text()
        race = "concurrent/futures/process.py" in text and "Bad file descriptor" in text
        return text.partition("Exception ignored in: <module 'threading'")[0] if race else text

    def programs(self):
        return [pid for pid, arguments in processes() if arguments[:2] == ["sleep", self.marker]]

    def wait_for_programs(self):
        assert eventually(lambda: len(self.programs()) >= 2), self.log.read_text()

    def assert_nothing_is_left(self):
        assert eventually(lambda: not self.programs())
        assert eventually(lambda: not list(self.tmp.glob("szoht-*"))), list(self.tmp.iterdir())


def processes():
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                arguments = (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            yield int(folder.name), arguments.split("\0")[:-1]


def eventually(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def case(starter, tmp_path):
    return Case(starter, tmp_path)


QUICK = ["none", "Serial", "Threads", "Processes", "ThreadPoolExecutor"]
POOLS = ["spawned pool", "forked pool"]


@pytest.mark.parametrize("executor", [*QUICK, *POOLS])
def test_interrupts(executor, case):
    with case.run(executor) as process:
        case.wait_for_programs()
        process.send(signal.SIGINT)
        assert process.wait() == 130, case.log.read_text()
        case.assert_nothing_is_left()
    assert case.said == "INTERRUPTED\n"


# no handler is installed for SIGTERM and SIGHUP, so that they end a process as SIGKILL does
DEATHS = [(executor, signal.SIGKILL) for executor in (*QUICK, *POOLS)] + [
    (executor, number)
    for executor in ("none", "Threads", "Processes")
    for number in (signal.SIGTERM, signal.SIGHUP)
]


@pytest.mark.parametrize(("executor", "number"), DEATHS)
def test_the_death_of_the_parent(executor, number, case):
    with case.run(executor) as process:
        case.wait_for_programs()
        process.send(number)
        assert process.wait() == -number
        case.assert_nothing_is_left()
    assert "Traceback" not in case.log.read_text()  # workers go quietly


@pytest.mark.parametrize("executor", ["Threads", "Processes", "ThreadPoolExecutor", *POOLS])
def test_timeouts(executor, case):
    with case.run(executor, 0.5 if executor in QUICK else 2.0) as process:
        assert process.wait() == 0, case.log.read_text()
        case.assert_nothing_is_left()
    assert case.said == "FAILED\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and a worker without a nanny, as on a cluster that others have started."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("dask")
    file = str(folder / "scheduler.json")
    with scheduler(file), worker(file, TMPDIR=str(folder)):
        yield file


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, None], ids=str)
def test_a_cluster_that_goes_on(number, case, cluster):
    case.tmp = Path(cluster).parent
    with case.run("Dask elsewhere", 0.0 if number else 0.5, cluster) as process:
        case.wait_for_programs()
        if number:
            process.send(number)
        process.wait()
        case.assert_nothing_is_left()
    if number != signal.SIGKILL:
        assert case.log.read_text() == ("INTERRUPTED\n" if number else "FAILED\n")


def test_a_cluster_of_the_parent(case):
    pytest.importorskip("distributed")
    with case.run("Dask") as process:
        case.wait_for_programs()
        process.send(signal.SIGKILL)
        case.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, "1"), (signal.SIGTERM, "1"), (signal.SIGHUP, "2"), (signal.SIGKILL, "2")],
)
def test_the_command_line(number, workers, case):
    pytest.importorskip("typer")
    program = f"sh -c 'sleep $0 & sleep $0' {case.marker}"
    command = ["solve", "--command", program, "--dim", "5", "-k", "2", "--budget", "50"]
    with case.start(*command, "--workers", workers, module="szoht") as process:
        case.wait_for_programs()
        process.send(number)
        assert process.wait() == (-number if number == signal.SIGKILL else 128 + number)
        case.assert_nothing_is_left()
    assert ("interrupted" in case.log.read_text()) == (number != signal.SIGKILL)


def test_what_a_program_leaves_behind_ends_with_it(case):
    case.script.write_text(f"""
import numpy as np, szoht
print(szoht.Program(command=["sh", "-c", "sleep {case.marker} & echo 1.5"])(np.zeros(2)))
""")
    with case.start(script=str(case.script)) as process:
        assert process.wait() == 0, case.log.read_text()
        case.assert_nothing_is_left()
    assert case.log.read_text() == "1.5\n"


def test_a_worker_that_dies_by_itself(case):
    with case.run("Processes") as process:
        case.wait_for_programs()
        (pid, *_) = [pid for pid, arguments in processes() if is_worker_of(process.pid, pid)]
        running = len(case.programs())
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: len(case.programs()) != running)
        process.send(signal.SIGINT)
        process.wait()
        case.assert_nothing_is_left()


def is_worker_of(parent, pid):
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return int(words[1]) == parent and b"spawn_main" in line
