"""Solve portfolio problems: one, or a family of them along k or along the wanted return."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from szoht.problems.assets import Assets
from szoht.problems.portfolio import Portfolio, portfolio
from szoht.result import Result
from szoht.run.minimize import minimize
from szoht.types import Vector

__all__ = ["Solution", "Solver", "numbers_of_assets", "returns_to_try"]

SEED = 1_000
"""Starts are drawn apart from the runs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """A portfolio and what is to be said about it.

    Parameters
    ----------
    problem : Portfolio
        What was solved.
    weights : array of shape (d,)
        With sum 1 and at most k non-zeros.
    result : Result
        Of the run that found them.
    queries : int
        Of all runs for this number of assets and this wanted return together.
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
        """Standard deviation of the return per period, whatever the risk is."""
        covariance = self.problem.assets.covariance
        return float(np.sqrt(self.weights @ covariance @ self.weights))

    @property
    def expected_return(self) -> float:
        """Mean return per period."""
        return self.problem.expected_return(self.weights)

    @property
    def value(self) -> float:
        """The criterion that was minimised."""
        return self.problem.value(self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solver:
    """Find the best portfolio of few assets with `auto`, from several starts.

    Parameters
    ----------
    assets : Assets
        What can be bought.
    options : mapping
        Parameters of `szoht.problems.portfolio` other than k, target_return and rng.
    budget : int
        Queries per start.
    starts : int >= 1
        The first has evenly spaced assets, the others random ones.
    seed : int
        Decides starts and runs.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht.problems import from_returns
    >>> assets = from_returns(0.01 * np.random.default_rng(0).standard_normal((50, 6)))
    >>> solver = Solver(assets=assets, options={"objective": "minimum_variance"})
    >>> found = solver.solve(2)
    >>> int(np.count_nonzero(found.weights)), bool(abs(found.weights.sum() - 1) < 1e-12)
    (2, True)
    """

    assets: Assets
    options: Mapping[str, Any]
    budget: int = 20_000
    starts: int = 3
    seed: int = 0

    def solve(self, k: int, target_return: float | None = None) -> Solution:
        """Return the best of all starts."""
        wanted = self.options.get("target_return") if target_return is None else target_return
        runs = [self._run(k, wanted, start) for start in range(self.starts)]
        best = min(runs, key=lambda run: run.value)
        queries = sum(run.queries for run in runs)
        return Solution(
            problem=best.problem, weights=best.weights, result=best.result, queries=queries
        )

    def along_k(
        self, sizes: Sequence[int], tick: Callable[[], None] = lambda: None
    ) -> list[tuple[int, Solution]]:
        """Solve for each number of assets; where fewer are as good, their portfolio stands."""
        found: list[tuple[int, Solution]] = []
        for k in sorted(sizes):
            here = self.solve(k)
            rivals = [here, *(before for _, before in found[-1:])]
            best = min(rivals, key=lambda solution: solution.value)
            found.append((k, replace(best, queries=here.queries)))
            tick()
        return found

    def along_return(
        self, k: int, targets: Sequence[float], tick: Callable[[], None] = lambda: None
    ) -> list[Solution]:
        """Solve for each wanted return."""
        found = []
        for target in targets:
            found.append(self.solve(k, target))
            tick()
        return found

    def _run(self, k: int, target_return: float | None, start: int) -> Solution:
        options = {**self.options, "target_return": target_return}
        rng = None if start == 0 else np.random.default_rng([SEED, self.seed, start])
        problem = portfolio(self.assets, k=k, rng=rng, **options)
        result = minimize(
            problem.objective,
            problem.x0,
            constraint=problem.constraint,
            method="auto",
            max_queries=self.budget,
            rng=self.seed,
        )
        return Solution(
            problem=problem,
            weights=problem.weights(result.x),
            result=result,
            queries=result.nfev,
        )


def numbers_of_assets(k: int, d: int, count: int) -> list[int]:
    """Return up to ``count`` numbers of assets around k, evenly spread on a logarithmic scale.

    >>> numbers_of_assets(10, 225, 6)
    [1, 2, 5, 10, 13, 30]
    """
    largest = min(d, max(3 * k, k + 2))
    spread = np.geomspace(1, largest, max(count - 1, 2)).round().astype(int)
    return sorted({k, *(int(size) for size in spread)})


def returns_to_try(least: float, assets: Assets, count: int) -> list[float]:
    """Return wanted returns from that of least risk to the highest mean of all assets."""
    highest = float(assets.mean.max())
    return [float(target) for target in np.linspace(min(least, highest), highest, count)]
