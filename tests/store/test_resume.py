"""`minimize(store=...)` and `resume`: identity, refusals, raised limits, interruptions, no room."""

import functools
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import szoht
from every_method import method_settings
from interrupts import interrupted
from szoht import algorithms
from szoht.errors import (
    ParameterError,
    ParameterTypeError,
    RunBusyError,
    RunMismatchError,
    StoreError,
    UnknownRunError,
)
from szoht.result import Status
from szoht.stopping import Stalled

D = 40
TARGET = np.zeros(D)
TARGET[[3, 17]] = [1.0, -2.0]
SETTINGS = {"k": 2, "method": "szoht", "options": {"q": 12}, "rng": 0}


def fun(x):
    return float(((x - TARGET) ** 2).sum())


def other(x):
    return float(((x - TARGET) ** 4).sum())


class Counted:
    def __init__(self, function=fun, stop_at=None, what=KeyboardInterrupt):
        self.function, self.stop_at, self.what = function, stop_at, what
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls == self.stop_at:
            raise self.what("now")
        return self.function(*arguments)


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.db"


def assert_same(first, second, *, seconds=False):
    assert first.x.tobytes() == second.x.tobytes()
    assert (first.fun, first.nfev, first.nit, first.status, first.counts, first.message) == (
        second.fun,
        second.nfev,
        second.nit,
        second.status,
        second.counts,
        second.message,
    )
    for name, column in first.history.items():
        if name != "seconds" or seconds:
            if isinstance(column, list):
                assert column == second.history[name]
            else:
                np.testing.assert_array_equal(column, second.history[name])


def durable(store):
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute("SELECT coalesce(sum(stop - start), 0) FROM answers").fetchone()[
            0
        ]


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("szoht", {}),
        ("momentum_szoht", {"options": {"q": 10, "step_size": 0.01}}),
        ("ada_zoro", {}),
        ("auto", {}),
        ("saga_szht", {"n_samples": 4, "options": {"q": 3, "step_size": 0.01}}),
        ("vr_szht", {"n_samples": 4, "options": {"q": 3}}),
    ],
)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.7])
def test_interrupted_and_resumed(store, method, more, share):
    function = fun if "n_samples" not in more else lambda x, sample: fun(x) * (1 + sample.mean())
    settings = {"k": 2, "method": method, "max_queries": 150, "rng": 1} | more
    whole = szoht.minimize(Counted(function), np.zeros(D), **settings)
    broken = Counted(function, stop_at=1 + int(share * whole.counts.points))
    interrupted(szoht.minimize, broken, np.zeros(D), store=store, **settings)
    again = Counted(function)
    assert_same(szoht.resume(store, again), whole)
    assert broken.calls - 1 + again.calls == whole.counts.points


@pytest.mark.parametrize("method", sorted(algorithms.METHODS))
def test_every_method_can_be_had_again(store, method):
    settings = method_settings(
        method,
        k=2,
        reach=1.0,
        gradient=lambda x: 2 * (x - TARGET),
        component_gradient=lambda x, sample: 2 * (x - TARGET),
    )
    settings |= {"max_iterations": 3, "rng": 1}
    summed = "n_samples" in settings
    function = (lambda x, sample: fun(x) + float(sample.mean())) if summed else fun
    first = szoht.minimize(Counted(function), np.zeros(D), store=store, **settings)
    again = szoht.resume(store, Counted(function, stop_at=1), gradient=settings.get("gradient"))
    assert_same(again, first, seconds=True)
    assert again.seconds == first.seconds


def test_every_answer_is_durable_before_it_is_used(store):
    seen = []

    def look(progress):
        seen.append((durable(store), progress.counts.points))

    szoht.minimize(fun, np.zeros(D), max_queries=200, store=store, callback=look, **SETTINGS)
    assert len(seen) > 3
    assert all(stored == used for stored, used in seen)


def test_a_finished_run_gives_its_result_without_evaluating(store):
    first = szoht.minimize(Counted(), np.zeros(D), max_queries=100, store=store, **SETTINGS)
    again = Counted()
    assert_same(szoht.resume(store, again, run=first.run), first, seconds=True)
    assert again.calls == 0


