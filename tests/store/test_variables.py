"""Runs with variables, stored, resumed and evaluated elsewhere."""

import numpy as np
import pytest

import szoht
from interrupts import interrupted
from szoht.errors import RunMismatchError
from szoht.run.external import Reply, answer, begin, replay, waiting
from szoht.store.codec import decode, encode

NOMINAL = np.array([20.0, 1e-4, 3.0, 4.0, 100.0, 1.0])
NAMES = ("speed", "rate", "buffers", "threads", "load", "fixed")


def knobs():
    return szoht.Variables(
        NOMINAL,
        low=[0, 1e-6, 1, None, None, 1],
        high=[80, 1e-2, 12, None, None, 1],
        log=[False, True, False, False, False, False],
        integer=[False, False, True, False, False, False],
        values={"threads": [1, 2, 4, 8, 16]},
        names=NAMES,
    )


def profit(x):
    best = np.array([35.0, 1e-3, 3.0, 16.0, 100.0, 1.0])
    apart = (x[0] - best[0]) / 20, np.log(x[1] / best[1]), x[2] - best[2], x[3] - best[3]
    return 5.0 - sum(one**2 for one in apart) - ((x[4] - 100) / 50) ** 2


def profit_of(x, offset):
    return profit(x) + offset


def test_variables_are_data():
    v = knobs()
    again = decode(encode(v), szoht.Variables)
    for name in ("nominal", "low", "high", "unit", "log", "integer", "names", "start", "values"):
        assert np.array_equal(getattr(v, name), getattr(again, name), equal_nan=name == "unit") or (
            getattr(v, name) == getattr(again, name)
        )
    z = np.random.default_rng(0).normal(size=(20, 6))
    assert np.array_equal(v.to_x(z), again.to_x(z))


def test_a_run_is_continued_to_the_same_result(tmp_path):
    settings = {"k": 3, "max_queries": 150, "rng": 0}
    calls = []

    def impatient(x):
        calls.append(x)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return profit(x)

    path = tmp_path / "runs.db"
    part = interrupted(szoht.maximize, impatient, knobs(), **settings, store=path)
    more = szoht.resume(path, impatient, run=part.run)
    whole = szoht.maximize(profit, knobs(), **settings)
    assert len(calls) == whole.nfev + 1
    assert np.array_equal(more.x, whole.x)
    assert (more.fun, more.nfev, more.changes) == (whole.fun, whole.nfev, whole.changes)
    assert more.maximize
    assert more.variables.names == NAMES


LAST = {"iterate": "last", "step_size": 0.2, "q": 5}
"""The solution is measured after the last iteration, and then the effects."""


@pytest.mark.parametrize(("method", "options"), [("auto", {}), ("sparse_rs", {}), ("szoht", LAST)])
def test_a_run_can_be_extended_after_its_last_measurements(tmp_path, method, options):
    v = szoht.Variables(NOMINAL[:3], low=[0, 0, 0], high=[80, 1, 9], names=NAMES[:3])

    def fun(x):
        return float((((x - [35, 1e-4, 5]) / [80, 1, 9]) ** 2).sum())

    settings = {"k": 2, "method": method, "options": options, "rng": 0}
    whole = szoht.minimize(fun, v, **settings, max_iterations=12)
    path = tmp_path / "runs.db"
    for first in (2, 5, 10):
        part = szoht.minimize(fun, v, **settings, max_iterations=first, store=path)
        more = szoht.resume(path, fun, run=part.run, max_iterations=12)
        assert np.array_equal(more.x, whole.x)
        assert more.nfev == whole.nfev


def test_a_spent_budget_of_integers_can_be_extended(tmp_path):
    v = szoht.Variables(np.full(30, 4.0), low=0, high=9, integer=True)
    best = np.full(30, 4.0)
    best[[3, 17]] = [9.0, 0.0]

    def fun(x):
        return float(((x - best) ** 2).sum())

    path = tmp_path / "runs.db"
    first = szoht.minimize(fun, v, k=2, max_queries=25, rng=0, store=path)
    assert first.status is szoht.Status.QUERIES
    more = szoht.resume(path, fun, run=first.run, max_queries=600)
    assert np.array_equal(more.x, best)
    assert more.status is szoht.Status.CONVERGED


def test_stored_values_are_the_users(tmp_path):
    path = tmp_path / "runs.db"
    result = szoht.maximize(profit, knobs(), k=3, max_queries=120, rng=0, store=path)
    with szoht.Store(path) as store:
        (summary,) = store.runs()
    assert summary.best == result.fun
    assert summary.best > 0


def test_points_are_listed_and_answered_in_the_users_numbers(tmp_path):
    settings = {"k": 3, "max_queries": 100, "rng": 0}
    inside = szoht.maximize(profit, knobs(), **settings)
    with szoht.Store(tmp_path / "runs.db", create=True) as store:
        run = szoht.AskTell(knobs(), **settings, maximize=True)
        name = begin(store, run, knobs(), limits={"max_queries": 100})
        asked = []
        while points := waiting(store, name):
            asked.extend(point.x for point in points)
            told = answer(store, name, [Reply(p.id, profit(p.x)) for p in points])
        result = replay(store, name).result
    assert np.array_equal(asked[0], NOMINAL)
    assert (np.array(asked)[:, 5] == 1).all()
    assert np.array_equal(result.x, inside.x)
    assert told.result.fun == inside.fun > 0


def test_args_must_be_given_again(tmp_path):
    path = tmp_path / "runs.db"
    first = szoht.maximize(profit_of, knobs(), args=(2.0,), k=3, max_queries=60, rng=0, store=path)
    with pytest.raises(RunMismatchError, match="arguments"):
        szoht.resume(path, profit_of, run=first.run, max_queries=120)
    with pytest.raises(RunMismatchError, match="arguments"):
        szoht.resume(path, profit_of, args=(3.0,), run=first.run, max_queries=120)
    more = szoht.resume(path, profit_of, args=(2.0,), run=first.run, max_queries=120)
    assert more.fun == profit_of(more.x, 2.0)


def test_named_values_are_passed_after_resuming(tmp_path):
    def fun(x):
        return (x["a"] - 3) ** 2 + x["b"] ** 2

    path = tmp_path / "runs.db"
    first = szoht.minimize(
        fun, {"a": 0.0, "b": 1.0}, k=1, x_as="dict", max_queries=30, rng=0, store=path
    )
    more = szoht.resume(path, fun, run=first.run, max_queries=60)
    assert more.changes[0].name in ("a", "b")
