"""Functions that fail in the middle: the run ends with a status, or goes on without the point."""

import numpy as np
import pytest

from szoht import AskTell, Status, errors, minimize
from szoht.schedules import Geometric

D = 20


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def failing(at, how):
    """Return a function whose query number ``at`` fails."""
    count = 0

    def fun(x):
        nonlocal count
        count += 1
        return how(x) if count == at else quadratic(x)

    return fun


def boom(x):
    raise OSError("licence server is down")


FAILURES = {
    "nan": (lambda x: np.nan, "returned nan"),
    "inf": (lambda x: np.inf, "returned inf"),
    "complex": (lambda x: 1j, "of type complex, not a real number"),
    "array": (lambda x: np.ones(2), r"array of shape \(2,\), not a number"),
    "one-element array": (lambda x: np.ones(1), r"array of shape \(1,\), not a number"),
    "list": (lambda x: [1.0], r"array of shape \(1,\)"),
    "none": (lambda x: None, "of type NoneType"),
    "string": (lambda x: "1.0", "of type str"),
    "raises": (boom, "raised OSError.'licence server is down'."),
}


@pytest.mark.parametrize("name", FAILURES)
def test_the_run_ends_and_keeps_what_it_has(name):
    how, reason = FAILURES[name]
    points = []

    def watched(x):
        points.append(x.copy())
        return fun(x)

    fun = failing(60, how)
    result = minimize(
        watched, np.zeros(D), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht"
    )
    assert result.status is Status.FAILED
    assert not result.success
    assert result.nfev == 60 == len(points)
    assert result.failure.query == 60
    assert np.array_equal(result.failure.point, points[-1])
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(result.message)
    assert "Query 60" in result.message
    assert result.fun < quadratic(np.zeros(D))
    assert result.history["queries"][-1] == 60
    assert len(result.history["value"]) >= result.nit > 0
    assert result.counts.failures == 1


@pytest.mark.parametrize("name", FAILURES)
def test_skipping_leaves_the_point_out_and_counts_it(name):
    fun = failing(60, FAILURES[name][0])
    result = minimize(
        fun,
        np.zeros(D),
        k=2,
        options={"q": 10},
        max_queries=500,
        rng=0,
        on_error="skip",
        method="szoht",
    )
    assert result.status is Status.QUERIES
    assert result.counts.failures == 1
    assert result.history["failures"][-1] == 1
    assert np.isfinite(result.fun)


def test_skipping_rescales_the_estimate():
    """Half of the directions fail: the estimate must not shrink to half."""
    y = np.zeros(D)
    y[4] = 1.0
    asked = [
        AskTell(
            y,
            k=D,
            options={"q": 400, "step_size": 1.0},
            max_iterations=1,
            rng=0,
            on_error=e,
            method="szoht",
        )
        for e in ("stop", "skip")
    ]
    values = asked[0].ask().points() @ np.ones(D)
    asked[0].tell(values)
    values[1::2] = np.nan
    asked[1].tell(values)
    complete, partial = (-(run.state.x - y) for run in asked)
    assert complete.sum() == pytest.approx(D, rel=0.2)
    assert partial.sum() == pytest.approx(D, rel=0.3)


def test_raising_hands_over_the_original_exception():
    with pytest.raises(OSError, match="licence"):
        minimize(
            failing(3, boom), np.zeros(D), k=2, max_queries=500, on_error="raise", method="szoht"
        )
    with pytest.raises(errors.EvaluationError, match=r"Query 3 .* returned nan"):
        minimize(
            failing(3, FAILURES["nan"][0]),
            np.zeros(D),
            k=2,
            max_queries=500,
            on_error="raise",
            method="szoht",
        )


def test_a_start_that_cannot_be_evaluated():
    for on_error in ("stop", "skip"):
        result = minimize(
            lambda x: np.nan, np.zeros(D), k=2, max_queries=500, on_error=on_error, method="szoht"
        )
        assert result.status is Status.FAILED
        assert np.isnan(result.fun)
        assert np.array_equal(result.x, np.zeros(D))
    assert "at the start `x0`" in result.message


