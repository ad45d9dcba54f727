"""Variance reduction against an anchor: `SVRG` and `SARAH`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from szoht.core.parts import Estimator
from szoht.core.query import Answer, Estimate, Plan
from szoht.core.random import Key
from szoht.core.validation import check_integer, frozen, shown
from szoht.errors import ParameterTypeError
from szoht.estimators.sphere import Sphere, sphere_estimate
from szoht.types import Sample, Vector

__all__ = ["SARAH", "SVRG", "Anchor"]


class Anchor(NamedTuple):
    """A point, and what is known of the gradient there."""

    x: Vector
    gradient: Vector


@dataclass(frozen=True, kw_only=True)
class SVRG:
    """A minibatch estimate, corrected by the same estimate at a snapshot with a known gradient.

    ``v = ghat_B(x) - ghat_B(x_s) + ghat_full(x_s)``. Both terms use the same directions and the
    same sample B, so most of their noise cancels while x is near the snapshot x_s; with
    directions of their own they would be worse than no correction at all.

    Parameters
    ----------
    estimator : Sphere
        For the two terms.
    snapshot : Estimator
        For the full gradient at the snapshot: its noise is the floor of the method, so it deserves
        more directions, or `Coordinate`.
    every : int
        Iterations between snapshots, >= 1; the sampler is ``Snapshots(every=every)``.

    Notes
    -----
    Costs n (q_snapshot + 1) evaluations at a snapshot, whose own step needs no correction, and
    2 b (q + 1) in the other iterations, b the batch size. Directions are sampled once per iteration
    and never stored.
    """

    estimator: Sphere
    snapshot: Estimator
    every: int

    requires = frozenset({"n_samples"})

    def __post_init__(self) -> None:
        check_integer("every", self.every, low=1)
        if isinstance(self.snapshot, type) or not hasattr(self.snapshot, "combine"):
            raise ParameterTypeError(
                f"`snapshot` must be an estimator, such as Sphere(); got {shown(self.snapshot)}."
            )

    def check(self, d: int) -> None:
        """Raise unless both estimators fit dimension ``d``."""
        self.estimator.check(d)
        self.snapshot.check(d)

    def init(self, x: Vector) -> Anchor | None:
        """Return nothing: no snapshot has been taken yet."""
        del x
        return None

    def plan(self, x: Vector, sample: Sample, memory: Anchor | None, key: Key) -> Plan:
        """Ask for a snapshot, or for both terms of the correction."""
        if memory is None or key.iteration % self.every == 0:
            return self.snapshot.plan(x, sample, self.snapshot.init(x), key)
        (here,) = self.estimator.plan(x, sample, None, key).queries
        # the same directions: sampled once, used at both points
        return Plan(queries=(here, replace(here, base=memory.x)))

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: Anchor | None
    ) -> tuple[Estimate, Anchor | None]:
        """Return the corrected estimate, or the snapshot's own."""
        x = plan.queries[0].base
        if len(plan.queries) == 1 or memory is None:
            estimate, _ = self.snapshot.combine(plan, answers, self.snapshot.init(x))
            assert estimate is not None, "a snapshot takes one round"  # noqa: S101
            known = not np.isnan(estimate.value)
            return estimate, Anchor(x, frozen(estimate.gradient)) if known else memory
        here, there = map(sphere_estimate, plan.queries, answers)
        if np.isnan(there.value):  # the anchor could not be evaluated: no correction this time
            return here, memory
        gradient = here.gradient - there.gradient + memory.gradient
        return replace(here, gradient=gradient), self._anchor(x, gradient, memory)

    def _anchor(self, x: Vector, gradient: Vector, memory: Anchor) -> Anchor:
        del x, gradient
        return memory


@dataclass(frozen=True, kw_only=True)
class SARAH(SVRG):
    """The same correction against the previous iterate, whose own estimate is corrected too.

    ``v_t = ghat_B(x_t) - ghat_B(x_{t-1}) + v_{t-1}``, restarted from a full estimate in every
    ``every``-th iteration. Biased, because errors accumulate; but the two points are close.
    """

    def _anchor(self, x: Vector, gradient: Vector, memory: Anchor) -> Anchor:
        del memory
        return Anchor(x, frozen(gradient))
