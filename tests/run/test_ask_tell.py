"""Runs whose values come from elsewhere: what may be told, and failures."""

import numpy as np
import pytest

from szoht import AskTell, Status, algorithms, errors, minimize

D = 40
TARGET = np.zeros(D)
TARGET[[3, 17, 29]] = [1.0, -2.0, 0.5]


def stacked(points):
    return ((points - TARGET) ** 2).sum(axis=1)


def test_ask_tell_refuses_wrong_answers():
    asked = AskTell(np.zeros(D), k=3, max_queries=200, rng=0, method="szoht")
    with pytest.raises(errors.AnswerShapeError, match="must have shape"):
        asked.tell([1.0, 2.0])
    plan = asked.ask()
    asked.tell(stacked(plan.points()))
    assert asked.ask() is not plan
    while not asked.done:
        asked.tell(stacked(asked.ask().points()))
    with pytest.raises(errors.RunFinishedError, match="has ended"):
        asked.ask()
    with pytest.raises(errors.RunFinishedError, match="has ended"):
        asked.tell([1.0])


def test_ask_tell_wants_the_gradient_it_asked_for():
    asked = AskTell(np.zeros(3), method=algorithms.iht(k=1, step_size=0.1), max_queries=5, rng=0)
    with pytest.raises(errors.ParameterError, match="`gradient` must be given"):
        asked.tell([1.0])
    with pytest.raises(errors.AnswerShapeError, match="`gradient` must have shape"):
        asked.tell([1.0], gradient=[1.0])


def test_ask_tell_shows_where_it_stands():
    asked = AskTell(np.zeros(D), k=3, max_queries=200, rng=0, method="szoht")
    assert asked.result.status is Status.RUNNING
    assert asked.progress.iteration == 0
    assert np.isnan(asked.progress.best_value)
    assert np.array_equal(asked.progress.best_x, np.zeros(D))


@pytest.mark.parametrize("on_error", ["stop", "skip", "raise"])
def test_ask_tell_handles_failures_alike(on_error):
    asked = AskTell(
        np.zeros(20),
        k=2,
        options={"q": 10, "mu": 1e-6, "step_size": 0.1},
        max_queries=60,
        on_error=on_error,
        method="szoht",
    )
    values = np.linspace(1, 2, 11)
    values[3] = np.nan
    if on_error == "raise":
        with pytest.raises(errors.EvaluationError, match="Query 4"):
            asked.tell(values)
        return
    asked.tell(values)
    assert asked.done == (on_error == "stop")
    assert asked.result.counts.failures == 1
    assert asked.result.nfev == 11


def test_ask_tell_numbers_failures_in_a_search():
    run = AskTell(
        np.zeros(20),
        k=2,
        options={"q": 10, "mu": 1e-6},
        max_queries=500,
        rng=0,
        method="szoht",
        on_error="stop",
    )
    run.tell(((run.ask().points() - 1) ** 2).sum(1))
    values = ((run.ask().points() - 1) ** 2).sum(1)
    values[4] = np.nan
    run.tell(values)
    assert run.result.failure.query == 11 + 5


def test_infinite_answers_are_failures_in_ask_tell_too():
    run = AskTell(
        np.zeros(30),
        k=2,
        options={"q": 4, "mu": 1e-6},
        max_queries=200,
        rng=0,
        on_error="skip",
        method="szoht",
    )
    run.tell([5.0, 4, 6, 5, 5])
    values = np.full(run.ask().n_points, 4.0)
    values[0] = -np.inf
    run.tell(values)
    assert run.result.counts.failures == 1
    assert run.result.fun == 4.0


def test_ask_tell_checks_its_own_arguments():
    with pytest.raises(errors.ParameterError, match="`on_error`"):
        AskTell(np.zeros(3), k=1, on_error="ignore", method="szoht")
    with pytest.raises(errors.AnswerShapeError, match="array of numbers"):
        AskTell(np.zeros(3), k=1, method="szoht").tell([[1], [1, 2], 3])


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def test_a_callback_that_raises_leaves_a_run_that_can_go_on():
    def callback(progress):
        if progress.iteration == 1:
            raise OSError("disk full")

    run = AskTell(
        np.zeros(30),
        k=2,
        options={"q": 4, "step_size": 0.05},
        max_iterations=3,
        rng=0,
        callback=callback,
        method="szoht",
    )
    with pytest.raises(OSError, match="disk full"):
        run.tell([quadratic(x) for x in run.ask().points()])
    while not run.done:
        run.tell([quadratic(x) for x in run.ask().points()])
    other = minimize(
        quadratic,
        np.zeros(30),
        k=2,
        options={"q": 4, "step_size": 0.05},
        max_iterations=3,
        rng=0,
        method="szoht",
    )
    assert np.array_equal(run.result.x, other.x)
