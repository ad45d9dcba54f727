"""The gradient itself, for first-order methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.types import Sample, Vector

__all__ = ["Exact"]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The objective's own gradient on the sample: ``ghat = grad f(x)``.

    Notes
    -----
    Costs one query (the value) and one gradient, each times the sample size.
    """

    requires = frozenset({"gradient"})

    def check(self, d: int) -> None:
        """Fits every dimension."""

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def plan(self, x: Vector, sample: Sample, memory: None, key: Key) -> Plan:
        """Ask for value and gradient at ``x``."""
        del memory, key
        return Plan(queries=(Query(base=x, sample=sample, gradient=True),))

    def combine(self, plan: Plan, answers: Sequence[Answer], memory: None) -> tuple[Estimate, None]:
        """Return the gradient; one with non-finite entries counts as a failed evaluation."""
        del plan
        answer = answers[0]
        gradient = answer.gradient
        if gradient is None or not np.isfinite(gradient).all():
            failed = Estimate(gradient=np.empty(0), value=float("nan"), measured=False)
            return failed, memory
        return Estimate(gradient=gradient, value=float(answer.values[0]), measured=True), memory
