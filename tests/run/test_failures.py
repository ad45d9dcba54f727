"""Functions that fail in the middle: the run ends with a status, or goes on without the point."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from outcomes import most_seeds
from szoht import (
    AskTell,
    Minibatch,
    Status,
    algorithms,
    errors,
    executors,
    least_squares,
    minimize,
)

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
    "matrix of one element": (lambda x: np.ones((1, 1)), r"array of shape \(1, 1\), not a number"),
    "complex array": (lambda x: np.array([1j]), "of type complex, not a real number"),
    "list": (lambda x: [1.0], "returned a list of 1 entry, not a number; return the value alone"),
    "three results": (lambda x: (1.0, 2.0, 3.0), "a tuple of 3 entries, not a number; return the"),
    "value and gradient": (
        lambda x: (float(x @ x), 2 * x),
        "returned a tuple of 2 entries, not a number; pass the gradient as `gradient=`",
    ),
    "none": (lambda x: None, r"returned None \(is a `return` missing\?\)"),
    "string": (lambda x: "1.0", "of type str"),
    "raises": (boom, "raised OSError.'licence server is down'."),
}


class TensorOfAnotherLibrary:
    """As TensorFlow's: neither a number nor an array."""

    shape = ()

    def __init__(self, value):
        self.value = value

    def numpy(self):
        return np.float32(self.value)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value: np.array([value]),
        np.array,
        np.float32,
        Decimal,
        Fraction,
        lambda value: pd.Series([value]),
        TensorOfAnotherLibrary,
        pytest.param(lambda value: pytest.importorskip("torch").tensor(value), id="torch"),
        pytest.param(lambda value: pytest.importorskip("torch").tensor([value]), id="torch 1-d"),
    ],
)
def test_a_number_may_come_in_many_forms(wrap):
    result = minimize(lambda x: wrap(quadratic(x)), np.zeros(D), k=2, max_queries=60, rng=0)
    assert result.counts.failures == 0
    assert result.fun == pytest.approx(quadratic(result.x), rel=1e-5)