@pytest.mark.parametrize(("options", "closing_points"), [({}, 0), ({"step_size": 0.02}, 1)])
def test_limits_can_be_raised(store, options, closing_points):
    settings = SETTINGS | {"options": {"q": 12} | options}
    first = szoht.minimize(Counted(), np.zeros(D), max_queries=97, store=store, **settings)
    assert first.status is Status.QUERIES
    more = Counted()
    second = szoht.resume(store, more, run=first.run, max_queries=300)
    whole = szoht.minimize(Counted(), np.zeros(D), max_queries=300, **settings)
    assert_same(second, whole)
    # the last measurement of the shorter run is no part of the longer one
    assert more.calls == second.nfev - first.nfev + closing_points
    assert_same(szoht.resume(store, Counted(stop_at=1), run=first.run), whole)


def test_time_counts_over_all_processes(store):
    limits = {"max_seconds": 1000, "max_queries": 300}
    interrupted(szoht.minimize, Counted(stop_at=60), np.zeros(D), store=store, **limits, **SETTINGS)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE runs SET seconds = 2000")
        connection.commit()
    more = Counted()
    result = szoht.resume(store, more)
    assert result.status is Status.SECONDS
    assert result.seconds >= 2000
    assert more.calls <= 13  # the round that was going on


def test_stop_rules_and_callbacks_see_the_whole_run(store):
    settings = SETTINGS | {"stop": Stalled(3), "max_queries": 2000}
    whole = szoht.minimize(Counted(), np.zeros(D), **settings)
    interrupted(szoht.minimize, Counted(stop_at=100), np.zeros(D), store=store, **settings)
    seen = []
    result = szoht.resume(store, Counted(), callback=lambda progress: seen.append(progress.queries))
    assert_same(result, whole)
    assert seen == result.history["queries"].tolist()


def test_a_run_stopped_by_a_callback_stays_stopped(store):
    stop = lambda progress: progress.iteration >= 3  # noqa: E731
    first = szoht.minimize(
        Counted(), np.zeros(D), max_queries=900, store=store, callback=stop, **SETTINGS
    )
    assert first.status is Status.CALLBACK
    again = Counted()
    assert_same(szoht.resume(store, again), first)
    assert again.calls == 0


def test_a_failure_can_be_mended(store):
    whole = szoht.minimize(Counted(), np.zeros(D), max_queries=150, **SETTINGS)
    broken = Counted(stop_at=38, what=RuntimeError)
    settings = SETTINGS | {"on_error": "stop"}
    first = szoht.minimize(broken, np.zeros(D), max_queries=150, store=store, **settings)
    assert first.status is Status.FAILED
    mended = Counted()
    assert_same(szoht.resume(store, mended), whole)
    assert mended.calls == whole.nfev - 37
    with szoht.Store(store) as file:
        (fault,) = file.faults(first.run)
    assert (
        fault.point == 0
    )  # after a noise test of 7 points, 13 of an estimate and 17 of a line search
    assert "now" in fault.reason


def test_a_point_that_was_skipped_is_not_asked_again(store):
    settings = SETTINGS | {"on_error": "skip", "max_queries": 150}
    whole = szoht.minimize(Counted(stop_at=5, what=RuntimeError), np.zeros(D), **settings)
    broken = Counted(stop_at=5, what=RuntimeError)
    first = szoht.minimize(
        broken,
        np.zeros(D),
        store=store,
        callback=lambda p: p.iteration >= 2,
        **settings,
    )
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE runs SET status = 'INTERRUPTED'")
        connection.commit()
    assert first.counts.failures == 1
    assert_same(szoht.resume(store, Counted()), whole)