def test_skipping_returns_from_an_undefined_region():
    """log is undefined where the sum is not positive; steps that are too long land there."""

    def fun(x):
        total = x.sum()
        return float((x**2).sum() - np.log(total)) if total > 0 else np.nan

    x0 = np.zeros(D)
    x0[0] = 1.5
    result = minimize(
        fun,
        x0,
        k=2,
        options={"q": 20, "step_size": 0.6},
        max_queries=2_000,
        rng=0,
        on_error="skip",
        method="szoht",
    )
    assert result.status is Status.QUERIES
    assert result.counts.failures > 0
    assert result.fun <= fun(x0)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_vectorised_failures(on_error):
    def fun(points):
        values = ((points - 1) ** 2).sum(axis=1)
        if len(points) > 1:
            values[1] = np.inf
        return values

    result = minimize(
        fun,
        np.zeros(D),
        k=2,
        vectorized=True,
        max_queries=300,
        rng=0,
        on_error=on_error,
        options={"q": 10, "step_size": 0.05},
        chunk_size=4,
        method="szoht",
    )
    if on_error == "stop":
        assert result.status is Status.FAILED
        assert result.failure.query == 2
        assert result.nfev == 4
    else:
        assert result.status is Status.QUERIES
        # one of each chunk of four, and of the last chunk of three
        assert result.counts.failures == 3 * result.nit


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_vectorised_function_that_raises(on_error):
    calls = []

    def fun(points):
        calls.append(len(points))
        if len(calls) == 4:
            raise RuntimeError("out of memory")
        return ((points - 1) ** 2).sum(axis=1)

    result = minimize(
        fun,
        np.zeros(D),
        k=2,
        vectorized=True,
        max_queries=300,
        rng=0,
        on_error=on_error,
        options={"q": 10, "step_size": 0.05},
        chunk_size=6,
        method="szoht",
    )
    if on_error == "stop":
        assert result.status is Status.FAILED
        assert "out of memory" in result.message
        assert isinstance(result.failure.exception, RuntimeError)
    else:
        assert result.counts.failures == 6


def test_complex_entries_of_a_stack_are_failures():
    result = minimize(
        lambda points: points.sum(axis=1) + 0j,
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        method="szoht",
    )
    assert result.status is Status.FAILED


def test_sparse_aware_functions_may_fail_too():
    def along(x, indices, offsets):
        values = offsets.sum(axis=1)
        values[2] = np.nan
        return values

    result = minimize(
        lambda x: 0.0,
        np.zeros(D),
        k=2,
        along=along,
        max_queries=60,
        on_error="skip",
        rng=0,
        options={"q": 10, "step_size": 0.05},
        method="szoht",
    )
    assert result.counts.failures == result.nit


@pytest.mark.parametrize("gradient", [boom, lambda x: np.full(D, np.nan)])
def test_gradients_may_fail(gradient):
    result = minimize(quadratic, np.zeros(D), k=2, method="iht", gradient=gradient, max_queries=50)
    assert result.status is Status.FAILED
    assert result.failure.query == 1


def test_steps_that_overflow_end_as_divergence():
    result = minimize(
        lambda x: -float(x.sum()) * 1e200,
        np.zeros(D),
        k=2,
        options={"q": 10, "step_size": 1e200},
        max_queries=200,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.DIVERGED
    assert "step_size" in result.message
    assert np.array_equal(result.x, np.zeros(D))


@pytest.mark.parametrize("on_error", ["stop", "skip", "raise"])
def test_ask_tell_handles_failures_alike(on_error):
    asked = AskTell(
        np.zeros(D),
        k=2,
        options={"q": 10, "step_size": 0.1},
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


@pytest.mark.parametrize("support_size", [None, 3])
@pytest.mark.parametrize("mu", [1e-20, 1e-14])
def test_a_radius_that_rounding_drowns_is_reported_once(mu, support_size):
    with pytest.warns(errors.RoundingWarning, match="`mu` is too small") as caught:
        minimize(
            lambda x: 1e3 + quadratic(x),
            np.zeros(D),
            k=2,
            options={"mu": mu, "q": 20, "support_size": support_size, "step_size": 1e-4},
            max_queries=500,
            rng=0,
            method="szoht",
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_shrinking_radius_is_found_too():
    with pytest.warns(errors.RoundingWarning, match="at iteration [1-9]"):
        minimize(
            lambda x: 1e3 + quadratic(x),
            np.zeros(D),
            k=2,
            options={"mu": Geometric(start=1e-3, ratio=0.1), "q": 20, "step_size": 1e-3},
            max_iterations=12,
            rng=0,
            method="szoht",
        )


def test_convergence_is_not_mistaken_for_rounding():
    result = minimize(quadratic, np.zeros(D), k=D, max_queries=3_000, rng=0, method="szoht")
    assert result.fun < 1e-8