@pytest.mark.parametrize("name", FAILURES)
def test_the_run_ends_and_keeps_what_it_has(name):
    how, reason = FAILURES[name]
    points = []

    def watched(x):
        points.append(x.copy())
        return fun(x)

    fun = failing(60, how)
    result = minimize(
        watched,
        np.zeros(D),
        k=2,
        options={"q": 10},
        max_queries=500,
        rng=0,
        method="szoht",
        on_error="stop",
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


def test_by_default_a_failed_point_is_skipped_and_the_first_one_warned_about():
    calls = 0

    def fun(x):
        nonlocal calls
        calls += 1
        if calls in (60, 70):
            raise OSError("licence server is down")
        return quadratic(x)

    with pytest.warns(errors.SkippedPointWarning, match="licence server") as caught:
        result = minimize(fun, np.zeros(D), k=2, method="szoht", max_queries=500, rng=0)
    assert len(caught) == 1
    assert result.status is Status.QUERIES
    assert result.counts.failures == 2


@pytest.mark.parametrize("method", ["auto", "szoht"])
def test_by_default_an_exception_at_the_start_is_raised(method):
    with pytest.raises(OSError, match="licence") as caught:
        minimize(boom, np.zeros(D), k=2, method=method, max_queries=500)
    assert caught.traceback[-1].name == "boom"


@pytest.mark.parametrize("method", ["auto", "szoht"])
@pytest.mark.parametrize("answer", [np.nan, np.inf, -np.inf])
def test_by_default_a_start_without_a_finite_number_names_the_remedy(method, answer):
    result = minimize(lambda x: answer, np.zeros(D), k=2, method=method, max_queries=500)
    assert result.status is Status.FAILED
    assert not result.success
    assert f"returned {answer}" in result.message
    assert "`x0`" in result.message
    assert result.nfev == 1


NO_NUMBERS = {
    "nothing": (
        None,
        r"At the start `x0`, the function returned None \(is a `return` missing\?\)\.",
    ),
    "text": ("text", "the function returned 'text' of type str, not a real number"),
    "a complex number": (1j, "of type complex, not a real number"),
    "an array": (np.ones(3), r"an array of shape \(3,\), not a number"),
    "a tuple": ((1.0, np.ones(3)), "a tuple of 2 entries, not a number; pass the gradient as"),
    "a dict": ({"loss": 1.0}, "the function returned {'loss': 1.0} of type dict"),
}


@pytest.mark.parametrize("method", ["auto", "szoht", "zoro"])
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_by_default_an_answer_at_the_start_that_is_no_number_is_raised(method, name, tmp_path):
    answer, message = NO_NUMBERS[name]
    calls = []

    def fun(x):
        calls.append(x)
        return answer

    for more in ({}, {"store": tmp_path / "runs.db"}, {"executor": executors.Threads(1)}):
        calls.clear()
        with pytest.raises(errors.EvaluationError, match=message):
            minimize(fun, np.zeros(D), k=2, method=method, max_queries=500, **more)
        assert len(calls) <= 2, "workers may have begun another point"


def test_a_forgotten_return_is_told_whatever_the_function_is_for():
    def forgotten(x):
        x.sum()

    with pytest.raises(errors.EvaluationError, match=r"`fun` returned None \(is a `return` miss"):
        least_squares(forgotten, np.zeros(D), k=2)
    with pytest.raises(errors.EvaluationError, match=r"`fun` returned None \(is a `return` miss"):
        least_squares(forgotten, np.zeros(D), k=2, observed=np.ones(3))
    with pytest.raises(errors.EvaluationError, match=r"`fun` returned None \(is a `return` miss"):
        minimize(forgotten, np.zeros(D), k=2, returns="components")
    with pytest.raises(errors.AnswerShapeError, match=r"got None \(is a `return` missing\?\)"):
        minimize(forgotten, np.zeros(D), k=2, vectorized=True)
    with pytest.raises(errors.EvaluationError, match="it returned text"):
        least_squares(lambda x: ["1.0", "2.0"], np.zeros(D), k=2)


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_elsewhere_an_answer_that_is_no_number_is_a_failed_point(name):
    answer, message = NO_NUMBERS[name]
    message = message.removeprefix("At the start `x0`, ")
    with pytest.warns(errors.SkippedPointWarning, match=message) as caught:
        result = minimize(
            failing(30, lambda x: answer), np.zeros(D), k=2, method="szoht", max_queries=200, rng=0
        )
    assert len(caught) == 1
    assert result.counts.failures == 1
    assert result.status is Status.QUERIES


@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_a_forgotten_return_ends_a_run_that_is_not_to_raise(on_error):
    result = minimize(
        lambda x: None, np.zeros(D), k=2, on_error=on_error, max_queries=50, method="szoht", rng=0
    )
    assert result.status is Status.FAILED
    with pytest.raises(errors.EvaluationError, match=r"Query 1 .*is a `return` missing\?"):
        minimize(lambda x: None, np.zeros(D), k=2, on_error="raise", max_queries=50, rng=0)


@pytest.mark.parametrize(
    "bug", [NameError, ImportError, AttributeError, SyntaxError, TypeError, ModuleNotFoundError]
)
def test_by_default_a_bug_is_raised_anywhere_and_skipped_if_asked_for(bug):
    def raise_bug(x):
        raise bug("a slip")

    with pytest.raises(bug, match="a slip"):
        minimize(failing(60, raise_bug), np.zeros(D), k=2, method="szoht", max_queries=500, rng=0)
    result = minimize(
        failing(60, raise_bug),
        np.zeros(D),
        k=2,
        method="szoht",
        max_queries=500,
        rng=0,
        on_error="skip",
    )
    assert result.counts.failures == 1


@most_seeds
def test_skipping_rescales_the_estimate(seed):
    """Half of the directions fail: the estimate must not shrink to half."""
    y = np.zeros(D)
    y[4] = 1.0
    asked = [
        AskTell(
            y,
            k=D,
            options={"q": 400, "mu": 1e-6, "step_size": 1.0},
            max_iterations=1,
            rng=seed,
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


@most_seeds
def test_skipping_returns_from_an_undefined_region(seed):
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
        rng=seed,
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
        options={"q": 10, "mu": 1e-6, "step_size": 0.05},
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
        options={"q": 10, "mu": 1e-6, "step_size": 0.05},
        chunk_size=6,
        method="szoht",
    )
    if on_error == "stop":
        assert result.status is Status.FAILED
        assert "out of memory" in result.message
        assert isinstance(result.failure.exception, RuntimeError)
    else:
        assert result.counts.failures == 6


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
    result = minimize(
        quadratic,
        np.zeros(D),
        k=2,
        method="iht",
        gradient=gradient,
        max_queries=50,
        on_error="stop",
    )
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


def test_nonfinite_gradient_is_skipped():
    calls = [0]

    def gradient(x):
        calls[0] += 1
        return np.full(3, np.nan) if calls[0] == 2 else x - 1

    result = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=gradient,
        options={"step_size": 0.5},
        max_iterations=6,
        on_error="skip",
        rng=0,
    )
    assert result.status is Status.ITERATIONS
    assert result.fun < 0.1


def test_infinity_at_the_base_of_a_stack_is_a_failure():
    result = minimize(
        lambda points: np.full(len(points), np.inf),
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    assert result.status is Status.FAILED


@pytest.mark.parametrize("at", [3, 15, 28])
def test_the_failing_query_is_numbered_in_a_search_too(at):
    calls = [0]
    points = []

    def fun(x):
        calls[0] += 1
        points.append(x.copy())
        return np.nan if calls[0] == at else float(((x - 1) ** 2).sum())

    result = minimize(
        fun,
        np.zeros(20),
        k=2,
        options={"q": 10},
        max_queries=500,
        rng=0,
        method="szoht",
        on_error="stop",
    )
    assert result.failure.query == result.nfev == at
    assert np.array_equal(result.failure.point, points[-1])


def test_complex_stacks_fail_at_the_first_query():
    with pytest.raises(errors.EvaluationError, match="of type complex, not a real number"):
        minimize(
            lambda points: points.sum(axis=1) + 0j,
            np.zeros(4),
            k=1,
            vectorized=True,
            max_queries=50,
            rng=0,
            method="szoht",
        )


def test_a_nan_gradient_ends_a_run_that_stops_on_errors():
    calls = [0]

    def gradient(x):
        calls[0] += 1
        return np.full(3, np.nan) if calls[0] == 3 else x - 1

    result = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=gradient,
        options={"step_size": 0.1},
        max_iterations=9,
        rng=0,
        on_error="stop",
    )
    assert result.status is Status.FAILED
    assert result.nit == 2


def test_a_sample_multiplies_what_a_failed_plan_cost():
    calls = [0]

    def fun(x, sample):
        calls[0] += 1
        return np.nan if calls[0] == 5 else 0.0

    result = minimize(
        fun,
        np.zeros(4),
        k=1,
        n_samples=10,
        options={"q": 9, "step_size": 0.1, "sampler": Minibatch(size=3)},
        max_iterations=3,
        rng=0,
        method="szoht",
        on_error="stop",
    )
    assert result.nfev == 15
    result = minimize(
        lambda x, sample: 0.0,
        np.zeros(4),
        k=1,
        method="stoiht",
        gradient=lambda x, sample: x,
        n_samples=10,
        options={"step_size": 0.1, "sampler": Minibatch(size=3)},
        max_iterations=4,
        rng=0,
    )
    assert result.njev == 12


def test_gradients_that_fail_are_counted_and_end_a_run():
    run = AskTell(np.zeros(3), method=algorithms.iht(k=1, step_size=0.1), max_queries=9, rng=0)
    run.tell([1.0], gradient=[np.nan, 0, 0])
    assert run.result.status is Status.FAILED
    calls = []

    def gradient(x):
        calls.append(1)
        if len(calls) == 3:
            raise OSError
        return 2 * (x - 1)

    result = minimize(
        quadratic,
        np.zeros(30),
        k=2,
        method="iht",
        gradient=gradient,
        options={"step_size": 0.1},
        max_queries=20,
        on_error="skip",
    )
    assert result.counts.failures == 1
    with pytest.raises(errors.AnswerShapeError, match="complex"):
        minimize(quadratic, np.zeros(30), k=2, method="iht", gradient=lambda x: x + 1j)
    with pytest.raises(errors.ParameterTypeError, match="complex"):
        minimize(quadratic, np.zeros(30) + 1j, k=2, method="szoht")


def test_overflow_in_a_search_ends_as_divergence():
    result = minimize(
        lambda x: -float(np.log1p(np.abs(x).sum())),
        np.full(4, 1e-3),
        k=4,
        method="iht",
        gradient=lambda x: np.full(4, 1e-310),
        max_queries=5_000,
    )
    assert result.status is Status.DIVERGED


@pytest.mark.parametrize(("value", "fails"), [(10**400, True), (np.True_, False), (True, False)])
def test_unusual_numbers(value, fails):
    with np.errstate(all="ignore"):
        result = minimize(
            lambda x: value,
            np.zeros(3),
            k=1,
            options={"support_size": 1, "q": 2},
            max_queries=30,
            method="szoht",
        )
    assert (result.status is Status.FAILED) == fails
