"""The one record of a run's configuration, for `minimize`, `AskTell`, `resume` and stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast, get_args

import numpy as np

from szoht.algorithms import build
from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.registry import check_options
from szoht.core.algorithm import Algorithm, Measured
from szoht.core.operator import Operator
from szoht.core.random import as_seed
from szoht.core.sparse_vector import as_point
from szoht.core.validation import check_choice, check_flag, check_integer
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, ParameterError
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import Program
from szoht.run.always import Always, coordinates_of
from szoht.run.constraints import constraint_on_z
from szoht.run.criteria import by_criterion, default_plans
from szoht.run.known import CHECK_POINTS, Known, prepare_known, uses_known
from szoht.run.mapped import XForm
from szoht.run.problem import Start, VariableOptions
from szoht.run.start import check_sparse_start
from szoht.stopping import Rule, join_limits
from szoht.store import Request, RunSpec
from szoht.store.fingerprint import fingerprint, import_path, stable_repr
from szoht.types import Vector

__all__ = ["RunConfig"]

SHOWN_ENTRIES_OF_BOUNDS = 4
"""Longer arrays are abbreviated in messages and in the description of a method."""

DEFAULT_QUERIES = 10_000
"""The budget where no limit is given: so many queries, or some plans if that is more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunConfig:
    """What a run does, apart from the function: checked, and with nothing left to be chosen.

    ``limits`` holds ``max_queries``, ``max_iterations``, ``max_seconds`` and ``target``, as the
    user states them. With ``variables``, ``x0`` and the algorithm's constraint are on z. ``known``
    is the best known point, its value as the user states it. ``request`` is how the algorithm was
    asked for by name.
    """

    x0: Vector
    algorithm: Algorithm
    seed: int
    limits: Mapping[str, float | None] = field(default_factory=dict)
    stop: Rule | None = None
    on_error: OnError | None = None
    n_samples: int | None = None
    stochastic: bool = False
    variables: Variables | None = None
    maximize: bool = False
    x_as: XForm = "array"
    known: Measured | None = None
    request: Request | None = None

    def __post_init__(self) -> None:
        if self.on_error is not None:
            check_choice("on_error", self.on_error, get_args(OnError))
        check_sparse_start(self.algorithm, self.x0)
        self.algorithm.operator.check(self.x0.size)
        if self.known is not None and (
            self.known.x.shape != self.x0.shape or not np.isfinite(self.known.x).all()
        ):
            raise ParameterError("`known` must be a finite point of the size of `x0`.")
        if self.variables is not None:
            _check_integers(self.algorithm, self.variables)

    @classmethod
    def of(
        cls,
        x0: Start,
        *,
        k: int | str | None = None,
        constraint: Operator | None = None,
        always: Always = None,
        variable_options: VariableOptions | None = None,
        maximize: bool = False,
        x_as: XForm = "array",
        method: str | Algorithm = "auto",
        options: Mapping[str, Any] | None = None,
        rng: int | np.random.Generator | np.random.SeedSequence | None = None,
        limits: Mapping[str, Any],
        stop: Rule | None = None,
        n_samples: int | None = None,
        stochastic: bool = False,
        has_gradient: bool = False,
        on_error: OnError | None = None,
        known: Known = None,
        plan_width: int = 1,
    ) -> Self:
        """Return the configuration that the arguments of `minimize` describe."""
        check_options(options)
        maximize, stochastic = (
            check_flag("maximize", maximize),
            check_flag("stochastic", stochastic),
        )
        _check_count(n_samples)
        if isinstance(k, str):
            options = by_criterion(k, options, constraint, method=method, n_samples=n_samples)
            k = None
        named = x_as != "array"
        given = variable_options or VariableOptions()
        variables = given.variables(x0, method=method, named=named)
        if variables is None:
            start = as_point("x0", x0)
        else:
            if not variables.free.any():
                raise ParameterError(
                    "`variables` must have one that can be changed; got low == high for each of "
                    f"the {variables.d}. Widen some bounds."
                )
            start = variables.z_start
        if always is not None:
            free = coordinates_of(always, start.size, variables, method=method)
            if k is None and constraint is None:
                options = {**(options or {}), "always": free}
            else:
                constraint, k = pick_operator(k, constraint, free), None
        if variables is not None and isinstance(method, str):
            constraint, k = constraint_on_z(k, constraint, variables), None
        request = _request(
            method,
            k=k,
            constraint=constraint,
            options=dict(options or {}),
            has_gradient=has_gradient,
            plan_width=plan_width,
        )
        with np.printoptions(threshold=SHOWN_ENTRIES_OF_BOUNDS, edgeitems=1):  # in messages
            algorithm = build(
                method,
                x0=start,
                k=k,
                constraint=constraint,
                has_units=variables is not None and variables.has_units,
                integer_steps=None if variables is None else variables.grid,
                options=options,
                n_samples=n_samples,
                stochastic=stochastic,
                has_gradient=has_gradient,
                max_queries=_known_budget(
                    limits,
                    stop,
                    (n_samples or 0) * default_plans((options or {}).get("criterion")),
                    before=0 if known is None else CHECK_POINTS,
                ),
                plan_width=plan_width,
            )
            prepared = prepare_known(
                known, start, variables=variables, algorithm=algorithm, maximize=maximize
            )
        if prepared is not None and uses_known(algorithm) and not (stochastic or n_samples):
            algorithm = replace(cast(Any, algorithm), known=prepared.evaluations)
        return cls(
            x0=start,
            algorithm=algorithm,
            seed=as_seed(rng),
            limits=limits,
            stop=stop,
            on_error=on_error,
            n_samples=n_samples,
            stochastic=stochastic,
            variables=variables,
            maximize=maximize,
            x_as=x_as,
            known=None if prepared is None else prepared.best,
            request=request,
        )

    @classmethod
    def from_spec(cls, spec: RunSpec) -> Self:
        """Return the configuration of a stored run."""
        x0 = as_point("x0", spec.x0)
        return cls(
            x0=x0,
            algorithm=_asked_again(spec, x0) if spec.method is None else spec.method,
            seed=as_seed(spec.seed),
            limits=spec.limits,
            stop=spec.stop,
            on_error=cast(OnError | None, spec.on_error),
            n_samples=spec.n_samples,
            stochastic=spec.stochastic,
            variables=spec.variables,
            maximize=spec.maximize,
            x_as=spec.x_as,
            known=spec.known,
            request=spec.request,
        )

    @property
    def method(self) -> str:
        """The method and its parameters in words, long arrays such as bounds in few entries."""
        with np.printoptions(threshold=SHOWN_ENTRIES_OF_BOUNDS, edgeitems=1):
            return repr(self.algorithm)

    def rule(self, plan_cost: int) -> Rule:
        """Return all limits as one rule; by default 10,000 queries or 100 plans."""
        plans = default_plans(getattr(self.algorithm, "criterion", None))
        default = max(DEFAULT_QUERIES, plans * plan_cost)
        limits: Any = dict.fromkeys(("max_queries", "max_iterations", "max_seconds", "target"))
        return join_limits(**limits | dict(self.limits), stop=self.stop, default=default)

    def spec(
        self,
        fun: Any = None,
        *,
        args: tuple[Any, ...] = (),
        vectorized: bool = False,
        chunk_size: int | None = None,
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
            function=None if fun is None else fingerprint(fun, args),
            source=fun if isinstance(fun, Program) else None if fun is None else import_path(fun),
            variables=self.variables,
            maximize=self.maximize,
            x_as=self.x_as,
            known=self.known,
            request=self.request,
        )


