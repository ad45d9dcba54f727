"""Parameters for SZOHT from the theory, with every condition they rely on."""

import math
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.errors import warn
from szoht.theory.advice import advise_on_budget, advise_on_conditions
from szoht.theory.convergence import contraction, error_floor, sparsity_threshold, step_size
from szoht.theory.inputs import Regularity, Setting, TheoryWarning, real
from szoht.theory.moments import direction_factors
from szoht.theory.necessity import necessary_q, smallest_q_for

__all__ = ["Condition", "Parameters", "Recommendation", "recommend"]

_LARGEST_SUPPORT = 100_000  # a direction of 10^5 non-zeros is 1.6 MB
_FEWEST_ROUNDS = 25  # the practical setting spends at most this fraction of the budget per step
_SMALLEST_MU = 1e-10


class Parameters(TypedDict):
    """Keyword arguments of ``szoht.algorithms.szoht``."""

    k: int
    q: int
    mu: float
    step_size: float
    support_size: int


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One condition: where it is stated, what it asks, what the parameters give."""

    statement: str
    requirement: str
    value: float
    holds: bool

    def __str__(self) -> str:
        mark = "holds" if self.holds else "FAILS"
        return f"{mark}  {self.statement}: {self.requirement}; value {self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Parameters, the regime they belong to, and the conditions of that regime.

    ``regime`` is "theorem" when Theorem 1 covers the parameters and "practical" otherwise;
    ``advice`` says then what would help.
    """

    parameters: Parameters
    regime: Literal["theorem", "practical"]
    reason: str
    conditions: tuple[Condition, ...]
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={_show(value)}" for name, value in self.parameters.items())
        lines = [f"szoht({listed})", f"regime: {self.regime}; {self.reason}"]
        lines += [f"  {condition}" for condition in self.conditions]
        if self.advice:
            lines += ["what would help:", *(f"  {sentence}" for sentence in self.advice)]
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class _Request:
    d: int
    k_star: int
    budget: int | None
    support_size: int
    accuracy: float
    regularity: Regularity


def recommend(
    *,
    d: int,
    k_star: int,
    kappa: float = 1.0,
    budget: int | None = None,
    smoothness: float = 1.0,
    support_size: int | None = None,
    accuracy: float = 1e-2,
) -> Recommendation:
    r"""Choose ``k, q, mu, step_size, support_size`` for SZOHT, and say what they rest on.

    Parameters
    ----------
    d : int >= 1
        Dimension.
    k_star : int in [1, d]
        Sparsity of the target.
    kappa : float >= 1
        Condition number, restricted to sparse directions.
    budget : int >= 2, optional
        Function evaluations at hand.
    smoothness : float > 0
        ``L``; the step size is proportional to ``1/L``.
    support_size : int in [1, d], optional
        Non-zeros of a direction; by default ``d``, at most 100000.
    accuracy : float > 0
        Distance to the target at which the smoothing radius should not be felt yet.

    Returns
    -------
    Recommendation
        ``szoht(**recommendation.parameters)`` runs. The assumptions on the objective itself
        (restricted smoothness and strong convexity) are taken as given.

    Warns
    -----
    TheoryWarning
        When no ``k <= (d - k_star) / 2`` contracts in Theorem 1, or when the budget does not even
        halve its bound. The practical setting is returned instead.

    Notes
    -----
    *Theorem.* Of all ``(k, q)`` that contract, the one with the fewest queries per halving of the
    bound, found on a grid; step size of Theorem 1; ``mu`` such that its part of the system error
    is half of ``accuracy``.

    *Practical.* ``k = k_star``. As ``mu -> 0`` the exact second moment on ``s = 3 k_star`` fixed
    coordinates gives, for a well conditioned quadratic,
    :math:`E\|x-\eta\hat g_F-x^*\|^2 = (1 - 2\eta L + \eta^2L^2(1 + (c_F-1)/q))\|x-x^*\|^2`;
    :math:`\eta = 1/(L(1 + c_F/q))` is just below its minimiser, and :math:`c_F` is about
    ``3 k_star + 2``. The coordinates are not fixed but chosen as the largest, which adds about
    ``2 k_star log(d / k_star) / q`` to the bracket: ``q = 4 k_star log(d)`` keeps that below 1/2.
    ``q`` is lowered so that the budget pays for 25 iterations. ``mu`` keeps the noise of the
    curvature, :math:`d s L^2\mu^2/4`, at one per cent of the noise of the direction,
    :math:`c_F L^2 \cdot` ``accuracy``:math:`^2`. No theorem stands behind this setting.

    Examples
    --------
    >>> print(recommend(d=5000, k_star=5, kappa=1.0, budget=10**6).regime)
    theorem
    """
    d = check_integer("d", d, low=1)
    request = _Request(
        d=d,
        k_star=check_integer("k_star", k_star, low=1, high=d, high_name="d"),
        budget=None if budget is None else check_integer("budget", budget, low=2),
        support_size=min(d, _LARGEST_SUPPORT)
        if support_size is None
        else check_integer("support_size", support_size, low=1, high=d, high_name="d"),
        accuracy=check_real("accuracy", accuracy, low=0.0, open_low=True),
        regularity=Regularity.from_kappa(kappa, smoothness=smoothness),
    )
    chosen = _cheapest(request)
    if chosen is None:
        reason = f"no k <= (d - k_star) / 2 contracts in Theorem 1 at kappa={kappa:g}"
        advice = advise_on_conditions(d=d, k_star=k_star, regularity=request.regularity)
        return _practical(request, reason, advice)
    setting, halving = chosen
    if request.budget is not None and halving > request.budget:
        reason = f"Theorem 1 needs {halving:.3g} queries to halve its bound, the budget is {budget}"
        return _practical(request, reason, advise_on_budget(halving=halving))
    return _theorem(request, setting, halving)


