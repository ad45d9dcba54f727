"""Ways to find the few changes that explain data, each with one plain setting, not tuned.

A method is called with a `Record`, the budget and a seed. It simulates through the record, which
keeps the best point with at most k changes, and is ended by `BudgetSpentError` at the latest.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from calibration_problems import Calibration
from scipy.optimize import least_squares, lsq_linear

import szoht
from szoht.types import Indices, Vector

__all__ = ["METHODS", "PACKAGES", "BudgetSpentError", "Record", "run"]

DIFFERENCE = 0.05  # a change of 5 % of each parameter: far above errors of 1e-4


class BudgetSpentError(Exception):
    """The budget is spent."""


class Record:
    """Count the simulations of one run; keep the best point that changes at most k parameters."""

    def __init__(self, problem: Calibration, budget: int, seed: int) -> None:
        self.problem = problem
        self.budget = budget
        self.best = np.zeros(problem.d)
        self.misfits: list[float] = []  # of the best point after each simulation, without noise
        self.supports: list[frozenset[int]] = []
        self._simulate = problem.simulator(seed)
        self._least = np.inf

    @property
    def left(self) -> int:
        """The simulations that are left."""
        return self.budget - len(self.misfits)

    def outputs(self, x: Vector) -> Vector:
        """Simulate once."""
        if self.left <= 0:
            raise BudgetSpentError
        problem, x = self.problem, np.array(x, dtype=float)
        outputs = self._simulate(x)
        misfit = float((((outputs - problem.observed) / problem.sigma) ** 2).sum())
        better = misfit < self._least and np.count_nonzero(x) <= problem.k
        if better:
            self._least, self.best = misfit, x
        self.misfits.append(problem.misfit(x) if better else self._last())
        self.supports.append(frozenset(np.flatnonzero(self.best).tolist()))
        return outputs

    def _last(self) -> float:
        return self.misfits[-1] if self.misfits else np.inf

    def residuals(self, x: Vector) -> Vector:
        """Return (output - observed) / sigma."""
        answer: Vector = (self.outputs(x) - self.problem.observed) / self.problem.sigma
        return np.nan_to_num(answer, nan=1e3)

    def misfit(self, x: Vector) -> float:
        """Return the sum of squared residuals."""
        return float((self.residuals(x) ** 2).sum())

    def within(self, factor: float, *, exact_support: bool = False) -> float:
        """Return the simulations until the best point has at most factor x the truth's misfit."""
        support = frozenset(np.flatnonzero(self.problem.truth).tolist())
        for i, (misfit, found) in enumerate(zip(self.misfits, self.supports, strict=True)):
            if misfit <= factor * self.problem.truth_misfit and (
                not exact_support or found == support
            ):
                return float(i + 1)
        return np.inf

    def ratio(self, simulations: int) -> float:
        """Return the misfit relative to the truth's after so many simulations."""
        at = min(simulations, len(self.misfits)) - 1
        return self.misfits[at] / self.problem.truth_misfit


def run(name: str, problem: Calibration, budget: int, seed: int = 0) -> Record:
    """Return the record of one method."""
    record = Record(problem, budget, seed)
    with warnings.catch_warnings(), suppress(BudgetSpentError):
        warnings.simplefilter("ignore")
        METHODS[name](record, seed)
    return record


def thresholded(x: Vector, k: int) -> Vector:
    kept = np.argsort(-np.abs(x))[:k]
    answer = np.zeros_like(x)
    answer[kept] = x[kept]
    return answer


def knobs(problem: Calibration) -> szoht.Variables:
    return szoht.Variables(np.zeros(problem.d), low=-problem.bound, high=problem.bound)


# ours


def vector_valued(record: Record, seed: int) -> None:
    """Run `szoht.least_squares`."""
    problem = record.problem
    szoht.least_squares(
        record.outputs,
        knobs(problem),
        k=problem.k,
        observed=problem.observed,
        sigma=problem.sigma,
        max_queries=record.budget,
        rng=seed,
    )


def scalar(record: Record, seed: int) -> None:
    """Run `szoht.minimize` on the sum of squares."""
    problem = record.problem
    szoht.minimize(record.misfit, knobs(problem), k=problem.k, max_queries=record.budget, rng=seed)


# scripts around SciPy


def difference_slopes(record: Record, start: Vector) -> Vector:
    """Return one difference for each parameter that the budget allows, and zeros beyond."""
    problem = record.problem
    slopes = np.zeros((start.size, problem.d))
    for i in range(max(min(problem.d, record.left - 6 * problem.k), 0)):
        x = np.zeros(problem.d)
        x[i] = DIFFERENCE
        slopes[:, i] = (record.residuals(x) - start) / DIFFERENCE
    return slopes


