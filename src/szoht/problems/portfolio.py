"""Portfolios of few assets: the paper's task, and the same tool for anybody's returns."""

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
from szoht.problems.assets import Assets, from_returns, shrunk
from szoht.problems.base import Problem
from szoht.problems.criteria import Convex, Criterion, Raw, Risk
from szoht.problems.objectives import OBJECTIVES, Choice, ObjectiveName, criterion_of, measure_of
from szoht.problems.supports import on_supports
from szoht.types import Indices, Vector

__all__ = ["Form", "Portfolio", "portfolio"]

Form: TypeAlias = Literal["convex", "raw"]

PAPER_RETURN = {"port5": (1e-3, 1e-3)}
"""The wanted return and the weight of a shortfall; (0.1, 10) for all others."""

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
        Names, mean returns, covariance, and the returns if they are known.
    criterion : Criterion
        What is minimised over weights.
    measure : Criterion
        The squared risk alone, without return or shortfall: variance, squared CVaR or squared
        tracking error.
    """

    assets: Assets
    criterion: Criterion
    measure: Risk

    def weights(self, x: object) -> Vector:
        """Return the portfolio x / sum(x) that a solution stands for."""
        point = check_vector("x", x, size=self.dimension)
        total = float(point.sum())
        if total == 0.0:
            raise ParameterError("`x` must not sum to 0: it stands for no portfolio.")
        return frozen(point / total)

    def value(self, weights: Vector) -> float:
        """Return the criterion at weights that sum to 1, whatever the form of the objective."""
        return float(self.criterion.of(weights))

    def risk(self, weights: Vector) -> float:
        """Return the risk per period: volatility, or CVaR, or tracking error."""
        return float(np.sqrt(max(float(self.measure.squared(weights)), 0.0)))

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
    - "cvar": the squared conditional value at risk, the mean loss in the worst share 1 - level of
      all periods; of normal returns where only moments are known
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
        along rays. "convex" is a function with the same minimisers up to length that is finite
        and convex everywhere; see `szoht.problems.criteria`. `Portfolio.weights` turns solutions
        of either into weights.
    long_only : bool
        Allow no negative weight.
    target_return, return_weight : float, optional
        r and lambda. For "paper" 0.1 and 10, for port5 1e-3 and 1e-3, by default; for the others
        no target, and a weight that makes the shortfall a few thousandths of the spread
        of the mean returns.
    risk_aversion : float > 0
        gamma of "mean_variance".
    level : float in (0, 1)
        Of "cvar".
    benchmark : array of shape (T,) or (d,), or str, optional
        For "tracking_error": the benchmark's returns, or its weights on the assets, or the name of
        the asset to track, which is then not available to invest in. By default all
        assets with equal weights.
    shrinkage : float in [0, 1]
        Share of the identity mixed into the covariance; for few periods and many assets.
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
    assets = shrunk(assets, shrinkage)
    followed = benchmark
    if isinstance(benchmark, str):
        assets, followed = _without(assets, benchmark)
    d = assets.mean.size
    check_integer("k", k, low=1, high=d, high_name="d")
    start = _start(d, k, rng)
    target, weight = _wanted(objective, name, target_return, return_weight)
    choice = Choice(
        objective=objective,
        target_return=target,
        return_weight=weight,
        risk_aversion=risk_aversion,
        level=level,
        benchmark=followed,
    )
    measure = measure_of(choice, assets)
    criterion = criterion_of(choice, assets, measure, start)
    shape = (
        Raw(criterion=criterion)
        if form == "raw"
        else Convex(criterion=criterion, unit=float(criterion.squared(start)))
    )
    problem = Portfolio(
        name=f"{name or 'portfolio'}-{objective}-k{k}",
        objective=shape.objective,
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
    if known and (target, weight) == _wanted("paper", name, None, None):
        return _with_best(problem, shape, name)
    return problem


def _assets(source: object, path: str | os.PathLike[str] | None) -> tuple[Assets, str]:
    if isinstance(source, Assets):
        return source, ""
    if isinstance(source, str) and source in orlib.NAMES:
        return orlib.load_market(source, path), source
    if path is not None:
        raise ParameterError(
            f"`path` says where one of {', '.join(orlib.NAMES)} is; got source={source!r}."
        )
    if isinstance(source, str | os.PathLike):
        file = Path(source)
        if not file.is_file():
            raise DataError(
                f"`source` must be one of {', '.join(orlib.NAMES)}, an OR-Library file, a "
                f"DataFrame or an array of returns; got {str(source)!r}, and there is no such file."
            )
        return orlib.read_market(file), ""
    return from_returns(source), ""


def _without(assets: Assets, name: str) -> tuple[Assets, Vector]:
    """Take one asset out, to be followed by the others; return its returns."""
    if name not in assets.names or assets.returns is None:
        raise ParameterError(
            f"`benchmark` must name a column of the returns; got {name!r}, and the columns are "
            f"{', '.join(assets.names) if assets.returns is not None else 'unknown'}."
        )
    place = assets.names.index(name)
    rest = np.delete(np.arange(len(assets.names)), place)
    kept = replace(
        assets,
        names=tuple(assets.names[i] for i in rest),
        mean=assets.mean[rest],
        covariance=assets.covariance[np.ix_(rest, rest)],
        returns=assets.returns[:, rest],
    )
    return kept, assets.returns[:, place]


def _start(d: int, k: int, rng: Any) -> Vector:
    x0 = np.zeros(d)
    if rng is None:
        places = np.linspace(0, d - 1, k).astype(int)
    else:
        generator = (
            rng if isinstance(rng, np.random.Generator) else np.random.default_rng(as_seed(rng))
        )
        places = generator.choice(d, size=k, replace=False)
    x0[places] = 1.0 / k
    return x0


def _wanted(
    objective: str, name: str, target: float | None, weight: float | None
) -> tuple[float | None, float | None]:
    """Return r and lambda, with the paper's where they are its own."""
    if objective == "paper":
        usual = PAPER_RETURN.get(name, (0.1, 10.0))
        target = usual[0] if target is None else target
        weight = usual[1] if weight is None else weight
    if target is None:
        if weight is not None:
            raise ParameterError("`return_weight` needs a `target_return`; got none.")
        return None, None
    check_real("target_return", target)
    if weight is not None:
        check_real("return_weight", weight, low=0.0)
    return target, weight


def _constraint(k: int, long_only: bool, form: str) -> Operator:
    """Return the cone on which the convex form works, or weights themselves for the raw one."""
    if not long_only:
        return Sparse(k)
    return SparseBox(k, low=0.0, high=np.inf) if form == "convex" else SparseSimplex(k)


def _with_best(problem: Portfolio, shape: Raw | Convex, name: str) -> Portfolio:
    """Add the best portfolio known, if the paper's objective was searched at this size."""
    found = _optima().get(f"{name}-k{problem.k}")
    if found is None:
        return problem
    support: Indices = np.array(found["support"], dtype=np.intp)
    weights = np.zeros(problem.dimension)
    weights[support] = on_supports(problem.criterion, support[None])[1][0]
    best_x = shape.at_best_length(weights) if isinstance(shape, Convex) else weights
    return replace(
        problem, best=shape.value(best_x), best_x=best_x, best_source=str(found["certificate"])
    )


@cache
def _optima() -> dict[str, Any]:
    text = resources.files("szoht.problems").joinpath("portfolio_optima.json").read_text()
    optima: dict[str, Any] = json.loads(text)
    return optima
