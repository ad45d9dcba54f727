"""Solves cardinality-constrained portfolio problems, over k or over target returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from szoht.problems.assets import Assets
from szoht.problems.portfolio import Portfolio, portfolio
from szoht.result import Result
from szoht.run.minimize import minimize
from szoht.types import Vector

__all__ = ["PortfolioSolution", "PortfolioSolver", "cardinalities", "target_returns"]

START_SEED = 1_000
"""Starts use random numbers of their own, independent of the runs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PortfolioSolution:
    """A portfolio with its risk and return.

    Parameters
    ----------
    problem : Portfolio
        The problem.
    weights : array of shape (d,)
        Sum 1, at most k non-zeros.
    result : Result
        Result of the run that found the weights.
    queries : int
        Total of all starts.
    """

    problem: Portfolio
    weights: Vector
    result: Result
    queries: int

    @property
    def risk(self) -> float:
        """Volatility, CVaR or tracking error per period."""
        return self.problem.risk(self.weights)

    @property
    def volatility(self) -> float:
        """Standard deviation of the return per period, for any risk measure."""
        covariance = self.problem.assets.covariance
        return float(np.sqrt(self.weights @ covariance @ self.weights))

    @property
    def expected_return(self) -> float:
        """Mean return per period."""
        return self.problem.expected_return(self.weights)

    @property
    def value(self) -> float:
        """The value of the minimized criterion."""
        return self.problem.value(self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class PortfolioSolver:
    """Finds the best portfolio of at most k assets with `auto`, from several starts.

    Parameters
    ----------
    assets : Assets
        The investable assets.
    options : mapping
        Parameters of `szoht.problems.portfolio` other than k, target_return and rng.
    budget : int
        Queries per start.
    starts : int >= 1
        The first has evenly spaced assets, the others random ones.
    seed : int
        Random seed of starts and runs.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht.problems import from_returns
    >>> assets = from_returns(0.01 * np.random.default_rng(0).standard_normal((50, 6)))
    >>> solver = PortfolioSolver(assets=assets, options={"objective": "minimum_variance"})
    >>> found = solver.solve(2)
    >>> int(np.count_nonzero(found.weights)), bool(abs(found.weights.sum() - 1) < 1e-12)
    (2, True)
    """

    assets: Assets
    options: Mapping[str, Any]
    budget: int = 20_000
    starts: int = 3
    seed: int = 0

    def solve(self, k: int, target_return: float | None = None) -> PortfolioSolution:
        """Return the best of all starts."""
        target = self.options.get("target_return") if target_return is None else target_return
        runs = [self._run(k, target, start) for start in range(self.starts)]
        best = min(runs, key=lambda run: run.value)
        queries = sum(run.queries for run in runs)
        return PortfolioSolution(
            problem=best.problem, weights=best.weights, result=best.result, queries=queries
        )

    def solve_cardinalities(
        self, sizes: Sequence[int], callback: Callable[[], None] = lambda: None
    ) -> list[tuple[int, PortfolioSolution]]:
        """Solve for each number of assets; a solution with fewer assets is kept if it is better."""
        found: list[tuple[int, PortfolioSolution]] = []
        for k in sorted(sizes):
            solution = self.solve(k)
            candidates = [solution, *(previous for _, previous in found[-1:])]
            best = min(candidates, key=lambda candidate: candidate.value)
            found.append((k, replace(best, queries=solution.queries)))
            callback()
        return found

    def solve_returns(
        self, k: int, targets: Sequence[float], callback: Callable[[], None] = lambda: None
    ) -> list[PortfolioSolution]:
        """Solve for each target return: the efficient frontier."""
        found = []
        for target in targets:
            found.append(self.solve(k, target))
            callback()
        return found

    def _run(self, k: int, target_return: float | None, start: int) -> PortfolioSolution:
        options = {**self.options, "target_return": target_return}
        rng = None if start == 0 else np.random.default_rng([START_SEED, self.seed, start])
        problem = portfolio(self.assets, k=k, rng=rng, **options)
        result = minimize(
            problem.objective,
            problem.x0,
            constraint=problem.constraint,
            method="auto",
            max_queries=self.budget,
            rng=self.seed,
        )
        return PortfolioSolution(
            problem=problem,
            weights=problem.weights(result.x),
            result=result,
            queries=result.nfev,
        )


def cardinalities(k: int, d: int, count: int) -> list[int]:
    """Return up to ``count`` numbers of assets around k, evenly spread on a logarithmic scale.

    >>> cardinalities(10, 225, 6)
    [1, 2, 5, 10, 13, 30]
    """
    largest = min(d, max(3 * k, k + 2))
    spaced = np.geomspace(1, largest, max(count - 1, 2)).round().astype(int)
    return sorted({k, *(int(size) for size in spaced)})


def target_returns(least: float, assets: Assets, count: int) -> list[float]:
    """Return target returns from that of minimum risk to the highest mean of all assets."""
    highest = float(assets.mean.max())
    return [float(target) for target in np.linspace(min(least, highest), highest, count)]