def _request(method: str | Algorithm, **arguments: Any) -> Request | None:
    return Request(method=method, **arguments) if isinstance(method, str) else None


def _asked_again(spec: RunSpec, x0: Vector) -> Algorithm:
    """Return the algorithm of a stored run, made of the parts that it has in this version."""
    assert spec.request is not None, "a specification without a method has a request"  # noqa: S101
    request, variables = spec.request, spec.variables
    return build(
        request.method,
        x0=x0,
        k=request.k,
        constraint=request.constraint,
        options=request.options,
        has_units=variables is not None and variables.has_units,
        integer_steps=None if variables is None else variables.grid,
        n_samples=spec.n_samples,
        stochastic=spec.stochastic,
        has_gradient=request.has_gradient,
        max_queries=_known_budget(spec.limits, spec.stop, 0, before=0),
        plan_width=request.plan_width,
    )


def _check_integers(algorithm: Algorithm, variables: Variables) -> None:
    """Raise if there are integers, and the method would take differences over less than one."""
    if variables.integer[variables.free].any() and not getattr(algorithm, "asks_integers", False):
        raise CapabilityError(
            "`integer` variables need a method that compares f over whole steps: 'auto', "
            "'sparse_rs' or 'corner_search', with a set that counts; got "
            f"{type(algorithm).__name__} for {variables!r}."
        )


def _check_count(n_samples: int | None) -> None:
    if n_samples is not None:
        check_integer("n_samples", n_samples, low=1)


def _known_budget(
    limits: Mapping[str, Any], stop: Rule | None, default: int, *, before: int
) -> int | None:
    """Return how many queries an algorithm that plans ahead may count on, None if unknown.

    ``default`` are those of the plans that a run without limits may take; ``before`` queries are
    spent before it begins.
    """
    both = [limits.get("max_queries"), getattr(stop, "query_limit", None)]
    given = [limit for limit in both if isinstance(limit, int)]
    if given:
        return max(min(given) - before, min(1, *given))
    limited = any(limits.get(name) is not None for name in ("max_iterations", "max_seconds"))
    if limited or not (stop is None or getattr(stop, "has_target", False)):
        return None
    return max(DEFAULT_QUERIES, default) - before