def fit_support(record: Record, support: Sequence[int] | Indices, start: Vector) -> None:
    """Run SciPy's least squares on few parameters."""
    bound = record.problem.bound

    def residuals(values: Vector) -> Vector:
        x = np.zeros(record.problem.d)
        x[support] = values
        return record.residuals(x)

    inside = np.clip(start, -0.95 * bound, 0.95 * bound)
    least_squares(residuals, inside, bounds=(-bound, bound), diff_step=np.full(inside.size, 0.02))


def sensitivities(record: Record, seed: int) -> None:
    """Take all sensitivities, choose the support by the linear model, fit: an engineer's script.

    The support grows by the parameter that lowers the misfit of the bounded linear model most;
    then single parameters are exchanged while that helps.
    """
    del seed
    start = record.residuals(np.zeros(record.problem.d))
    slopes = difference_slopes(record, start)
    strongest = np.argsort(-np.linalg.norm(slopes, axis=0))[:150].tolist()

    def cost(support: list[int]) -> float:
        return float(lsq_linear(slopes[:, support], -start, (-1.0, 1.0)).cost)

    support: list[int] = []
    for _ in range(record.problem.k):
        support.append(min(set(strongest) - set(support), key=lambda i: cost([*support, i])))
    for place in range(record.problem.k):
        others = support[:place] + support[place + 1 :]
        support[place] = min(set(strongest) - set(others), key=lambda i: cost([*others, i]))
    values = lsq_linear(slopes[:, support], -start, (-1.0, 1.0)).x
    fit_support(record, support, np.asarray(values, dtype=float))


def all_parameters(record: Record, seed: int) -> None:
    """Take one Gauss-Newton step of least norm in all parameters, keep the k largest, fit them."""
    del seed
    start = record.residuals(np.zeros(record.problem.d))
    slopes = difference_slopes(record, start)
    step = -np.linalg.lstsq(slopes, start, rcond=1e-3)[0]
    support = np.argsort(-np.abs(step))[: record.problem.k]
    fit_support(record, support, np.asarray(step[support], dtype=float))


# other solvers


def dfo_ls(record: Record, seed: int) -> None:
    """Run DFO-LS on all parameters from 20 directions on, then on the k that changed most.

    Every 20 simulations its best point is thresholded and tried; the last fifth is for the k.
    """
    import dfols  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    problem, first = record.problem, int(0.8 * record.budget)
    best: list[Any] = [np.inf, np.zeros(problem.d)]

    def residuals(x: Vector) -> Vector:
        if record.budget - record.left >= first:
            raise StopIteration
        answer = record.residuals(x)
        if answer @ answer < best[0]:
            best[:] = [answer @ answer, x.copy()]
        if record.left % 20 == 0:
            record.residuals(thresholded(best[1], problem.k))
        return answer

    np.random.seed(seed)  # noqa: NPY002 - DFO-LS draws from the global generator
    limits = np.full(problem.d, problem.bound)
    options = {"growing.ndirs_initial": min(20, problem.d)}
    with suppress(StopIteration):
        dfols.solve(
            residuals,
            np.zeros(problem.d),
            bounds=(-limits, limits),
            maxfun=first,
            rhobeg=0.1,
            user_params=options,
        )
    support = np.flatnonzero(thresholded(best[1], problem.k))
    if support.size == 0:
        return

    def few(values: Vector) -> Vector:
        x = np.zeros(problem.d)
        x[support] = values
        return record.residuals(x)

    limits = limits[support]
    dfols.solve(few, best[1][support], bounds=(-limits, limits), maxfun=record.left, rhobeg=0.1)


def pycma(record: Record, seed: int) -> None:
    """Run CMA-ES with a diagonal covariance on the misfit of thresholded points."""
    import cma  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    problem = record.problem
    options = {
        "bounds": [-problem.bound, problem.bound],
        "CMA_diagonal": True,
        "maxfevals": record.budget,
        "seed": seed + 1,
        "verbose": -9,
    }
    strategy = cma.CMAEvolutionStrategy(np.zeros(problem.d), 0.2, options)
    while True:
        points = strategy.ask()
        strategy.tell(points, [record.misfit(thresholded(np.array(x), problem.k)) for x in points])


def nevergrad(record: Record, seed: int) -> None:
    """Run NGOpt on the misfit of thresholded points."""
    import nevergrad as ng  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    problem = record.problem
    space: Any = ng.p.Array(init=np.zeros(problem.d))
    space.set_bounds(-problem.bound, problem.bound)
    space.set_mutation(sigma=0.2)
    space.random_state.seed(seed)
    optimizer = ng.optimizers.NGOpt(parametrization=space, budget=record.budget)
    optimizer.minimize(lambda x: record.misfit(thresholded(x, problem.k)))


METHODS: dict[str, Callable[[Record, int], None]] = {
    "least_squares": vector_valued,
    "minimize": scalar,
    "sensitivities": sensitivities,
    "all parameters": all_parameters,
    "DFO-LS": dfo_ls,
    "pycma": pycma,
    "nevergrad": nevergrad,
}
PACKAGES = {"DFO-LS": "dfols", "pycma": "cma", "nevergrad": "nevergrad"}
