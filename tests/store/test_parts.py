"""Stored runs whose replay leaves off: they go on from their evaluations, and nothing is lost."""

import numpy as np
import pytest

import szoht
from every_method import method_settings
from interrupts import carried, interrupted
from szoht import algorithms
from szoht.algorithms.auto.structures import Coordinates
from szoht.result import Status
from szoht.run import external
from szoht.store import names
from szoht.store.points import StoredPlan

D = 30
TARGET = np.zeros(D)
TARGET[[3, 17]] = [1.0, -2.0]


class Waves:
    """A rough function that keeps what it was asked, and may be interrupted once."""

    def __init__(self, stop_at=None):
        self.stop_at, self.seen = stop_at, []

    def __call__(self, x, sample=None):
        if len(self.seen) + 1 == self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
        value = float(((x - TARGET) ** 2).sum() + 0.1 * np.sin(30 * x).sum())
        self.seen.append((x.copy(), value))
        return value


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def diverging(monkeypatch):
    """Make the replay of a run leave off at a round, as if points came out differently."""

    def from_round(number):
        row = szoht.store.rounds.RoundTable.row

        def other(self, asked):
            found = row(self, asked)
            return found if found is None or asked < number else (-1, *found[1:])

        monkeypatch.setattr(szoht.store.rounds.RoundTable, "row", other)
        monkeypatch.setattr(StoredPlan, "agrees", lambda *_: False)
        return monkeypatch.undo

    return from_round


def settings_of(method):
    settings = method_settings(
        method,
        k=2,
        reach=3.0,
        gradient=lambda x: 2 * (x - TARGET),
        component_gradient=lambda x, sample: 2 * (x - TARGET),
    )
    given = {"gradient": settings["gradient"]} if "gradient" in settings else {}
    queries = 1500 if "n_samples" in settings else 400
    return {"max_queries": queries, "rng": 1} | settings, given


@pytest.mark.parametrize("method", sorted(algorithms.METHODS))
def test_a_run_goes_on_from_its_evaluations(store, diverging, method):
    settings, given = settings_of(method)
    fun = Waves(stop_at=250)
    first = interrupted(szoht.minimize, fun, np.zeros(D), store=store, **settings)
    before = len(fun.seen)
    undo = diverging(1)
    result = szoht.resume(store, fun, **given)
    undo()
    # nothing is lost, and what was spent counts
    assert len(result.ledger) == len(fun.seen) > before
    assert result.nfev <= settings["max_queries"]
    assert np.array_equal(np.sort(result.ledger.fun), np.sort([value for _, value in fun.seen]))
    assert result.run == first.run
    (warning,) = result.warnings
    assert "could be replayed as far as query" in warning
    # and what was done is done: the run is finished, and says so without an evaluation
    calls = len(fun.seen)
    again = szoht.resume(store, fun, run=first.run, **given)
    assert len(fun.seen) == calls
    assert (again.nfev, again.status) == (result.nfev, result.status)
    assert np.array_equal(again.x, result.x)
    assert again.fun == result.fun


def test_no_point_is_evaluated_twice(store, diverging):
    fun = Waves(stop_at=80)
    settings, _ = settings_of("auto")
    interrupted(szoht.minimize, fun, np.zeros(D), store=store, **settings)
    before = {x.tobytes() for x, _ in fun.seen}
    start = len(fun.seen)
    diverging(3)
    szoht.resume(store, fun)
    after = [x.tobytes() for x, _ in fun.seen[start:]]
    # but for the test whether values repeat, which asks the best point again
    assert len([x for x in after if x in before]) <= 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("left_off_at", [0, 1, 5])
def test_the_answer_is_the_best_of_all_parts(store, diverging, seed, left_off_at):
    fun = Waves(stop_at=90)
    options = {"k": 2, "max_queries": 300, "rng": seed}
    interrupted(szoht.minimize, fun, np.zeros(D), store=store, **options)
    undo = diverging(left_off_at)
    fun.stop_at = 200
    interrupted(szoht.resume, store, fun)
    undo()
    diverging(left_off_at + 40)
    result = szoht.resume(store, fun)
    allowed = [value for x, value in fun.seen if np.count_nonzero(x) <= 2]
    assert result.fun == min(allowed)
    assert Waves()(result.x) == result.fun
    assert result.status is Status.QUERIES
    assert result.nfev == len(fun.seen) <= 300


def test_points_that_differ_by_rounding_have_the_stored_values(store, monkeypatch):
    fun = Waves(stop_at=150)
    settings = {"k": 2, "method": "szoht", "options": {"q": 12}, "rng": 0, "max_queries": 300}
    whole = Waves()
    szoht.minimize(whole, np.zeros(D), **settings)
    interrupted(szoht.minimize, fun, np.zeros(D), store=store, **settings)
    prox = szoht.Sparse.prox
    monkeypatch.setattr(szoht.Sparse, "prox", lambda *a: prox(*a) * (1 + 1e-15))
    result = szoht.resume(store, fun)
    assert result.warnings == ()
    assert len(fun.seen) == len(whole.seen) == result.nfev