def _cheapest(request: _Request) -> tuple[Setting, float] | None:
    """Return the contracting setting with the fewest queries per halving, from a grid."""
    largest = (request.d - request.k_star) // 2
    if request.d < 3 or largest < request.k_star:  # noqa: PLR2004 - no room for 2 k + k_star
        return None
    k = np.unique(np.geomspace(request.k_star, largest, 300).round().astype(np.int64))
    least = real(smallest_q_for(k=k, **_problem(request)))
    k, least = k[np.isfinite(least)], least[np.isfinite(least)]
    if k.size == 0:
        return None
    q = np.ceil(least[:, None] * np.geomspace(1.02, 20, 100)).astype(np.int64)
    grid = _setting(request, k=k[:, None], q=q)
    factor = real(contraction(grid, request.regularity))
    # on huge k the ceiling may leave a factor of exactly 1; it then costs infinitely much
    rate = np.where(factor < 1, -np.log2(np.minimum(factor, 1.0)), 0.0)
    cost = np.divide(q + 1.0, rate, out=np.full(rate.shape, np.inf), where=rate > 0)
    i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return _setting(request, k=int(k[i]), q=int(q[i, j])), float(cost[i, j])


def _theorem(request: _Request, setting: Setting, halving: float) -> Recommendation:
    floor = float(error_floor(setting, request.regularity, sigma=0.0, mu=1.0))
    mu = max(_SMALLEST_MU, 0.5 * request.accuracy / floor)
    parameters = _parameters(setting, mu, float(step_size(setting, request.regularity)))
    conditions = (*_conditions(request, setting, mu), *_budget_condition(request, halving))
    reason = f"about {halving:.3g} queries per halving of the bound"
    if parameters["q"] > request.d:
        reason += "; q exceeds d: one difference per coordinate would give the whole gradient"
    return Recommendation(
        parameters=parameters, regime="theorem", reason=reason, conditions=conditions
    )


def _practical(request: _Request, reason: str, advice: tuple[str, ...]) -> Recommendation:
    d, k = request.d, request.k_star
    size = min(3 * k, d)
    q = math.ceil(4 * k * math.log(max(d, 2)))
    if request.budget is not None:
        q = max(1, min(q, request.budget // _FEWEST_ROUNDS - 1))
    factor, _ = direction_factors(d=d, support_size=request.support_size, size=size)
    step = 1 / (request.regularity.smoothness * (1 + float(factor) / q))
    mu = max(_SMALLEST_MU, 0.2 * request.accuracy * math.sqrt(float(factor) / (d * size)))
    parameters = Parameters(k=k, q=q, mu=mu, step_size=step, support_size=request.support_size)
    fits = 3 * k <= d and d >= 3  # noqa: PLR2004 - the smallest d with 2 k + k_star <= d
    if fits:
        conditions = _conditions(request, _setting(request, k=k, q=q), mu)
    else:
        conditions = (_buffer(request, k),)
    warn(f"{reason}: using the practical setting.", TheoryWarning)
    return Recommendation(
        parameters=parameters,
        regime="practical",
        reason=reason,
        conditions=conditions,
        advice=advice,
    )


def _conditions(request: _Request, setting: Setting, mu: float) -> tuple[Condition, ...]:
    threshold = float(sparsity_threshold(setting, request.regularity))
    factor = float(contraction(setting, request.regularity))
    least = necessary_q(**_problem(request))
    floor = float(error_floor(setting, request.regularity, sigma=0.0, mu=mu))
    k, q = int(setting.k), int(setting.q)
    return (
        _buffer(request, k),
        _at_least("Theorem 1", "k >= rho^2 k_star / (1 - rho^2)^2", k, threshold),
        Condition(
            statement="Theorem 1", requirement="gamma rho < 1", value=factor, holds=factor < 1
        ),
        _at_least("Remark 4", "q >= q_min", q, least),
        Condition(
            statement="Theorem 1",
            requirement=f"system error of mu <= accuracy = {request.accuracy:g}",
            value=floor,
            holds=floor <= request.accuracy,
        ),
    )


def _budget_condition(request: _Request, halving: float) -> tuple[Condition, ...]:
    if request.budget is None:
        return ()
    requirement = f"queries to halve the bound <= budget = {request.budget}"
    holds = halving <= request.budget
    return (Condition(statement="Theorem 1", requirement=requirement, value=halving, holds=holds),)


def _buffer(request: _Request, k: int) -> Condition:
    size = 2 * k + request.k_star
    requirement = f"2 k + k_star <= d = {request.d}"
    return Condition(
        statement="Theorem 1", requirement=requirement, value=size, holds=size <= request.d
    )


def _at_least(statement: str, requirement: str, value: float, bound: float) -> Condition:
    text = f"{requirement} = {bound:.6g}"
    return Condition(statement=statement, requirement=text, value=value, holds=value >= bound)


class _ProblemArguments(TypedDict):
    d: int
    k_star: int
    kappa: float
    support_size: int


def _problem(request: _Request) -> _ProblemArguments:
    return _ProblemArguments(
        d=request.d,
        k_star=request.k_star,
        kappa=request.regularity.kappa,
        support_size=request.support_size,
    )


def _setting(request: _Request, *, k: "int | np.ndarray", q: "int | np.ndarray") -> Setting:
    return Setting(d=request.d, k=k, k_star=request.k_star, q=q, support_size=request.support_size)


def _parameters(setting: Setting, mu: float, step: float) -> Parameters:
    return Parameters(
        k=int(setting.k),
        q=int(setting.q),
        mu=mu,
        step_size=step,
        support_size=setting.support_size,
    )


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