def test_vectorised_sparse_aware_and_workers(store):
    def stack(points):
        return ((points - TARGET) ** 2).sum(axis=1)

    settings = SETTINGS | {"vectorized": True, "chunk_size": 5, "max_queries": 150}
    whole = szoht.minimize(Counted(stack), np.zeros(D), **settings)
    first = interrupted(
        szoht.minimize, Counted(stack, stop_at=4), np.zeros(D), store=store, **settings
    )
    assert_same(szoht.resume(store, Counted(stack), run=first.run), whole)

    plain = szoht.minimize(Counted(), np.zeros(D), max_queries=150, **SETTINGS)
    second = interrupted(
        szoht.minimize,
        Counted(stop_at=50),
        np.zeros(D),
        max_queries=150,
        store=store,
        **SETTINGS,
    )
    threads = szoht.executors.Threads(3)
    assert_same(szoht.resume(store, Counted(), run=second.run, executor=threads), plain)


def test_another_function_or_algorithm_is_refused_and_the_file_untouched(store):
    first = szoht.minimize(fun, np.zeros(D), max_queries=100, store=store, **SETTINGS)
    before = store.read_bytes()
    with pytest.raises(RunMismatchError, match="`fun` must be the function of the stored run"):
        szoht.resume(store, other, run=first.run)
    with pytest.raises(RunMismatchError, match="`method` must be what the run was made with"):
        szoht.resume(store, fun, run=first.run, method=szoht.szoht(k=3, q=12))
    with pytest.raises(RunMismatchError, match="`stop` must be what the run was made with"):
        szoht.resume(store, fun, run=first.run, stop=Stalled(3))
    with pytest.raises(UnknownRunError, match="there is no run 'nobody'"):
        szoht.resume(store, fun, run="nobody")
    with pytest.raises(StoreError, match="There is no run store at"):
        szoht.resume(store.with_name("nothing.db"), fun)
    assert store.read_bytes() == before
    assert not store.with_name("nothing.db").exists()


def test_another_version_alone_changes_nothing(store, monkeypatch):
    first = szoht.minimize(fun, np.zeros(D), max_queries=100, store=store, **SETTINGS)
    monkeypatch.setattr("szoht.store.spec.__version__", "9.9")
    assert_same(szoht.resume(store, fun), first)


def test_what_is_only_said_about_a_state_is_not_compared(store, monkeypatch):
    settings = SETTINGS | {"method": "auto", "options": {}}
    first = szoht.minimize(fun, np.zeros(D), max_queries=100, store=store, **settings)
    monkeypatch.setattr(
        szoht.algorithms.generator.SolverContext, "explain", lambda self, line: None
    )
    assert first.explain
    assert_same(szoht.resume(store, fun), first)


def test_a_run_has_one_owner(store):
    def greedy(progress):
        with pytest.raises(RunBusyError, match=r"locked by process \d+ on "):
            szoht.resume(store, fun)
        return True

    result = szoht.minimize(
        fun, np.zeros(D), max_queries=100, store=store, callback=greedy, **SETTINGS
    )
    assert result.status is Status.CALLBACK
    szoht.resume(store, fun)


