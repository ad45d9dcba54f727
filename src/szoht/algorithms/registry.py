"""Algorithms by name, and how `minimize` makes one from what the user gave."""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from szoht.algorithms.auto import auto
from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.hzo_ht import hzo_ht
from szoht.algorithms.iht import iht, stoiht
from szoht.algorithms.momentum_szoht import momentum_szoht
from szoht.algorithms.rspgf import rspgf
from szoht.algorithms.sketch_ht import sketch_ht
from szoht.algorithms.szoht import szoht
from szoht.algorithms.truncated_zsgd import truncated_zsgd
from szoht.algorithms.variance_reduced import saga_szht, sarah_szht, vr_szht
from szoht.algorithms.vertex.corner_search import corner_search
from szoht.algorithms.vertex.sparse_rs import sparse_rs
from szoht.algorithms.zo_adamm import zo_adamm
from szoht.algorithms.zo_projected_gradient import zo_projected_gradient
from szoht.algorithms.zoro import ada_zoro, zoro
from szoht.algorithms.zscg import zscg
from szoht.core.algorithm import Algorithm
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import check_flag, check_integer, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import Operator
from szoht.samplers import Full, Minibatch, Seeds
from szoht.types import Vector

__all__ = ["METHODS", "build", "check_options"]

METHODS: dict[str, Callable[..., Algorithm]] = {
    "ada_zoro": ada_zoro,
    "auto": auto,
    "corner_search": corner_search,
    "hzo_ht": hzo_ht,
    "iht": iht,
    "momentum_szoht": momentum_szoht,
    "rspgf": rspgf,
    "saga_szht": saga_szht,
    "sarah_szht": sarah_szht,
    "sketch_ht": sketch_ht,
    "sparse_rs": sparse_rs,
    "stoiht": stoiht,
    "szoht": szoht,
    "truncated_zsgd": truncated_zsgd,
    "vr_szht": vr_szht,
    "zo_adamm": zo_adamm,
    "zo_projected_gradient": zo_projected_gradient,
    "zoro": zoro,
    "zscg": zscg,
}

DEFAULT_BATCH = 32

FILLED_IN = frozenset(
    ("k", "constraint", "d", "max_queries", "n_samples", "has_units", "integer_steps", "plan_width")
)
"""Parameters of methods that are no options: they follow from the other arguments of `build`."""


def build(
    method: str | Algorithm,
    *,
    x0: Vector,
    k: int | None,
    constraint: Operator | None,
    options: Mapping[str, Any] | None,
    n_samples: int | None,
    stochastic: bool,
    max_queries: int | None = None,
    has_units: bool = False,
    integer_steps: Vector | None = None,
    has_gradient: bool = False,
    plan_width: int = 1,
) -> Algorithm:
    """Return the algorithm that ``method`` names, or check that an object needs nothing else."""
    if not isinstance(method, str):
        wide = None if plan_width == 1 else plan_width
        return _as_given(method, k=k, constraint=constraint, options=options, plan_width=wide)
    if method not in METHODS:
        known = ", ".join(repr(name) for name in METHODS)
        raise ParameterError(
            f"`method` must be the name of a method, or an algorithm; got method={method!r}."
            f"{_suggestion(method, METHODS)} The names are {known}."
        )
    if method == "auto" and isinstance(x0, SparseVector):
        method = "sketch_ht"  # what `auto` measures is as long as x is; this is not
    factory = METHODS[method]
    accepted = inspect.signature(factory).parameters
    facts: dict[str, Any] = {"d": x0.size, "max_queries": max_queries, "n_samples": n_samples}
    facts["use_gradient"] = has_gradient
    settings = {name: value for name, value in facts.items() if name in accepted}
    settings |= _plan_width(method, accepted, plan_width)
    if "has_units" in accepted:
        settings |= {"has_units": has_units, "integer_steps": integer_steps}
    if "sampler" in accepted and isinstance(accepted["sampler"].default, Full):
        settings |= _sampler(n_samples, stochastic=stochastic)
    if k is not None or constraint is not None:
        settings["constraint"] = _constraint(method, accepted, k, constraint, x0.size)
    return factory(**settings | _checked(method, accepted, options))


def _constraint(
    method: str, accepted: Collection[str], k: int | None, constraint: Operator | None, d: int
) -> Operator:
    if k is not None:
        check_integer("k", k, low=1, high=d, high_name="d")
    operator = pick_operator(k, constraint)
    operator.check(d)
    if "constraint" not in accepted:
        raise ParameterError(
            f"method {method!r} takes no `k` or `constraint`: its own `options` may hold "
            f"{', '.join(accepted)}. Got k={k}, constraint={constraint!r}."
        )
    return operator


def _plan_width(method: str, accepted: Collection[str], plan_width: int) -> dict[str, int]:
    check_integer("plan_width", plan_width, low=1)
    if "plan_width" in accepted:
        return {"plan_width": plan_width}
    if plan_width != 1:
        raise ParameterError(
            f"`plan_width` is for method 'auto'; the plans of {method!r} are as wide as its own "
            f"parameters say. Got plan_width={plan_width}."
        )
    return {}


def check_options(options: Mapping[str, Any] | None) -> None:
    """Raise unless options are a dict or None."""
    if options is not None and not isinstance(options, Mapping):
        raise ParameterTypeError(f"`options` must be a dict; got options={shown(options)}.")


def _checked(
    method: str, accepted: Mapping[str, inspect.Parameter], options: Mapping[str, Any] | None
) -> dict[str, Any]:
    check_options(options)
    allowed = [name for name in accepted if name not in FILLED_IN]
    for name in options or {}:
        if name not in allowed:
            raise ParameterError(
                f"`options` must be parameters of method {method!r}; got {name!r}."
                f"{_suggestion(name, allowed)} It has {', '.join(allowed)}."
            )
        if isinstance(accepted[name].default, bool):
            check_flag(name, (options or {})[name])
    return dict(options or {})


def _suggestion(given: object, known: Iterable[str]) -> str:
    """Ask for the name that is most like the one given, if one is."""
    nearest = difflib.get_close_matches(str(given), known, n=1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


def _as_given(algorithm: Algorithm, **already: object) -> Algorithm:
    needed = ("init", "ask", "tell", "final_plan", "solution", "operator", "requires")
    missing = [name for name in needed if not hasattr(algorithm, name)]
    if missing:
        raise ParameterTypeError(
            f"`method` must be a name or an algorithm with {', '.join(needed)}; got "
            f"{shown(algorithm)}, which has no `{missing[0]}`."
        )
    for name, value in already.items():
        if value is not None:
            raise ParameterError(
                f"`{name}` is part of an algorithm object and must not be given beside it; "
                f"got {name}={value!r} with method={algorithm!r}."
            )
    return algorithm


def _sampler(n_samples: int | None, *, stochastic: bool) -> dict[str, Any]:
    if n_samples is not None:
        return {"sampler": Minibatch(size=min(n_samples, DEFAULT_BATCH))}
    return {"sampler": Seeds()} if stochastic else {}