@pytest.mark.parametrize("seed", range(3))
def test_the_default_method_answers_with_the_point_that_was_evaluated(store, monkeypatch, seed):
    fun = Waves(stop_at=120)
    options = {"k": 2, "max_queries": 200, "rng": seed}
    interrupted(szoht.minimize, fun, np.zeros(D), store=store, **options)
    to_x = Coordinates.to_x
    monkeypatch.setattr(Coordinates, "to_x", lambda self, z: to_x(self, z) * (1 + 3e-16))
    result = szoht.resume(store, fun)
    assert len(fun.seen) == result.nfev
    assert Waves()(result.x) == result.fun


def test_a_method_of_parts_that_are_gone_is_asked_for_again(store, monkeypatch):
    fun = Waves(stop_at=90)
    options = {"k": 2, "max_queries": 250, "rng": 0}
    first = interrupted(szoht.minimize, fun, np.zeros(D), store=store, **options)
    paths = {name: path for name, path in names._PATH_OF.items() if name != "auto"}
    monkeypatch.setattr(names, "_PATH_OF", paths)
    names.find_class.cache_clear()
    result = szoht.resume(store, fun)
    assert result.run == first.run
    assert len(fun.seen) == result.nfev <= 250
    assert result.fun == min(value for x, value in fun.seen if np.count_nonzero(x) <= 2)


def test_a_raised_limit_goes_on_after_a_part(store, diverging):
    fun = Waves(stop_at=90)
    interrupted(szoht.minimize, fun, np.zeros(D), store=store, k=2, max_queries=150, rng=0)
    undo = diverging(4)
    first = szoht.resume(store, fun)
    undo()
    more = szoht.resume(store, fun, run=first.run, max_queries=400)
    assert more.nfev == len(fun.seen) > first.nfev
    assert more.fun <= first.fun


def test_a_finished_run_that_cannot_be_replayed_gives_its_answer(store, diverging):
    fun = Waves()
    for method in ("auto", "szoht", "zscg"):
        settings, _ = settings_of(method)
        first = szoht.minimize(fun, np.zeros(D), store=store, **settings)
        calls = len(fun.seen)
        undo = diverging(1)
        again = szoht.resume(store, fun, run=first.run)
        undo()
        assert len(fun.seen) == calls
        assert (again.fun, again.nfev, again.status) == (first.fun, first.nfev, first.status)
        assert np.array_equal(again.x, first.x)


def test_a_named_method_goes_on_where_the_stored_run_had_come(store, diverging):
    fun = Waves(stop_at=350)
    settings = {"k": 2, "method": "szoht", "options": {"q": 12}, "rng": 0, "max_queries": 400}
    first = interrupted(szoht.minimize, fun, np.zeros(D), store=store, **settings)
    diverging(1)
    result = szoht.resume(store, fun)
    # with a twentieth of the budget left, a start from scratch would end far above
    assert result.fun <= first.fun + 0.5
    assert result.nit > first.nit


def test_points_that_wait_elsewhere(store, diverging):
    """Points are listed anew where they cannot be replayed, and late values are kept."""
    run = szoht.AskTell(np.zeros(D), k=2, max_queries=120, rng=0)
    fun = Waves()
    with szoht.Store(store) as file:
        name = external.begin(file, run, np.zeros(D), limits={"max_queries": 120})
        for _ in range(6):
            points = external.waiting(file, name)
            external.answer(file, name, [external.Reply(p.id, fun(p.x)) for p in points])
        before = external.waiting(file, name)
        answered = len(fun.seen)
        undo = diverging(3)
        points = external.waiting(file, name)
        assert {p.id.round for p in points} != {p.id.round for p in before}
        undo()
        late = external.answer(file, name, [external.Reply(p.id, fun(p.x)) for p in before])
        assert (late.new, late.unknown) == (len(before), [])
        again = external.answer(file, name, [external.Reply(p.id, fun(p.x)) for p in before])
        assert (again.new, len(again.unknown)) == (0, len(before))
        while points := external.waiting(file, name):
            external.answer(file, name, [external.Reply(p.id, Waves()(p.x)) for p in points])
        result = external.replay(file, name).result
    assert result.status is Status.QUERIES
    assert result.nfev <= 120
    values = result.ledger.fun.tolist()
    assert all(value in values for _, value in fun.seen[:answered])
    assert result.fun == min(
        v for x, v in zip(result.ledger.x(), values, strict=True) if np.count_nonzero(x) <= 2
    )


@pytest.mark.parametrize("left_off_at", [1, 4])
def test_a_calibration_goes_on_from_its_best_point(store, diverging, left_off_at):
    rng = np.random.default_rng(0)
    jacobian = rng.standard_normal((25, D))
    observed = np.tanh(jacobian @ TARGET / 4)
    calls = []

    def simulate(x):
        if len(calls) == 40:
            calls.append(None)
            raise KeyboardInterrupt
        calls.append(np.tanh(jacobian @ x / 4))
        return calls[-1]

    options = {"k": 2, "observed": observed, "sigma": 0.01, "max_queries": 150, "rng": 0}
    cut = carried(szoht.least_squares, simulate, np.zeros(D), store=store, **options)
    undo = diverging(left_off_at)
    result = szoht.resume(store, simulate, run=cut.run)
    undo()
    assert result.fit.cost <= cut.cost
    assert result.warnings
    assert len(result.ledger) == len(calls) - 1
    assert result.nfev <= 150
    again = szoht.resume(store, simulate, run=cut.run)
    assert (again.fit.cost, again.nfev) == (result.fit.cost, result.nfev)
