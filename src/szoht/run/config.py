"""The one record of a run's configuration, for `minimize`, `AskTell`, `resume` and stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from szoht.algorithms import build
from szoht.core.algorithm import Algorithm
from szoht.core.operator import Operator
from szoht.core.random import as_seed
from szoht.core.sparse_vector import as_point
from szoht.core.validation import check_choice
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import Program
from szoht.run.start import check_sparse_start
from szoht.stopping import Rule, join_limits
from szoht.store import RunSpec
from szoht.store.fingerprint import fingerprint, import_path, stable_repr
from szoht.types import Vector

__all__ = ["RunConfig"]

DEFAULT_QUERIES = 10_000
DEFAULT_PLANS = 100
"""The budget where no limit is given: so many queries, or so many plans if that is more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunConfig:
    """What a run does, apart from the function: checked, and with nothing left to be chosen.

    ``limits`` holds ``max_queries``, ``max_iterations``, ``max_seconds`` and ``target``.
    """

    x0: Vector
    algorithm: Algorithm
    seed: int
    limits: Mapping[str, float | None] = field(default_factory=dict)
    stop: Rule | None = None
    on_error: OnError | None = None
    n_samples: int | None = None
    stochastic: bool = False

    def __post_init__(self) -> None:
        if self.on_error is not None:
            check_choice("on_error", self.on_error, get_args(OnError))
        check_sparse_start(self.algorithm, self.x0)
        self.algorithm.operator.check(self.x0.size)

    @classmethod
    def of(
        cls,
        x0: ArrayLike,
        *,
        k: int | None = None,
        constraint: Operator | None = None,
        method: str | Algorithm = "auto",
        options: Mapping[str, Any] | None = None,
        rng: int | np.random.Generator | np.random.SeedSequence | None = None,
        limits: Mapping[str, Any],
        stop: Rule | None = None,
        n_samples: int | None = None,
        stochastic: bool = False,
        on_error: OnError | None = None,
    ) -> Self:
        """Return the configuration that the arguments of `minimize` describe."""
        start = as_point("x0", x0)
        algorithm = build(
            method,
            x0=start,
            k=k,
            constraint=constraint,
            options=options,
            n_samples=n_samples,
            stochastic=stochastic,
            max_queries=_known_budget(limits, stop),
        )
        return cls(
            x0=start,
            algorithm=algorithm,
            seed=as_seed(rng),
            limits=limits,
            stop=stop,
            on_error=on_error,
            n_samples=n_samples,
            stochastic=stochastic,
        )

    @classmethod
    def from_spec(cls, spec: RunSpec) -> Self:
        """Return the configuration of a stored run."""
        return cls(
            x0=as_point("x0", spec.x0),
            algorithm=cast(Algorithm, spec.method),
            seed=as_seed(spec.seed),
            limits=spec.limits,
            stop=spec.stop,
            on_error=cast(OnError | None, spec.on_error),
            n_samples=spec.n_samples,
            stochastic=spec.stochastic,
        )

    def rule(self, plan_cost: int) -> Rule:
        """Return all limits as one rule; by default 10,000 queries or 100 plans."""
        default = max(DEFAULT_QUERIES, DEFAULT_PLANS * plan_cost)
        limits: Any = dict.fromkeys(("max_queries", "max_iterations", "max_seconds", "target"))
        return join_limits(**limits | dict(self.limits), stop=self.stop, default=default)

    def spec(
        self, fun: Any = None, *, vectorized: bool = False, chunk_size: int | None = None
    ) -> RunSpec:
        """Return what a store holds of the run; without ``fun``, evaluation is external."""
        return RunSpec(
            algorithm=stable_repr(self.algorithm),
            method=self.algorithm,
            x0=self.x0,
            seed=self.seed,
            limits=dict(self.limits),
            stop=self.stop,
            stop_description=stable_repr(self.stop),
            on_error=self.on_error,
            n_samples=self.n_samples,
            stochastic=self.stochastic,
            vectorized=vectorized,
            chunk_size=chunk_size,
            function=None if fun is None else fingerprint(fun),
            source=fun if isinstance(fun, Program) else None if fun is None else import_path(fun),
        )


def _known_budget(limits: Mapping[str, Any], stop: Rule | None) -> int | None:
    """Return how many queries an algorithm that plans ahead may count on, None if unknown."""
    both = [limits.get("max_queries"), getattr(stop, "query_limit", None)]
    given = [limit for limit in both if isinstance(limit, int)]
    if given:
        return min(given)
    limited = any(limits.get(name) is not None for name in ("max_iterations", "max_seconds"))
    if limited or not (stop is None or getattr(stop, "has_target", False)):
        return None
    return DEFAULT_QUERIES
