"""Cardinality-constrained portfolios: the paper's task, and the same for any returns."""

import json
import os
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from szoht.core.random import as_seed
from szoht.core.validation import check_choice, check_integer, check_real, check_vector, frozen
from szoht.errors import DataError, ParameterError
from szoht.operators import Operator, Sparse, SparseBox, SparseSimplex
from szoht.problems import orlib
from szoht.problems.assets import Assets, from_returns, shrink_covariance
from szoht.problems.base import Problem
from szoht.problems.exact_weights import optimal_weights
from szoht.problems.portfolio_forms import ConvexForm, Criterion, RawForm, Risk
from szoht.problems.portfolio_objectives import (
    OBJECTIVES,
    ObjectiveName,
    ObjectiveOptions,
    build_criterion,
    risk_measure,
)
from szoht.types import Indices, Vector

__all__ = ["Form", "Portfolio", "portfolio"]

Form: TypeAlias = Literal["convex", "raw"]

PAPER_RETURN = {"port5": (1e-3, 1e-3)}
"""The target return and the weight of a shortfall; (0.1, 10) for all others."""

PAPER_SETTINGS = {
    "port4": {"q": 10, "support_size": 10, "mu": 0.015, "step_size": 0.015},
    "port5": {"q": 10, "support_size": 10, "mu": 0.1, "step_size": 1.0},
}
"""For port3 the paper gives none; those of port4 do not reproduce its figure."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Portfolio(Problem):
    """A problem whose solutions are portfolios.

    Parameters
    ----------
    assets : Assets
        Names, mean returns, covariance, and the returns if available.
    criterion : Criterion
        The function of the weights that is minimized.
    measure : Criterion
        The squared risk alone, without return or shortfall: variance, squared CVaR or squared
        tracking error.
    """

    assets: Assets
    criterion: Criterion
    measure: Risk

    def weights(self, x: object) -> Vector:
        """Return the portfolio weights x / sum(x) of a solution."""
        point = check_vector("x", x, size=self.dimension)
        total = float(point.sum())
        if total == 0.0:
            raise ParameterError("`x` must not sum to 0: it has no portfolio weights.")
        return frozen(point / total)

    def value(self, weights: Vector) -> float:
        """Return the criterion at weights that sum to 1, for either form of the objective."""
        return float(self.criterion.value_at(weights))

    def risk(self, weights: Vector) -> float:
        """Return the risk per period: volatility, or CVaR, or tracking error."""
        return float(np.sqrt(max(float(self.measure.squared_risk(weights)), 0.0)))

    def expected_return(self, weights: Vector) -> float:
        """Return the mean return per period."""
        return float(self.assets.mean @ weights)


def portfolio(
    source: object,
    *,
    k: int = 10,
    objective: ObjectiveName = "paper",
    form: Form = "convex",
    long_only: bool = False,
    target_return: float | None = None,
    return_weight: float | None = None,
    risk_aversion: float = 5.0,
    level: float = 0.95,
    benchmark: object = None,
    shrinkage: float = 0.0,
    path: str | os.PathLike[str] | None = None,
    rng: int | np.random.Generator | np.random.SeedSequence | None = None,
) -> Portfolio:
    r"""Return the problem of the best portfolio of at most k assets.

    With weights w, sum(w) = 1, mean returns m and covariance C, all per period, the objectives are

    - "paper": :math:`w'Cw/2 + \lambda \min(m'w - r, 0)^2`
    - "minimum_variance": :math:`w'Cw`
    - "mean_variance": :math:`\gamma/2\, w'Cw - m'w`
    - "cvar": the squared conditional value at risk, the mean loss in the worst fraction 1 - level
      of all periods; for normal returns if only moments are known
    - "tracking_error": the mean squared difference from a benchmark's returns

    and a ``target_return`` r adds :math:`\lambda \min(m'w - r, 0)^2` to any of them.

    Parameters
    ----------
    source : str, path, Assets, DataFrame or array of shape (T, d)
        "port1" to "port5", found as `szoht.problems.fetch` describes; an OR-Library file; or simple
        returns with a row per period and a column per asset.
    k : int in [1, d]
        At most this many assets.
    objective : str
        One of the five.
    form : {"convex", "raw"}
        "raw" is the criterion at x / sum(x), as in the paper: undefined at sum(x) = 0 and constant
        along rays. "convex" is a function with the same minimizers up to scaling that is finite
        and convex everywhere; see `szoht.problems.portfolio_forms`. `Portfolio.weights` converts
        solutions of either form to weights.
    long_only : bool
        Allow no negative weight.
    target_return, return_weight : float, optional
        r and lambda. For "paper" 0.1 and 10, for port5 1e-3 and 1e-3, by default; for the others
        no target, and a weight that makes the shortfall a few thousandths of the range
        of the mean returns.
    risk_aversion : float > 0
        gamma of "mean_variance".
    level : float in (0, 1)
        Confidence level of "cvar".
    benchmark : array of shape (T,) or (d,), or str, optional
        For "tracking_error": the benchmark's returns, or its weights on the assets, or the name of
        the asset to track, which is then excluded from the assets. By default all
        assets with equal weights.
    shrinkage : float in [0, 1]
        Weight of the identity in the shrunk covariance; for few periods and many assets.
    path : path, optional
        Where "port1" to "port5" is: the file, or a folder that holds it.
    rng : None, int, Generator or SeedSequence
        Start from equal weights on k random assets, as the paper does; by default on k evenly
        spaced ones.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> factors = np.random.default_rng(0).standard_normal((60, 3))
    >>> noise = np.random.default_rng(1).standard_normal((60, 12))
    >>> returns = 0.01 * (factors @ np.random.default_rng(2).random((3, 12)) + noise)
    >>> problem = portfolio(returns, k=3, objective="minimum_variance")
    >>> result = szoht.minimize(
    ...     problem.objective, problem.x0, constraint=problem.constraint, method="auto", rng=0
    ... )
    >>> weights = problem.weights(result.x)
    >>> int(np.count_nonzero(weights)), bool(problem.risk(weights) < problem.risk(problem.x0))
    (3, True)
    """
    check_choice("objective", objective, OBJECTIVES)
    check_choice("form", form, ("convex", "raw"))
    assets, name = _assets(source, path)
    assets = shrink_covariance(assets, shrinkage)
    tracked = benchmark
    if isinstance(benchmark, str):
        assets, tracked = _split_benchmark(assets, benchmark)
    d = assets.mean.size
    check_integer("k", k, low=1, high=d, high_name="d")
    start = _start(d, k, rng)
    target, weight = _return_target(objective, name, target_return, return_weight)
    options = ObjectiveOptions(
        objective=objective,
        target_return=target,
        return_weight=weight,
        risk_aversion=risk_aversion,
        level=level,
        benchmark=tracked,
    )
    measure = risk_measure(options, assets)
    criterion = build_criterion(options, assets, measure, start)
    form_ = (
        RawForm(criterion=criterion)
        if form == "raw"
        else ConvexForm(criterion=criterion, unit=float(criterion.squared_risk(start)))
    )
    problem = Portfolio(
        name=f"{name or 'portfolio'}-{objective}-k{k}",
        objective=form_.objective,
        x0=start,
        k=k,
        constraint=_constraint(k, long_only, form),
        constants={"target_return": target, "return_weight": criterion.weight}
        if target is not None
        else {},
        settings=PAPER_SETTINGS.get(name, {}) if form == "raw" and objective == "paper" else {},
        citation=orlib.CITATION if name else "",
        assets=assets,
        criterion=criterion,
        measure=measure,
    )
    known = objective == "paper" and not long_only and shrinkage == 0
    if known and (target, weight) == _return_target("paper", name, None, None):
        return _with_best(problem, form_, name)
    return problem


def _assets(source: object, path: str | os.PathLike[str] | None) -> tuple[Assets, str]:
    if isinstance(source, Assets):
        return source, ""
    if isinstance(source, str) and source in orlib.NAMES:
        return orlib.load_market(source, path), source
    if path is not None:
        raise ParameterError(f"`path` is only for {', '.join(orlib.NAMES)}; got source={source!r}.")
    if isinstance(source, str | os.PathLike):
        file = Path(source)
        if not file.is_file():
            raise DataError(
                f"`source` must be one of {', '.join(orlib.NAMES)}, an OR-Library file, a "
                f"DataFrame or an array of returns; got {str(source)!r}, and there is no such file."
            )
        return orlib.read_market(file), ""
    return from_returns(source), ""


def _split_benchmark(assets: Assets, name: str) -> tuple[Assets, Vector]:
    """Remove the benchmark from the assets; return the rest and its returns."""
    if name not in assets.names or assets.returns is None:
        raise ParameterError(
            f"`benchmark` must name a column of the returns; got {name!r}, and the columns are "
            f"{', '.join(assets.names) if assets.returns is not None else 'unknown'}."
        )
    index = assets.names.index(name)
    rest = np.delete(np.arange(len(assets.names)), index)
    kept = replace(
        assets,
        names=tuple(assets.names[i] for i in rest),
        mean=assets.mean[rest],
        covariance=assets.covariance[np.ix_(rest, rest)],
        returns=assets.returns[:, rest],
    )
    return kept, assets.returns[:, index]


def _start(d: int, k: int, rng: Any) -> Vector:
    x0 = np.zeros(d)
    if rng is None:
        support = np.linspace(0, d - 1, k).astype(int)
    else:
        generator = (
            rng if isinstance(rng, np.random.Generator) else np.random.default_rng(as_seed(rng))
        )
        support = generator.choice(d, size=k, replace=False)
    x0[support] = 1.0 / k
    return x0


def _return_target(
    objective: str, name: str, target: float | None, weight: float | None
) -> tuple[float | None, float | None]:
    """Return the target return r and its weight lambda; for "paper", with its defaults."""
    if objective == "paper":
        defaults = PAPER_RETURN.get(name, (0.1, 10.0))
        target = defaults[0] if target is None else target
        weight = defaults[1] if weight is None else weight
    if target is None:
        if weight is not None:
            raise ParameterError("`return_weight` needs a `target_return`; got none.")
        return None, None
    check_real("target_return", target)
    if weight is not None:
        check_real("return_weight", weight, low=0.0)
    return target, weight


def _constraint(k: int, long_only: bool, form: str) -> Operator:
    """Return the constraint: a cone for the convex form, the simplex for the raw one."""
    if not long_only:
        return Sparse(k)
    return SparseBox(k, low=0.0, high=np.inf) if form == "convex" else SparseSimplex(k)


def _with_best(problem: Portfolio, form_: RawForm | ConvexForm, name: str) -> Portfolio:
    """Add the best known portfolio, if there is one for this market and k."""
    found = _optima().get(f"{name}-k{problem.k}")
    if found is None:
        return problem
    support: Indices = np.array(found["support"], dtype=np.intp)
    weights = np.zeros(problem.dimension)
    weights[support] = optimal_weights(problem.criterion, support[None])[1][0]
    best_x = form_.scale_to_minimum(weights) if isinstance(form_, ConvexForm) else weights
    return replace(
        problem, best=form_.value(best_x), best_x=best_x, best_source=str(found["certificate"])
    )


@cache
def _optima() -> dict[str, Any]:
    text = resources.files("szoht.problems").joinpath("portfolio_optima.json").read_text()
    optima: dict[str, Any] = json.loads(text)
    return optima
