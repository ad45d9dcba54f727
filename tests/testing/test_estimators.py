"""`check_estimator` on estimators of other people: any form of plan, and every mistake found."""

from dataclasses import dataclass

import numpy as np
import pytest

from szoht.core.query import Estimate, Plan, Query
from szoht.core.random import Purpose
from szoht.testing import check_estimator


@dataclass(frozen=True, kw_only=True)
class SPSA:
    """Simultaneous perturbation: all coordinates at once, by random signs; one query per point.

    Parameters
    ----------
    base : {"first", "last", "none"}
        Where f(x) is asked; with "none", at both sides of x instead.
    """

    base: str
    mu: float = 1e-3
    requires = frozenset()

    def check(self, d):
        """Any dimension will do."""

    def init(self, x):
        """Nothing is remembered."""

    def plan(self, x, sample, memory, key):
        """Return x and a point beside it, or two."""
        signs = key.generator(Purpose.DIRECTIONS).choice([-1.0, 1.0], size=x.size)
        points = [x, x + self.mu * signs]
        if self.base == "none":
            points[0] = x - self.mu * signs
        if self.base == "last":
            points.reverse()
        return Plan(queries=tuple(Query(base=point, sample=sample) for point in points))

    def split(self, plan, answers):
        """Return (x or the point before it, the point after it), each with its value."""
        pairs = [(q.base, float(a.values[0])) for q, a in zip(plan.queries, answers, strict=True)]
        return pairs[::-1] if self.base == "last" else pairs

    def combine(self, plan, answers, memory):
        """Return the estimate; a failed difference counts as zero."""
        (start, before), (end, after) = self.split(plan, answers)
        step = end - start
        slope = np.nan_to_num(after - before)
        middle = (before + after) / 2
        estimate = Estimate(
            gradient=slope / step,
            value=middle if self.base == "none" else before,
            measured=self.base != "none",
        )
        return estimate, memory


@dataclass(frozen=True, kw_only=True)
class Careless(SPSA):
    """Lets a failed point into the gradient."""

    def combine(self, plan, answers, memory):
        """Return the estimate, NaN or not."""
        (start, before), (end, after) = self.split(plan, answers)
        gradient = (after - before) / (end - start)
        return Estimate(gradient=gradient, value=before, measured=True), memory


@dataclass(frozen=True, kw_only=True)
class Liar(SPSA):
    """Reports zero where f(x) is not known."""

    def combine(self, plan, answers, memory):
        """Return the estimate with an invented value."""
        estimate, memory = super().combine(plan, answers, memory)
        value = np.nan_to_num(estimate.value)
        return Estimate(gradient=estimate.gradient, value=value, measured=True), memory


@dataclass(frozen=True, kw_only=True)
class Halved(SPSA):
    """Is wrong by a factor."""

    def combine(self, plan, answers, memory):
        """Return half of the estimate."""
        right, memory = super().combine(plan, answers, memory)
        return Estimate(gradient=right.gradient / 2, value=right.value, measured=True), memory


@pytest.mark.parametrize("base", ["first", "last", "none"])
def test_one_query_per_point_in_any_order_passes(base):
    check_estimator(SPSA(base=base), d=12, repetitions=500)


@pytest.mark.parametrize("base", ["first", "last"])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Careless, "a failed point must be ignored"),
        (Liar, "a failed base point must give the value NaN"),
        (Halved, "biased"),
    ],
)
def test_mistakes_are_found_wherever_the_base_is(kind, expected, base):
    with pytest.raises(AssertionError, match=expected):
        check_estimator(kind(base=base), d=12, repetitions=500)
