"""A run that opens its own store a second time, others at the store, and what is left of it.

``python opened_twice.py STORE killed``: another process lists the runs, then the run is killed.
``python opened_twice.py STORE ends``: the run ends while a third process has begun one of its own.
All wait for each other by pipes. Prints what was evaluated, what is stored and what was missing.
"""

import json
import multiprocessing
import sqlite3
import sys
from contextlib import closing

import numpy as np
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app

D, Q = 30, 5
OPENED_AT, STOPPED_AT = 60, 240
SETTINGS = {"k": 3, "method": "szoht", "options": {"q": Q}, "max_queries": 360}

fork = multiprocessing.get_context("fork")


class Measured:
    """A function that does something at some of its calls."""

    def __init__(self, actions):
        self.calls = 0
        self.actions = actions

    def __call__(self, x):
        self.calls += 1
        self.actions.get(self.calls, lambda: None)()
        return float(((x - np.arange(D) % 4) ** 2).sum())


class Process:
    """A forked process that waits for us at its pipe."""

    def __init__(self, action, path):
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=action, args=(path, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def next(self):
        """Return what it has to say when it waits or ends."""
        return self.pipe.recv()

    def end(self):
        self.process.join()
        self.pipe.close()


def wait(pipe):
    pipe.send(None)
    pipe.recv()


def run(path, pipe):
    def open_again():
        with szoht.Store(path, create=False) as store:
            store.runs()
        wait(pipe)

    fun = Measured({OPENED_AT: open_again, STOPPED_AT: lambda: wait(pipe)})
    szoht.minimize(fun, np.zeros(D), rng=0, store=path, **SETTINGS)
    pipe.send(fun.calls)


def run_another(path, pipe):
    fun = Measured({OPENED_AT: lambda: wait(pipe)})
    szoht.minimize(fun, np.zeros(D), rng=1, store=path, **SETTINGS)
    pipe.send(fun.calls)


def list_runs(path, pipe):
    pipe.send(CliRunner().invoke(app, ["runs", path, "--json"]).exit_code)


def main(path, how):
    first = Process(run, path)  # no store was opened in this process before it forks
    first.next()
    visitor = Process(list_runs, path)
    assert visitor.next() == 0
    visitor.end()
    evaluated = []
    if how == "killed":
        first.pipe.send(None)
        first.next()
        first.process.kill()
        first.end()
    else:
        second = Process(run_another, path)
        second.next()
        for _ in range(2):
            first.pipe.send(None)
            evaluated = [first.next()]
        first.end()
        second.pipe.send(None)
        evaluated.append(second.next())
        second.end()
    sys.stdout.write(json.dumps({"evaluated": evaluated} | what_is_left(path)))


def what_is_left(path):
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT sum(stop - start) FROM answers GROUP BY run ORDER BY run"
        stored = [count for (count,) in connection.execute(query)]
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
    with szoht.Store(path, create=False) as store:
        runs = store.runs()
    fun = Measured({})
    resumed = szoht.resume(path, fun, run=runs[0].name)
    whole = szoht.minimize(Measured({}), np.zeros(D), rng=0, **SETTINGS)
    return {
        "stored": stored,
        "integrity": integrity,
        "status": [summary.status for summary in runs],
        "missing": fun.calls,
        "same": resumed.x.tobytes() == whole.x.tobytes() and resumed.nfev == whole.nfev,
        "whole": whole.nfev,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