def test_no_room_left(store, monkeypatch):
    szoht.Store(store).close()
    connect = sqlite3.connect

    def small(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 14")
        return connection

    settings = SETTINGS | {"max_queries": 4000}
    monkeypatch.setattr("sqlite3.connect", small)
    first = Counted()
    result = szoht.minimize(first, np.zeros(D), store=store, **settings)
    assert result.status is Status.STORE
    assert "Make room and resume" in result.message
    assert not result.success
    monkeypatch.undo()
    kept = durable(store)
    assert 0 < kept <= first.calls
    second = Counted()
    whole = szoht.minimize(Counted(), np.zeros(D), **settings)
    assert_same(szoht.resume(store, second), whole)
    assert second.calls == whole.nfev - kept


def test_a_function_is_found_by_its_name(store):
    first = szoht.minimize(np.linalg.norm, np.eye(D)[0], max_queries=100, store=store, **SETTINGS)
    assert_same(szoht.resume(store, run=first.run), first)
    szoht.minimize(lambda x: float(x @ x), np.zeros(D), max_queries=100, store=store, **SETTINGS)
    with szoht.Store(store) as file:
        newest = file.runs()[-1].name
    with pytest.raises(ParameterError, match="`fun` must be given: the function of this run"):
        szoht.resume(store, run=newest)


def test_parts_that_are_not_data_are_given_again(store):
    class Mine(szoht.Sparse):
        pass

    method = szoht.szoht(constraint=Mine(2), q=12)
    first = szoht.minimize(fun, np.zeros(D), method=method, max_queries=100, rng=0, store=store)
    with pytest.raises(RunMismatchError, match="`method` must be given again"):
        szoht.resume(store, fun, run=first.run)
    assert_same(szoht.resume(store, fun, run=first.run, method=method), first)


def test_many_runs_in_one_store(store):
    with szoht.Store(store) as file:
        first = szoht.minimize(fun, np.zeros(D), max_queries=100, store=file, **SETTINGS)
        second = szoht.minimize(other, np.zeros(D), max_queries=120, store=file, **SETTINGS)
        assert [run.name for run in file.runs()] == [first.run, second.run]
        assert [run.queries for run in file.runs()] == [first.nfev, second.nfev]
        assert_same(szoht.resume(file, fun, run=first.run), first)
    assert f"run: {first.run}" in str(first)
    with pytest.raises(ParameterTypeError, match="`store` must be a path or a Store"):
        szoht.minimize(fun, np.zeros(D), store=3, **SETTINGS)
    with pytest.raises(StoreError, match="in a folder that exists"):
        szoht.minimize(fun, np.zeros(D), store=store.parent / "no" / "runs.db", **SETTINGS)


@pytest.mark.parametrize("scipy", [False, True])
def test_a_sparse_start(store, scipy):
    start = szoht.SparseVector(10**6, [3, 77_777], [0.5, -1.0])
    start = start.tocoo() if scipy else start
    wanted = np.array([3, 17, 500_000])

    def function(x):
        return float(((x[wanted] - [1.0, -2.0, 3.0]) ** 2).sum()) + float(x[77_777] ** 2)

    settings = {"k": 4, "method": "sketch_ht", "max_queries": 2000, "rng": 0}
    whole = szoht.minimize(Counted(function), start, **settings)
    broken = Counted(function, stop_at=whole.counts.points // 2)
    first = interrupted(szoht.minimize, broken, start, store=store, **settings)
    again = Counted(function)
    second = szoht.resume(store, again)
    assert isinstance(second.x, szoht.SparseVector)
    assert np.array_equal(second.x, whole.x)
    assert (second.fun, second.nfev, second.nit) == (whole.fun, whole.nfev, whole.nit)
    assert broken.calls - 1 + again.calls == whole.counts.points
    szoht.resume(store, Counted(function, stop_at=1), run=first.run)
    with szoht.Store(store) as file:
        assert np.array_equal(file.snapshot(first.run).best.x, file.snapshot(first.run).best.x)
        assert file.runs()[0].d == 10**6


def scaled(x, scale, shift=0.0):
    return float(((scale * x - TARGET - shift) ** 2).sum())


def test_other_arguments_of_a_partial_are_refused(store):
    one = functools.partial(scaled, scale=np.ones(D))
    first = szoht.minimize(one, np.zeros(D), max_queries=100, store=store, **SETTINGS)
    again = functools.partial(scaled, scale=np.ones(D))
    assert_same(szoht.resume(store, again, run=first.run), first)
    for other_one in (
        functools.partial(scaled, scale=np.full(D, 2.0)),
        functools.partial(scaled, scale=np.ones(D), shift=1.0),
        scaled,
    ):
        with pytest.raises(RunMismatchError, match="`fun` must be the function"):
            szoht.resume(store, other_one, run=first.run, max_queries=300)


def test_a_limit_below_what_was_spent_is_refused(store):
    first = szoht.minimize(fun, np.zeros(D), max_queries=100, store=store, **SETTINGS)
    for name, limit in (("max_queries", 50), ("max_iterations", 1), ("max_seconds", 1e-9)):
        with pytest.raises(ParameterError, match=f"`{name}` must be at least what the run"):
            szoht.resume(store, fun, run=first.run, **{name: limit})
    assert_same(szoht.resume(store, fun, run=first.run), first, seconds=True)
