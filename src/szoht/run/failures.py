"""Failed evaluations among the answers to a plan."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from szoht.core.query import Answer, Plan
from szoht.result import Counts, Failure
from szoht.types import Mask

__all__ = ["count_failures", "finite_only", "first_failure", "spend"]


def count_failures(plan: Plan, answers: Sequence[Answer]) -> int:
    """Return how many values and gradients were asked for and not answered by finite numbers."""
    values = sum(int(np.count_nonzero(~_is_answered(answer))) for answer in answers)
    return values + sum(
        int(query.gradient and bool(np.isfinite(answer.values[0])) and not _has_gradient(answer))
        for query, answer in zip(plan.queries, answers, strict=True)
    )


def finite_only(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers with NaN where a value is not a finite number."""
    return [
        replace(answer, values=np.where(np.isfinite(answer.values), answer.values, np.nan))
        for answer in answers
    ]


def spend(counts: Counts, plan: Plan, points: int, failures: int) -> Counts:
    """Return the counts after ``points`` points of a plan, which may be a part of them."""
    whole = points == plan.n_points
    return counts.plus(
        queries=plan.cost if whole else points * plan.queries[0].unit_cost,
        points=points,
        gradients=plan.gradients if whole else 0,
        failures=failures,
    )


def _is_answered(answer: Answer) -> Mask:
    """Tell which points have a finite value, or were left out."""
    finite: Mask = np.isfinite(answer.values)
    return finite if answer.left_out is None else finite | answer.left_out


def _has_gradient(answer: Answer) -> bool:
    return answer.gradient is not None and bool(np.isfinite(answer.gradient).all())


def first_failure(plan: Plan, answers: Sequence[Answer], spent: int) -> Failure | None:
    """Return the first point without a finite value, if any; ``spent`` points came before."""
    for query, answer in zip(plan.queries, answers, strict=True):
        answered = _is_answered(answer)
        if not answered.all():
            i = int(np.argmin(answered))
            reason = f"the value is {answer.values[i]}"
            return Failure(query=spent + i + 1, point=query.points(i, i + 1)[0], reason=reason)
        if query.gradient and not _has_gradient(answer):
            reason = "the gradient is missing or not finite"
            return Failure(query=spent + 1, point=query.base, reason=reason)
        spent += query.n_points
    return None
