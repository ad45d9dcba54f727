"""The objectives of a portfolio by name, written as homogeneous criteria."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from szoht.core.validation import check_real, check_vector, frozen
from szoht.errors import ParameterError
from szoht.problems.assets import Assets
from szoht.problems.cvar import HistoricalCVaR, NormalCVaR, SquaredCVaR
from szoht.problems.portfolio_forms import Criterion, QuadraticRisk, Risk
from szoht.types import Vector

__all__ = ["OBJECTIVES", "ObjectiveName", "ObjectiveOptions", "build_criterion", "risk_measure"]

ObjectiveName: TypeAlias = Literal[
    "paper", "minimum_variance", "mean_variance", "cvar", "tracking_error"
]

OBJECTIVES = ("paper", "minimum_variance", "mean_variance", "cvar", "tracking_error")

SHORTFALL_WEIGHT = 1e3
"""Default weight of a shortfall, in units of risk per squared range of the mean returns: the
return then misses the target by some thousandths of that range."""

CONSTANT_RATIO = 0.1
"""Constant that is added to a risk that can vanish, relative to the risk of the start."""

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectiveOptions:
    """An objective and its parameters, as `szoht.problems.portfolio` describes them."""

    objective: str
    target_return: float | None
    return_weight: float | None
    risk_aversion: float
    level: float
    benchmark: object


def risk_measure(options: ObjectiveOptions, assets: Assets) -> Risk:
    """Return the squared risk itself: variance, squared CVaR or squared tracking error."""
    objective, level, benchmark = options.objective, options.level, options.benchmark
    if objective == "cvar":
        check_real("level", level, low=0.0, high=1.0 - 1e-9, open_low=True)
        if assets.returns is not None:
            return SquaredCVaR(HistoricalCVaR(returns=assets.returns, level=level))
        return SquaredCVaR(NormalCVaR(mean=assets.mean, covariance=assets.covariance, level=level))
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
        if abs(float(given.sum()) - 1.0) > SUM_TOLERANCE:
            raise ParameterError(
                f"`benchmark` must be weights with sum 1, or one return per period; got {d} "
                f"numbers with sum {given.sum():g}."
            )
        moments = assets.covariance + np.outer(assets.mean, assets.mean)
        difference = np.eye(d) - np.outer(given, np.ones(d))
        return frozen(difference.T @ moments @ difference)
    if assets.returns is None or given.size != len(assets.returns):
        periods = "unknown" if assets.returns is None else str(len(assets.returns))
        raise ParameterError(
            f"`benchmark` must have one return per period ({periods}) or one weight per asset "
            f"({d}); got {given.size} numbers."
        )
    active = assets.returns - given[:, None]
    return frozen(active.T @ active / len(active))


def build_criterion(
    options: ObjectiveOptions, assets: Assets, measure: Risk, start: Vector
) -> Criterion:
    """Return the criterion to minimize, in homogeneous form, scaled by its value at ``start``."""
    objective, target, weight = options.objective, options.target_return, options.return_weight
    risk, constant = measure, 0.0
    if objective == "paper":
        risk = QuadraticRisk(0.5 * assets.covariance)
    elif objective == "mean_variance":
        gamma = check_real("risk_aversion", options.risk_aversion, low=0.0, open_low=True)
        risk, constant = _utility(assets, gamma)
    at_start = float(risk.squared_risk(start)) + constant
    if not at_start > 0:
        raise ParameterError(
            f"the {objective} of the start is {at_start:g}, not positive: in this sample it "
            "carries no risk. Use more periods, or a higher `level`."
        )
    if isinstance(risk, QuadraticRisk) and constant == 0 and not _is_positive_definite(risk.matrix):
        constant = CONSTANT_RATIO * at_start
    if target is not None and weight is None:
        spread = float(np.ptp(assets.mean)) or 1.0
        weight = SHORTFALL_WEIGHT * at_start / spread**2
    return Criterion(
        risk=risk,
        constant=constant,
        excess=frozen(assets.mean - (target or 0.0)),
        weight=weight or 0.0,
    )


def _is_positive_definite(matrix: Vector) -> bool:
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > 1e-10 * values[-1])


def _utility(assets: Assets, gamma: float) -> tuple[QuadraticRisk, float]:
    """Write gamma/2 w'Cw - m'w as w'Qw, and find the c that makes Q + c11' positive definite.

    On sum x = 0 the form is gamma/2 x'Cx > 0. On sum w = 1 it is the utility plus c, so c must
    exceed minus the minimum of the objective; beyond that, half of gamma times the minimum
    variance is added, so that m = 0 gives c = 0.
    """
    covariance, mean = assets.covariance, assets.mean
    if not _is_positive_definite(covariance):
        raise ParameterError(
            "`objective='mean_variance'` needs a positive definite covariance, or gains without "
            "risk are unbounded; got a singular one. Use more periods than assets, or `shrinkage`, "
            "such as shrinkage=0.1."
        )
    ones, tilted = np.linalg.solve(covariance, np.stack([np.ones_like(mean), mean], axis=1)).T
    minimum_variance = 1.0 / float(ones.sum())
    # minimizer of gamma/2 w'Cw - m'w over sum w = 1: w = C^-1 (m + nu 1) / gamma
    best = (tilted + (gamma - float(tilted.sum())) * minimum_variance * ones) / gamma
    utility = 0.5 * gamma * float(best @ covariance @ best) - float(mean @ best)
    matrix = 0.5 * (gamma * covariance - np.add.outer(mean, mean))
    return QuadraticRisk(frozen(matrix)), 0.5 * gamma * minimum_variance - utility
