"""Callbacks: when they are called, how they stop a run, and the two that come with the package."""

import builtins
import io

import numpy as np
import pytest
from rich.console import Console

from szoht import Status, errors, minimize
from szoht.core.algorithm import Measured
from szoht.result import Counts, Progress
from szoht.run.callbacks import ProgressBar, Recorder


def run(**options):
    return minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(9), k=2, rng=0, **options, method="szoht"
    )


def test_the_bar_shows_queries_best_value_and_support(monkeypatch):
    screen = io.StringIO()
    bars = []

    class Shown(ProgressBar):
        def __init__(self):
            super().__init__()
            self._bar.live.console = Console(file=screen, force_terminal=True, width=140)
            bars.append(self)

    monkeypatch.setattr("szoht.run.callbacks.ProgressBar", Shown)
    result = run(max_queries=200, progress=True)
    text = screen.getvalue()
    assert f"{result.nfev}/200 queries" in text
    assert f"best {result.fun:.6g}" in text
    assert "2 non-zeros" in text
    assert bars[0]._bar.finished or result.nfev < 200


def test_the_bar_works_without_a_budget(capsys):
    assert run(max_iterations=3, progress=True).nit == 3
    assert "queries" in capsys.readouterr().out


def test_the_bar_names_its_extra(monkeypatch):
    real = builtins.__import__

    def without_rich(name, *arguments):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'szoht\[cli\]'"):
        run(max_queries=100, progress=True)


def test_the_bar_closes_when_the_function_fails():
    with pytest.raises(ZeroDivisionError):
        minimize(
            lambda x: 1 / 0,
            np.zeros(3),
            k=1,
            max_queries=50,
            progress=True,
            on_error="raise",
            method="szoht",
        )
    # a second live display can only start when the first has been closed
    run(max_queries=100, progress=True)


def test_recorder_without_rows():
    assert Recorder(np.zeros(3)).history == {}


def test_a_row_tells_of_the_newest_iterate():
    recorder = Recorder(np.array([1.0, 0.0]), monitor=lambda x: x.sum())
    recorder(
        Progress(
            iteration=1,
            counts=Counts(),
            x=np.array([0.0, 7.0]),
            value=3.0,
            best=Measured(np.zeros(2), 2.0),
            seconds=0.0,
        )
    )
    assert recorder.history["monitor"][0] == 7.0
    assert recorder.history["value"][0] == 3.0
    assert recorder.history["best"][0] == 2.0
    assert recorder.history["entered"] == [(1,)]
    assert recorder.history["left"] == [(0,)]


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def solve(**options):
    settings = {"k": 2, "options": {"q": 8}, "rng": 0} | options
    return minimize(quadratic, np.zeros(12), **settings, method="szoht")


@pytest.mark.parametrize("stop", [True, np.True_])
def test_a_callback_stops_by_returning_true(stop):
    result = solve(callback=lambda p: stop if p.iteration == 3 else None, max_queries=1_000)
    assert result.status is Status.CALLBACK
    assert result.nit == 3
    assert not result.success


def test_a_callback_stops_by_stop_iteration():
    def callback(progress):
        if progress.iteration == 2:
            raise StopIteration

    assert solve(callback=callback, max_queries=1_000).nit == 2


def test_a_callback_that_returns_a_number_does_not_stop():
    assert solve(callback=lambda p: p.best_value, max_iterations=4).nit == 4


def test_several_callbacks_all_see_the_run():
    seen = [], []
    solve(callback=[seen[0].append, seen[1].append], max_iterations=4)
    assert [p.iteration for p in seen[0]] == [p.iteration for p in seen[1]]


def test_callbacks_cannot_change_the_run():
    def vandal(progress):
        with pytest.raises(ValueError, match="read-only"):
            progress.x[0] = 5.0
        with pytest.raises(AttributeError):
            progress.iteration = 7

    assert np.array_equal(solve(callback=vandal, max_iterations=3).x, solve(max_iterations=3).x)


def test_a_callback_that_stops_is_named_even_at_the_target():
    result = minimize(
        quadratic,
        np.zeros(12),
        k=2,
        options={"q": 8, "step_size": 0.05},
        target=11.9,
        callback=lambda progress: progress.best_value <= 11.9,
        max_queries=5000,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.CALLBACK


def test_a_callback_that_stops_costs_no_further_query():
    result = minimize(
        quadratic,
        np.zeros(5),
        k=2,
        options={"q": 3, "mu": 1e-6, "step_size": 0.01},
        callback=lambda progress: True,
        max_queries=100,
        rng=0,
        method="szoht",
    )
    assert result.nfev == 4


def test_callbacks_come_once_per_iteration():
    seen = []
    minimize(
        quadratic,
        np.zeros(5),
        k=2,
        options={"q": 3},
        callback=lambda progress: seen.append(progress.iteration),
        max_iterations=4,
        rng=0,
        method="szoht",
    )
    assert seen == [1, 2, 3, 4]


def test_every_callback_is_called_whatever_the_first_wishes():
    seen = []

    def first(progress):
        raise StopIteration

    result = minimize(
        quadratic,
        np.zeros(30),
        k=2,
        max_queries=500,
        rng=0,
        callback=[first, seen.append],
        method="szoht",
    )
    assert result.status is Status.CALLBACK
    assert len(seen) == 1


def test_the_default_tells_of_every_plan_and_first_of_the_start():
    seen, monitored = [], []

    def monitor(x):
        monitored.append(x)
        return quadratic(x)

    result = minimize(quadratic, np.zeros(40), k=2, rng=0, callback=seen.append, monitor=monitor)
    history = result.history
    assert (history["queries"][0], history["best"][0]) == (1, quadratic(np.zeros(40)))
    assert history["queries"].tolist() == [progress.queries for progress in seen]
    assert len(seen) > 2 * result.nit
    assert (np.diff(history["queries"]) > 0).all()
    assert history["monitor"].tolist() == [quadratic(progress.x) for progress in seen]
    assert len(monitored) <= result.nit + 1
