"""The loop, interrupted: Ctrl-C ends a run, keeps everything and is raised with the result."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import szoht
from szoht import Status, minimize

TARGET = np.zeros(40)
TARGET[[3, 17, 29]] = [1.0, -2.0, 0.5]


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def interrupted_at(call, fun=quadratic, stop=KeyboardInterrupt):
    """Return a function that is interrupted in one call, and a list of the values before."""
    calls, values = [], []

    def counted(x):
        calls.append(1)
        if len(calls) == call:
            raise stop
        values.append(fun(x))
        return values[-1]

    return counted, values


def interrupted(call, *args, fun=quadratic, **options):
    """Return the result that a KeyboardInterrupt carries, and the values before it."""
    counted, values = interrupted_at(call, fun)
    with pytest.raises(KeyboardInterrupt) as stop:
        minimize(counted, *args, **options)
    assert stop.value.result.status is Status.INTERRUPTED
    return stop.value.result, values


def test_ctrl_c_keeps_the_best_point():
    result, _ = interrupted(301, np.zeros(40), k=3, max_queries=700, rng=0, method="szoht")
    assert not result.success
    assert result.fun < quadratic(np.zeros(40))
    assert len(result.history["value"]) > 0


def test_ctrl_c_counts_every_call():
    result, values = interrupted(
        57, np.zeros(40), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht"
    )
    assert result.nfev == 57 == result.history["queries"][-1]
    assert np.array_equal(result.ledger.fun, values)


@pytest.mark.parametrize("call", [2, 17, 60, 133])
@pytest.mark.parametrize("vectorized", [False, True])
def test_the_answer_is_the_best_point_of_the_plan_that_was_cut(call, vectorized):
    def waves(x):
        return quadratic(x) + float(np.sin(40 * x).sum())

    if vectorized:
        counted, values = interrupted_at(call, waves)
        with pytest.raises(KeyboardInterrupt) as stop:
            minimize(
                lambda points: np.array([counted(x) for x in points]),
                np.zeros(40),
                k=3,
                rng=0,
                vectorized=True,
                chunk_size=1,
            )
        result = stop.value.result
    else:
        result, values = interrupted(call, np.zeros(40), fun=waves, k=3, rng=0)
    points = result.ledger.x()
    allowed = [i for i, x in enumerate(points) if np.count_nonzero(x) <= 3]
    assert result.fun == min(values[i] for i in allowed)
    assert waves(result.x) == result.fun


def test_ctrl_c_ends_a_loop_around_it():
    finished = []

    def script():
        for seed in range(5):
            counted, _ = interrupted_at(50 if seed == 1 else -1)
            minimize(counted, np.zeros(40), k=3, max_queries=200, rng=seed)
            finished.append(seed)

    with pytest.raises(KeyboardInterrupt):
        script()
    assert finished == [0]


def test_an_exception_of_the_function_carries_the_result():
    counted, values = interrupted_at(80, stop=TypeError("a bug that no other point mends"))
    with pytest.raises(TypeError, match="a bug") as stop:
        minimize(counted, np.zeros(40), k=3, max_queries=500, rng=0)
    result = stop.value.result
    assert result.fun < quadratic(np.zeros(40))
    assert quadratic(result.x) == result.fun
    assert np.array_equal(result.ledger.fun, values)


def test_a_stored_run_says_how_it_goes_on(tmp_path):
    store = tmp_path / "runs.db"
    counted, _ = interrupted_at(60)
    options = {"k": 3, "max_queries": 300, "rng": 0}
    with pytest.raises(KeyboardInterrupt) as stop:
        minimize(counted, np.zeros(40), **options, store=store)
    name = stop.value.result.run
    assert f"szoht resume {store} {name}" in stop.value.__notes__[0]
    whole = minimize(quadratic, np.zeros(40), **options)
    again = szoht.resume(store, counted, run=name)
    assert (again.nfev, again.fun) == (whole.nfev, whole.fun)


def test_a_run_inside_another_ends_with_it():
    inner = []

    def outer(x):
        inner.append(minimize(quadratic, np.zeros(40), k=1, max_queries=10, rng=0).fun)
        if len(inner) == 6:
            minimize(interrupted_at(4)[0], np.zeros(40), k=1, max_queries=10, rng=0)
        return quadratic(x)

    with pytest.raises(KeyboardInterrupt) as stop:
        minimize(outer, np.zeros(40), k=3, max_queries=30, rng=0)
    assert stop.value.result.nfev == 6


def test_threads_have_runs_of_their_own():
    with ThreadPoolExecutor(4) as pool:
        seeds = range(4)
        results = pool.map(lambda s: minimize(quadratic, np.zeros(40), k=3, rng=s).fun, seeds)
        assert max(results) < 1e-6
