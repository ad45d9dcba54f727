"""How runs end: what counts as a success, what is measured last, and what the message says."""

import math

import numpy as np
import pytest

import szoht
from szoht import Status
from szoht.algorithms import METHODS

TARGET = np.zeros(40)
TARGET[[3, 9]] = 1.0


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


BOXED = ("sparse_rs", "corner_search")
NEED_MORE = ("iht", "stoiht", "vr_szht", "sarah_szht", "saga_szht")
BALLS = ("zscg", "zo_projected_gradient")


def run(method, fun=quadratic, **settings):
    settings.setdefault("rng", 0)
    if method in BOXED:
        settings["constraint"] = szoht.SparseBox(3, -1.0, 1.0)
    elif method in BALLS:
        settings["options"] = {"radius": 2.0} | settings.get("options", {})
    elif method != "rspgf":
        settings["k"] = 3
    return szoht.minimize(fun, np.zeros(40), method=method, **settings)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in NEED_MORE])
def test_no_success_without_a_finite_value(method):
    for budget in range(90, 110, 3):
        try:
            result = run(method, max_queries=budget)
        except szoht.errors.BudgetError:
            continue
        assert result.nfev <= budget
        assert math.isfinite(result.fun) or not result.success


@pytest.mark.parametrize("iterate", ["average", "random"])
def test_the_final_measurement_is_kept_in_the_budget(iterate):
    for budget in range(60, 100):
        result = run(
            "truncated_zsgd",
            max_queries=budget,
            options={"q": 7, "iterate": iterate, "step_size": 0.01},
        )
        assert result.nfev <= budget
        assert result.measured
        assert result.fun == quadratic(result.x)
        assert result.status is Status.QUERIES


def test_a_time_limit_leaves_the_solution_with_a_value():
    # one call per plan, so that the limit is noticed between two plans and not in the middle of one
    result = run(
        "truncated_zsgd",
        fun=lambda xs: ((xs - TARGET) ** 2).sum(axis=1),
        vectorized=True,
        max_seconds=0.02,
        options={"q": 7, "iterate": "average", "step_size": 0.01},
    )
    assert result.status is Status.SECONDS
    assert result.fun == pytest.approx(quadratic(result.x))


@pytest.mark.parametrize("method", [name for name in METHODS if name not in NEED_MORE])
def test_a_run_whose_points_all_fail_has_failed(method):
    result = run(method, fun=lambda x: math.nan, max_queries=300, on_error="skip")
    assert result.status is Status.FAILED
    assert not result.success
    assert math.isnan(result.fun)
    assert not result.measured


def test_an_inferred_value_is_marked_where_nothing_is_left_to_measure():
    settings = {"k": 3, "method": "szoht", "rng": 0}
    options = {"q": 5, "mu": 1e-4, "central": True, "step_size": 0.05}
    once = szoht.minimize(quadratic, np.zeros(40), max_queries=10, options=options, **settings)
    assert not once.measured
    assert "inferred, not measured" in str(once)
    more = szoht.minimize(quadratic, np.zeros(40), max_queries=31, options=options, **settings)
    assert more.measured
    assert more.fun == quadratic(more.x)
    assert "inferred" not in str(more)


def test_values_that_overflow_when_averaged_are_no_success():
    def huge(x):
        return -1e308 - 1e292 * float(x @ x)

    result = szoht.minimize(
        huge,
        np.zeros(8),
        k=2,
        method="szoht",
        max_queries=60,
        options={"q": 5, "central": True, "step_size": 1e-9, "iterate": "best"},
        rng=0,
        on_error="skip",
    )
    assert math.isfinite(result.fun) or not result.success
    assert result.fun != -math.inf


def test_the_message_tells_what_the_next_step_needs():
    result = run("szoht", max_queries=31, options={"q": 12, "mu": 1e-6, "step_size": 0.1})
    assert result.status is Status.QUERIES
    assert result.nfev == 27
    assert "The next step needs 13 queries, and 4 of 31 are left." in result.message
    spent = run("szoht", max_queries=26, options={"q": 12, "mu": 1e-6, "step_size": 0.1})
    assert spent.nfev == 26
    assert spent.message.startswith("The query budget is spent.")
