"""The objectives of a portfolio by name, written as homogeneous criteria."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from szoht.core.validation import check_real, check_vector, frozen
from szoht.errors import ParameterError
from szoht.problems.assets import Assets
from szoht.problems.criteria import Criterion, QuadraticRisk, Risk
from szoht.problems.tail_risk import HistoricalTail, NormalTail, TailRisk
from szoht.types import Vector

__all__ = ["OBJECTIVES", "Choice", "ObjectiveName", "criterion_of", "measure_of"]

ObjectiveName: TypeAlias = Literal[
    "paper", "minimum_variance", "mean_variance", "cvar", "tracking_error"
]

OBJECTIVES = ("paper", "minimum_variance", "mean_variance", "cvar", "tracking_error")

STIFFNESS = 1e3
"""Default weight of a shortfall, in units of risk per squared spread of the mean returns: the
return then falls short by some thousandths of that spread."""

LIFT = 0.1
"""Where the risk can vanish, the constant that is added to it, as a share of the start's."""

ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """An objective and its parameters, as `szoht.problems.portfolio` describes them."""

    objective: str
    target_return: float | None
    return_weight: float | None
    risk_aversion: float
    level: float
    benchmark: object


def measure_of(choice: Choice, assets: Assets) -> Risk:
    """Return the squared risk itself: variance, squared CVaR or squared tracking error."""
    objective, level, benchmark = choice.objective, choice.level, choice.benchmark
    if objective == "cvar":
        check_real("level", level, low=0.0, high=1.0 - 1e-9, open_low=True)
        if assets.returns is not None:
            return TailRisk(HistoricalTail(returns=assets.returns, level=level))
        return TailRisk(NormalTail(mean=assets.mean, covariance=assets.covariance, level=level))
    if objective == "tracking_error":
        return QuadraticRisk(_active(assets, benchmark))
    if benchmark is not None:
        raise ParameterError(f"`benchmark` is for 'tracking_error'; got objective={objective!r}.")
    return QuadraticRisk(assets.covariance)


def _active(assets: Assets, benchmark: object) -> Vector:
    """Return the second moments of returns minus the benchmark's: |(R - b1')w|^2 / T = w'Qw."""
    d = assets.mean.size
    given = np.full(d, 1.0 / d) if benchmark is None else check_vector("benchmark", benchmark)
    if given.size == d and (assets.returns is None or given.size != len(assets.returns)):
        # b = Ru for weights u with sum 1, so R - b1' = R (I - u1')
        if abs(float(given.sum()) - 1.0) > ROUNDING:
            raise ParameterError(
                f"`benchmark` must be weights with sum 1, or one return per period; got {d} "
                f"numbers with sum {given.sum():g}."
            )
        moments = assets.covariance + np.outer(assets.mean, assets.mean)
        lag = np.eye(d) - np.outer(given, np.ones(d))
        return frozen(lag.T @ moments @ lag)
    if assets.returns is None or given.size != len(assets.returns):
        periods = "unknown" if assets.returns is None else str(len(assets.returns))
        raise ParameterError(
            f"`benchmark` must have one return per period ({periods}) or one weight per asset "
            f"({d}); got {given.size} numbers."
        )
    active = assets.returns - given[:, None]
    return frozen(active.T @ active / len(active))


def criterion_of(choice: Choice, assets: Assets, measure: Risk, start: Vector) -> Criterion:
    """Return what is minimised, in its homogeneous form; ``start`` sets the units."""
    objective, target, weight = choice.objective, choice.target_return, choice.return_weight
    risk, constant = measure, 0.0
    if objective == "paper":
        risk = QuadraticRisk(0.5 * assets.covariance)
    elif objective == "mean_variance":
        gamma = check_real("risk_aversion", choice.risk_aversion, low=0.0, open_low=True)
        risk, constant = _utility(assets, gamma)
    at_start = float(risk.squared(start)) + constant
    if not at_start > 0:
        raise ParameterError(
            f"the {objective} of the start is {at_start:g}, not positive: in this sample it "
            "carries no risk. Use more periods, or a higher `level`."
        )
    if isinstance(risk, QuadraticRisk) and constant == 0 and not _definite(risk.matrix):
        constant = LIFT * at_start
    if target is not None and weight is None:
        spread = float(np.ptp(assets.mean)) or 1.0
        weight = STIFFNESS * at_start / spread**2
    return Criterion(
        risk=risk,
        constant=constant,
        excess=frozen(assets.mean - (target or 0.0)),
        weight=weight or 0.0,
    )


def _definite(matrix: Vector) -> bool:
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > 1e-10 * values[-1])


def _utility(assets: Assets, gamma: float) -> tuple[QuadraticRisk, float]:
    """Write gamma/2 w'Cw - m'w as w'Qw, and find the c that makes Q + c11' positive definite.

    On sum x = 0 the form is gamma/2 x'Cx > 0. On sum w = 1 it is the utility plus c, so c must
    exceed minus the least utility of all assets; beyond that, half of gamma times the least
    variance is added, so that m = 0 gives c = 0.
    """
    covariance, mean = assets.covariance, assets.mean
    if not _definite(covariance):
        raise ParameterError(
            "`objective='mean_variance'` needs a positive definite covariance, or gains without "
            "risk are unbounded; got a singular one. Use more periods than assets, or `shrinkage`, "
            "such as shrinkage=0.1."
        )
    ones, tilt = np.linalg.solve(covariance, np.stack([np.ones_like(mean), mean], axis=1)).T
    least_variance = 1.0 / float(ones.sum())
    # minimiser of gamma/2 w'Cw - m'w over sum w = 1: w = C^-1 (m + nu 1) / gamma
    best = (tilt + (gamma - float(tilt.sum())) * least_variance * ones) / gamma
    utility = 0.5 * gamma * float(best @ covariance @ best) - float(mean @ best)
    matrix = 0.5 * (gamma * covariance - np.add.outer(mean, mean))
    return QuadraticRisk(frozen(matrix)), 0.5 * gamma * least_variance - utility
