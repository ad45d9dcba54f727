"""Faults that were found once, each by the smallest run that shows it."""

import numpy as np
import pytest

from szoht import (
    AskTell,
    Sparse,
    Status,
    algorithms,
    errors,
    minimize,
)
from szoht.schedules import Geometric
from szoht.stopping import Iterations, Queries, Target

D = 30


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def test_a_target_gives_the_point_that_reached_it():
    result = minimize(
        quadratic, np.zeros(D), k=D, method="truncated_zsgd", target=15.0, max_queries=5_000, rng=0
    )
    assert result.status is Status.TARGET
    assert result.fun == quadratic(result.x) <= 15.0


def test_inferred_values_do_not_reach_a_target():
    """Central differences see f - mu^2 on a concave function; the measurement tells."""

    def fun(x):
        return 5 - float(x @ x)

    result = minimize(
        fun,
        np.zeros(5),
        k=5,
        options={"central": True, "mu": 1.0, "q": 5, "step_size": 1e-9},
        target=4.5,
        max_queries=200,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.QUERIES
    assert not result.success
    assert result.fun == fun(result.x)


def test_inferred_values_reach_a_target_once_they_are_measured():
    result = minimize(
        quadratic,
        np.zeros(D),
        k=2,
        options={"central": True, "q": 20, "step_size": 0.1},
        target=28.5,
        max_queries=3_000,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.TARGET
    assert result.fun == quadratic(result.x) <= 28.5


def test_every_callback_is_called_whatever_the_first_wishes():
    seen = []

    def first(progress):
        raise StopIteration

    result = minimize(
        quadratic,
        np.zeros(D),
        k=2,
        max_queries=500,
        rng=0,
        callback=[first, seen.append],
        method="szoht",
    )
    assert result.status is Status.CALLBACK
    assert len(seen) == 1


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


def test_infinite_answers_are_failures_in_ask_tell_too():
    run = AskTell(
        np.zeros(D), k=2, options={"q": 4}, max_queries=200, rng=0, on_error="skip", method="szoht"
    )
    run.tell([5.0, 4, 6, 5, 5])
    values = np.full(run.ask().n_points, 4.0)
    values[0] = -np.inf
    run.tell(values)
    assert run.result.counts.failures == 1
    assert run.result.fun == 4.0


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
        np.zeros(D),
        k=2,
        method="iht",
        gradient=gradient,
        options={"step_size": 0.1},
        max_queries=20,
        on_error="skip",
    )
    assert result.counts.failures == 1
    with pytest.raises(errors.AnswerShapeError, match="complex"):
        minimize(quadratic, np.zeros(D), k=2, method="iht", gradient=lambda x: x + 1j)
    with pytest.raises(errors.ParameterTypeError, match="complex"):
        minimize(quadratic, np.zeros(D) + 1j, k=2, method="szoht")


@pytest.mark.parametrize("swap", [False, True])
def test_a_target_counts_whatever_the_order_of_the_rules(swap):
    rules = Iterations(1), Target(1e9)
    stop = rules[1] | rules[0] if swap else rules[0] | rules[1]
    result = minimize(quadratic, np.zeros(D), k=2, stop=stop, rng=0, method="szoht")
    assert result.status is Status.TARGET


def test_ctrl_c_counts_every_call():
    calls = []

    def fun(x):
        calls.append(1)
        if len(calls) == 57:
            raise KeyboardInterrupt
        return quadratic(x)

    result = minimize(
        fun, np.zeros(D), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht"
    )
    assert result.status is Status.INTERRUPTED
    assert result.nfev == 57 == result.history["queries"][-1]


@pytest.mark.filterwarnings("ignore::szoht.errors.RoundingWarning")
@pytest.mark.parametrize("name", ["mu", "step_size"])
def test_schedules_that_run_out_say_so(name):
    options = {"q": 4, "step_size": 1e-3, name: Geometric(start=1e-2, ratio=1e-30)}
    with pytest.raises(errors.ParameterError, match=f"`{name}` .* at iteration"):
        minimize(
            lambda x: float(x[0]),
            np.zeros(3),
            k=1,
            options=options,
            max_iterations=40,
            method="szoht",
        )


def test_a_callback_that_raises_leaves_a_run_that_can_go_on():
    def callback(progress):
        if progress.iteration == 1:
            raise OSError("disk full")

    run = AskTell(
        np.zeros(D),
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
        np.zeros(D),
        k=2,
        options={"q": 4, "step_size": 0.05},
        max_iterations=3,
        rng=0,
        method="szoht",
    )
    assert np.array_equal(run.result.x, other.x)


def test_candidates_of_a_search_are_one_call():
    sizes = []

    def fun(points):
        sizes.append(len(points))
        return ((points - 1) ** 2).sum(axis=1)

    minimize(
        fun,
        np.zeros(D),
        k=2,
        options={"q": 10},
        vectorized=True,
        max_iterations=2,
        rng=0,
        method="szoht",
    )
    assert sizes == [0, 11, 17, 11, 3]


def test_single_precision_is_noticed():
    with pytest.warns(errors.RoundingWarning, match="precision of f"):
        minimize(
            lambda x: np.float32(100 + ((x - 1) ** 2).sum()),
            np.zeros(D),
            k=2,
            max_queries=300,
            method="szoht",
        )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"constraint": Sparse(300)}, errors.ParameterError, "got k=300 with d=30"),
        ({"constraint": 3}, errors.ParameterTypeError, "`constraint` must be a set"),
        ({"k": 2, "stop": 5}, errors.ParameterTypeError, "`stop` must be a rule"),
        ({"k": 2, "stop": Queries(5)}, errors.BudgetError, "got max_queries=5"),
        ({"k": 2, "options": 5}, errors.ParameterTypeError, "`options` must be a dict"),
        ({"k": 2, "monitor": 5}, errors.ParameterTypeError, "`monitor` must be callable"),
    ],
)
def test_wrong_kinds_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        minimize(
            lambda x: pytest.fail("a query was spent"), np.zeros(D), **arguments, method="szoht"
        )


def test_ask_tell_checks_its_own_arguments():
    with pytest.raises(errors.ParameterError, match="`on_error`"):
        AskTell(np.zeros(3), k=1, on_error="ignore", method="szoht")
    with pytest.raises(errors.AnswerShapeError, match="array of numbers"):
        AskTell(np.zeros(3), k=1, method="szoht").tell([[1], [1, 2], 3])


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
