"""Constraints that the default solver does not serve itself, and says so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from szoht.algorithms.composite import Composite
from szoht.core.algorithm import State
from szoht.core.query import Answer, Plan
from szoht.types import Vector

__all__ = ["HandedOver"]


@dataclass(frozen=True, kw_only=True)
class HandedOver(Composite):
    """A run of `szoht` in place of `auto`, whose explanation begins with the reason."""

    answers_best: ClassVar[bool] = True

    def init(self, x0: Vector, *, seed: int, n_samples: int | None = None) -> State:
        """Return the state at the start."""
        return self._explained(super().init(x0, seed=seed, n_samples=n_samples))

    def tell(self, state: State, plan: Plan, answers: Sequence[Answer]) -> State:
        """Return the state after the plan was answered."""
        return self._explained(super().tell(state, plan, answers))

    def _explained(self, state: State) -> State:
        reason = (
            f"`auto` does not serve {type(self.operator).__name__} itself: the run was handed to "
            "`szoht` with its line search."
        )
        if reason in state.explanation:
            return state
        return replace(state, explanation=(reason, *state.explanation))
