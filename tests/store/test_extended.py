"""A finished run with a raised limit, killed at any moment: a plain resume goes on."""

import os
import shutil
import sqlite3

import numpy as np
import pytest

import szoht
from szoht import SparseBox, algorithms
from szoht.result import Status

D = 30
TARGET = np.zeros(D)
TARGET[[3, 7]] = [1.0, 2.0]
BOX = SparseBox(3, -2.0, 2.0)
SMALL = {"q": 3, "step_size": 0.01}

PROBLEMS = {
    "corner_search": {"constraint": BOX},
    "sparse_rs": {"constraint": BOX},
    "zscg": {"options": {"radius": 3.0}},
    "zo_projected_gradient": {"options": {"radius": 3.0}},
    "rspgf": {},
    "vr_szht": {"k": 3, "n_samples": 4, "options": SMALL},
    "sarah_szht": {"k": 3, "n_samples": 4, "options": SMALL},
    "saga_szht": {"k": 3, "n_samples": 4, "options": SMALL},
    "stoiht": {"k": 3, "n_samples": 4, "gradient": lambda x, sample: 2 * (x - TARGET)},
    "iht": {"k": 3, "gradient": lambda x: 2 * (x - TARGET)},
}

LIMITS = {
    "auto": (40, 120),
    "sarah_szht": (250, 700),
    "vr_szht": (250, 700),
    # these four end on a measurement that is no part of the longer run
    "momentum_szoht": (300, 900),
    "truncated_zsgd": (300, 900),
    "zo_adamm": (300, 900),
    "zscg": (300, 900),
}
DEFAULT_LIMITS = (110, 330)


class Killed(BaseException):
    """Ends a process as far as the library is concerned: it may not do anything afterwards."""


class Dying:
    """A function that copies the store as it is, and dies, at a call."""

    def __init__(self, at=None, store=None):
        self.at, self.store, self.calls = at, store, 0

    def __call__(self, x, sample=None):
        self.calls += 1
        if self.calls == self.at:
            for end in ("", "-wal"):
                if os.path.exists(f"{self.store}{end}"):  # noqa: PTH110
                    shutil.copy(f"{self.store}{end}", f"{self.store}.killed{end}")
            raise Killed
        return float(((x - TARGET) ** 2).sum())


def problem(method):
    settings = PROBLEMS.get(method, {"k": 3})
    given = {"gradient": settings["gradient"]} if "gradient" in settings else {}
    return {"method": method, "rng": 0} | settings, given


def extended(store, method, at):
    """Finish a run, extend it, and return the store as it was when the process died."""
    settings, given = problem(method)
    short, long = LIMITS.get(method, DEFAULT_LIMITS)
    first = szoht.minimize(Dying(), np.zeros(D), max_queries=short, store=store, **settings)
    assert first.status in (Status.QUERIES, Status.CONVERGED)
    dying = Dying(at, store)
    with pytest.raises(Killed):
        szoht.resume(store, dying, run=first.run, max_queries=long, **given)
    return store.with_name(f"{store.name}.killed"), first


@pytest.mark.parametrize("at", [pytest.param(1, marks=pytest.mark.statistical), 100])
@pytest.mark.parametrize("method", sorted(algorithms.METHODS))
def test_killed_while_it_is_extended(tmp_path, method, at):
    settings, given = problem(method)
    short, long = LIMITS.get(method, DEFAULT_LIMITS)
    whole = szoht.minimize(Dying(), np.zeros(D), max_queries=long, **settings)
    if method == "auto":  # plans with its budget, so an extended run is another one
        store = tmp_path / "whole.db"
        szoht.minimize(Dying(), np.zeros(D), max_queries=short, store=store, **settings)
        whole = szoht.resume(store, Dying(), max_queries=long, **given)
    points = szoht.minimize(Dying(), np.zeros(D), max_queries=short, **settings).counts.points
    at = min(at, whole.counts.points - points)
    killed, _ = extended(tmp_path / "runs.db", method, at)
    result = szoht.resume(killed, Dying(), **given)
    assert result.x.tobytes() == whole.x.tobytes()
    assert (result.fun, result.nfev, result.status) == (whole.fun, whole.nfev, whole.status)
    assert szoht.resume(killed, Dying(at=1), **given).nfev == whole.nfev


@pytest.mark.parametrize("method", ["momentum_szoht", "zo_adamm", "truncated_zsgd", "zscg"])
def test_killed_at_each_step_of_going_on(tmp_path, monkeypatch, method):
    """Before the transaction the run is finished as it was, after it the run goes on."""
    settings, _ = problem(method)
    short, long = LIMITS[method]
    store = tmp_path / "runs.db"
    first = szoht.minimize(Dying(), np.zeros(D), max_queries=short, store=store, **settings)
    whole = szoht.minimize(Dying(), np.zeros(D), max_queries=long, **settings)
    statements = []
    connect = sqlite3.connect

    def copied(statement):
        writes = statement.startswith(("BEGIN", "DELETE", "INSERT", "UPDATE", "COMMIT"))
        if writes and len(statements) < 12:
            statements.append(statement)
            for end in ("", "-wal"):
                shutil.copy(f"{store}{end}", f"{store}.{len(statements)}{end}")

    def traced(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(copied)
        return connection

    monkeypatch.setattr("sqlite3.connect", traced)
    szoht.resume(store, Dying(), run=first.run, max_queries=long)
    monkeypatch.undo()
    assert any("UPDATE answers SET round" in statement for statement in statements)
    ends = []
    for number in range(1, len(statements) + 1):
        result = szoht.resume(f"{store}.{number}", Dying())
        ends.append(result.nfev)
        assert result.nfev in (first.nfev, whole.nfev)
        expected = first if result.nfev == first.nfev else whole
        assert result.x.tobytes() == expected.x.tobytes()
    assert ends == sorted(ends)
    assert ends[0] == first.nfev
    assert ends[-1] == whole.nfev


def test_what_measured_the_end_is_kept(tmp_path):
    """It is no part of the longer run, and does not count; but it was evaluated."""
    settings, _ = problem("zscg")
    store, (short, long) = tmp_path / "runs.db", LIMITS["zscg"]
    first = szoht.minimize(Dying(), np.zeros(D), max_queries=short, store=store, **settings)
    more = Dying()
    result = szoht.resume(store, more, run=first.run, max_queries=long)
    assert result.nfev == first.nfev + more.calls - 1
    with szoht.Store(store) as file:
        rounds = file.open_readonly().rounds
        assert rounds.lowest == -1
        aside = next(rounds.all())
        (measured,) = aside.known.values()
    assert measured.values[0, 0] == first.fun


def test_the_snapshot_is_still_shown(tmp_path):
    killed, first = extended(tmp_path / "runs.db", "zscg", 2)
    with szoht.Store(killed) as store:
        (summary,) = store.runs()
        assert (summary.status, summary.queries) == ("STOPPED", first.nfev)
        assert store.spec(summary.name).limits["max_queries"] == LIMITS["zscg"][1]
