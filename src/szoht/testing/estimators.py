"""`check_estimator`: the contract of gradient estimators."""

import numpy as np

from szoht.core.parts import Estimator
from szoht.core.query import Answer, Estimate, Plan
from szoht.core.random import Key
from szoht.types import Mask, Vector

__all__ = ["check_estimator"]

SIGMAS = 5.5
"""Exceeded by chance by one of 30 coordinates once in a million runs."""


def check_estimator(
    estimator: Estimator, *, d: int = 30, repetitions: int = 2_000, rng: int = 0
) -> None:
    """Raise AssertionError unless ``estimator`` is pure and unbiased, including its scale.

    Checked on a linear function, for which the expected estimate is its gradient: the mean over
    ``repetitions`` keys must agree with it up to its standard error. An estimator that is wrong by
    a factor fails, which a test of directions alone would not detect. Planning twice must
    give the same points, and failed points must be ignored. The plan may consist of any
    queries, with ``x`` anywhere among their points or nowhere.

    >>> from szoht.estimators import Sphere
    >>> check_estimator(Sphere(q=4, mu=1e-3, support_size=5), d=12, repetitions=500)
    """
    generator = np.random.default_rng(rng)
    slope = generator.standard_normal(d)
    x = generator.standard_normal(d)
    estimator.check(d)
    _check_purity(estimator, x)
    _check_unbiased(estimator, x, slope, repetitions)
    if not estimator.requires:
        _check_failures(estimator, x, slope)


def linear_answers(plan: Plan, slope: Vector) -> list[Answer]:
    """Answer a plan with the linear function ``slope @ x + 1``."""
    return [
        Answer(values=query.points() @ slope + 1, gradient=slope if query.gradient else None)
        for query in plan.queries
    ]


def _estimate(estimator: Estimator, x: Vector, slope: Vector, key: Key) -> Estimate:
    memory = estimator.init(x)
    for round_ in range(100):
        address = Key(seed=key.seed, iteration=key.iteration, round=round_)
        plan = estimator.plan(x, None, memory, address)
        estimate, memory = estimator.combine(plan, linear_answers(plan, slope), memory)
        if estimate is not None:
            return estimate
    raise AssertionError("the estimator did not finish within 100 rounds")


def _check_purity(estimator: Estimator, x: Vector) -> None:
    key = Key(seed=3, iteration=1)
    first, second = (estimator.plan(x, None, estimator.init(x), key) for _ in range(2))
    assert np.array_equal(first.points(), second.points()), "the same key must give the same plan"
    assert first.cost == first.n_points == len(first.points()), "a plan must know its cost"


def _check_unbiased(estimator: Estimator, x: Vector, slope: Vector, repetitions: int) -> None:
    estimates = [
        _estimate(estimator, x, slope, Key(seed=7, iteration=t)) for t in range(repetitions)
    ]
    gradients = np.array([estimate.gradient for estimate in estimates])
    value = float(x @ slope) + 1
    worst = max(abs(estimate.value - value) for estimate in estimates)
    assert worst <= 1e-6 * (1 + abs(value)), "the estimate's value must be f(x)"
    error = gradients.mean(axis=0) - slope
    spread = gradients.std(axis=0, ddof=1) / np.sqrt(repetitions)
    rounding = 1e-6 * (1 + np.abs(slope).max())
    assert (np.abs(error) <= SIGMAS * spread + rounding).all(), (
        "the estimator is biased on a linear function: the worst coordinate is off by "
        f"{np.abs(error).max():.3g} where its standard error is {spread.max():.3g}"
    )


def _check_failures(estimator: Estimator, x: Vector, slope: Vector) -> None:
    """Let a point other than ``x`` fail, then ``x`` itself, then all points."""
    memory = estimator.init(x)
    plan = estimator.plan(x, None, memory, Key(seed=11))
    points = plan.points()
    at_x = (points == x).all(axis=1)

    def value_without(failed: Mask) -> float:
        values = np.where(failed, np.nan, points @ slope + 1)
        estimate, _ = estimator.combine(plan, plan.answered(values), memory)
        assert estimate is not None, "a failed point must not stop the estimate"
        assert np.isfinite(estimate.gradient).all(), "a failed point must be ignored"
        return estimate.value

    others = np.flatnonzero(~at_x)
    value_without(np.isin(np.arange(len(points)), others[-1:]))
    value = value_without(at_x) if at_x.any() else np.nan
    known = np.isclose(value, x @ slope + 1, rtol=1e-6, atol=1e-6)
    assert known or np.isnan(value), "a failed base point must give the value NaN"
    no_values = value_without(np.ones(len(points), dtype=bool))
    assert np.isnan(no_values), "if all points fail the value must be NaN"
