"""Simulators that return vectors, each with hidden changes of few parameters and data from it.

All parameters are logarithms of factors on nominal values, or plain offsets: x = 0 is nominal. The
data are made at a hidden truth with at most k changes; a method is to find changes that explain
them.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from core import sized
from scipy.linalg import solve_banded

from szoht.types import Indices, Vector

sys.path.append(str(Path(__file__).parent.parent / "examples"))
from calibration_ode import NOMINAL, runge_kutta
from calibration_ode import pathway as three_steps
from combustion import SIGMA, Ignition

__all__ = ["CASES", "Calibration", "Case", "combustion_problem"]

Outputs = Callable[[Vector], Vector]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Outputs to be fitted to observed values by at most k changes within +-bound.

    ``fixed_error`` and ``fresh_noise`` spoil what a method is given, in units of ``sigma``: an
    error that is the same whenever a point is simulated, and one that is not.
    """

    outputs: Outputs
    observed: Vector
    sigma: Vector
    truth: Vector
    k: int
    bound: float
    truth_misfit: float
    fixed_error: float = 0.0
    fresh_noise: float = 0.0

    @property
    def d(self) -> int:
        """The number of parameters."""
        return int(self.truth.size)

    def misfit(self, x: Vector) -> float:
        """Return the sum of squares of (output - observed) / sigma, free of error and noise."""
        return float((((self.outputs(x) - self.observed) / self.sigma) ** 2).sum())

    def simulator(self, seed: int) -> Outputs:
        """Return the outputs as a method gets them."""
        rng = np.random.default_rng((seed, 77))
        wave = np.random.default_rng(5).standard_normal(self.d)
        phases = np.arange(self.observed.size)

        def simulate(x: Vector) -> Vector:
            spoiled = self.fixed_error * np.sin(1e7 * (wave @ x) + phases)
            spoiled = spoiled + self.fresh_noise * rng.standard_normal(phases.size)
            outputs: Vector = self.outputs(x) + self.sigma * spoiled
            return outputs

        return simulate


def observe(
    outputs: Outputs,
    truth: Vector,
    *,
    sigma: Callable[[Vector], Vector],
    k: int,
    bound: float,
    seed: int,
) -> Calibration:
    """Return the problem whose data are the outputs at the truth with noise of ``sigma``."""
    exact = outputs(truth)
    width = sigma(exact)
    noise = np.random.default_rng((seed, 31)).standard_normal(exact.size)
    return Calibration(
        outputs=outputs,
        observed=exact + width * noise,
        sigma=width,
        truth=truth,
        k=k,
        bound=bound,
        truth_misfit=float((noise**2).sum()),
    )


def changed(d: int, where: Indices, values: Vector) -> Vector:
    truth = np.zeros(d)
    truth[where] = values
    return truth


def signed(rng: np.random.Generator, low: float, high: float, count: int) -> Vector:
    values: Vector = rng.choice([-1.0, 1.0], count) * rng.uniform(low, high, count)
    return values


# linear


def linear(seed: int, d: int) -> Calibration:
    """Return a linear model of 20 outputs and d parameters, five of which matter, with noise."""
    rng = np.random.default_rng((seed, 1))
    k, m = 5, 20
    where = rng.choice(d, k, replace=False)
    columns = rng.standard_normal((m, k))
    truth = changed(d, where, signed(rng, 0.4, 1.0, k))
    observed = columns @ truth[where]
    sigma = np.full(m, 0.01 * math.sqrt(float((observed**2).mean())))

    def outputs(x: Vector) -> Vector:
        answer: Vector = columns @ x[where]
        return answer

    # the data are exact, the noise is in the simulations: the truth has misfit m on average
    return Calibration(
        outputs=outputs,
        observed=observed,
        sigma=sigma,
        truth=truth,
        k=k,
        bound=2.0,
        truth_misfit=float(m),
        fresh_noise=1.0,
    )


# a network of saturating reactions


def ode(seed: int, n: int) -> Calibration:
    """Return a random tree of n species, each made from its parent: 2 n rates, 100 outputs.

    Production and decay saturate, the root is driven. Four species are observed at 25 times, to 1 %
    of their mean.
    """
    rng = np.random.default_rng((seed, 2))
    parent = np.array([0, *(rng.integers(0, i) for i in range(1, n))])
    decay, production = rng.uniform(0.3, 1.5, (2, n))
    seen = rng.choice(np.arange(4, n), 4, replace=False)
    k = 6

    def outputs(x: Vector) -> Vector:
        a, b = decay * np.exp(x[:n]), production * np.exp(x[n:])

        def slope(y: Vector, t: float) -> Vector:
            made = b * (y / (1 + y))[parent]
            made[0] = 1 + 0.5 * math.sin(t)
            change: Vector = made - a * y / (1 + 0.3 * y)
            return change

        start = np.zeros(n)
        start[0] = 1.0
        return runge_kutta(slope, start, step=0.1, count=100, every=4)[:, seen].ravel()

    matter = sorted({i for leaf in seen for i in ancestors(parent, int(leaf))})
    candidates = np.array(matter + [n + i for i in matter if i > 0])
    where = rng.choice(candidates, min(k, candidates.size), replace=False)
    truth = changed(2 * n, where, signed(rng, 0.3, 0.8, where.size))
    return observe(
        outputs, truth, sigma=lambda y: _per_series(y, 4, 0.01), k=k, bound=math.log(10), seed=seed
    )


def ancestors(parent: Indices, leaf: int) -> list[int]:
    found = [leaf]
    while found[-1] > 0:
        found.append(int(parent[found[-1]]))
    return found


def _per_series(outputs: Vector, series: int, share: float) -> Vector:
    """Return a share of each time series' mean, for outputs that list the series at each time."""
    means = np.abs(outputs.reshape(-1, series)).mean(axis=0)
    widths: Vector = np.tile(share * np.maximum(means, 1e-6), outputs.size // series)
    return widths


# heat conduction


def heat(seed: int, n: int) -> Calibration:
    """Return a rod of n cells, heated at one end, with four bad conductors: 8 sensors, 12 times."""
    rng = np.random.default_rng((seed, 3))
    k, step, width = 4, 0.004, 1 / n
    sensors = np.linspace(n // 18, n - 1 - n // 18, 8).astype(int)

    def outputs(x: Vector) -> Vector:
        conductivity = 0.5 * np.exp(x)
        between = 2 / (1 / conductivity[1:] + 1 / conductivity[:-1]) / width**2
        left = np.concatenate([[2 * conductivity[0] / width**2], between])
        right = np.concatenate([between, [0.0]])
        bands = np.zeros((3, n))
        bands[0, 1:] = bands[2, :-1] = -step * between
        bands[1] = 1 + step * (left + right)
        temperature, rows = np.zeros(n), []
        for i in range(60):
            temperature[0] += step * left[0]
            temperature = solve_banded((1, 1), bands, temperature, check_finite=False)
            if i % 5 == 4:
                rows.append(temperature[sensors])
        return np.concatenate(rows)

    where = rng.choice(n, k, replace=False)
    truth = changed(n, where, -rng.uniform(1.0, 2.0, k))
    return observe(
        outputs, truth, sigma=lambda y: _relative(y, 0.003), k=k, bound=math.log(10), seed=seed
    )


def _relative(outputs: Vector, share: float) -> Vector:
    size = np.abs(outputs)
    widths: Vector = share * np.maximum(size, 0.05 * size.max())
    return widths


# an epidemic


def epidemic(seed: int, n: int) -> Calibration:
    """Return an epidemic: infection, recovery, travel of n regions; 8 of them seen, 12 weeks."""
    rng = np.random.default_rng((seed, 4))
    k = 5
    population = rng.uniform(0.5, 2.0, n)
    travel = (rng.random((n, n)) < 0.1) * rng.uniform(0, 0.05, (n, n))
    infection, recovery = rng.uniform(0.25, 0.45, n), rng.uniform(0.1, 0.2, n)
    seen, origin = rng.choice(n, 8, replace=False), int(rng.integers(n))

    def outputs(x: Vector) -> Vector:
        b, g, c = infection * np.exp(x[:n]), recovery * np.exp(x[n : 2 * n]), np.exp(x[2 * n :])
        susceptible, infected, cases = np.ones(n), np.full(n, 1e-4), np.zeros(n)
        infected[origin] = 0.01
        rows = []
        for half_day in range(168):
            new = 0.5 * susceptible * np.minimum(b * (infected + c * (travel @ infected)), 1.8)
            susceptible = susceptible - new
            infected = np.maximum(infected + new - 0.5 * g * infected, 0.0)
            cases = cases + new
            if half_day % 14 == 13:
                rows.append((cases * population)[seen])
                cases = np.zeros(n)
        return np.concatenate(rows)

    neighbors = np.flatnonzero(travel[seen].sum(axis=0) > 0)
    candidates = np.unique(np.concatenate([seen, n + seen, 2 * n + seen, neighbors]))
    where = rng.choice(candidates, k, replace=False)
    truth = changed(3 * n, where, signed(rng, 0.2, 0.6, k))
    return observe(outputs, truth, sigma=lambda y: _relative(y, 0.02), k=k, bound=1.5, seed=seed)


# the three-step pathway


def pathway(seed: int) -> Calibration:
    """Return a public benchmark: 36 kinetic parameters, 8 states, 16 experiments, 6 times.

    It is the model of ``examples/calibration_ode.py``, which names its source. Each state of an
    experiment is observed to 1 % of its mean.
    """
    rng = np.random.default_rng((seed, 6))
    k = 4
    truth = changed(36, rng.choice(36, k, replace=False), signed(rng, 0.2, 0.6, k))
    nominal = np.array(list(NOMINAL.values()))
    return observe(
        lambda x: three_steps(nominal * np.exp(x)).ravel(),
        truth,
        sigma=lambda y: _per_series(y, 128, 0.01),
        k=k,
        bound=math.log(5),
        seed=seed,
    )


# combustion


@cache
def ignition() -> tuple[Outputs, Indices]:
    """Return the model, and its 40 most sensitive reactions."""
    factors = Ignition()
    model, d = remembered(lambda x: factors(np.exp(x))), 325
    base = model(np.zeros(d))
    slopes = [model(changed(d, np.array([i]), np.array([0.05]))) - base for i in range(d)]
    return model, np.argsort(-np.linalg.norm(slopes, axis=1))[:40]


def remembered(outputs: Outputs) -> Outputs:
    """Return the function with a memory: sensitivities at the start are the same for all truths."""
    known: dict[bytes, Vector] = {}

    def recall(x: Vector) -> Vector:
        key = x.tobytes()
        if key not in known:
            known[key] = outputs(x)
        return known[key]

    return recall


def combustion_problem(seed: int) -> Calibration:
    """Return Cantera's methane flames with five hidden changes among the 40 that matter most."""
    model, sensitive = ignition()
    rng = np.random.default_rng((seed, 5))
    truth = changed(325, rng.choice(sensitive, 5, replace=False), signed(rng, 0.4, 0.8, 5))
    return observe(
        model, truth, sigma=lambda y: np.full(y.size, SIGMA), k=5, bound=math.log(10), seed=seed
    )


# the cases


@dataclass(frozen=True)
class Case:
    """A family of problems, the simulations that are to be enough, and what it needs."""

    name: str
    problem: Callable[[int], Calibration]
    limit: int
    package: str | None = None
    exact_support: bool = False


# of the two linear models; species, cells and regions
D_LINEAR, D_HUGE = sized((1000, 10_000), (40, 60))
SPECIES, CELLS, REGIONS = sized((100, 150, 40), (12, 36, 12))

CASES = [
    Case("linear", lambda seed: linear(seed, D_LINEAR), 30, exact_support=True),
    Case("linear, huge", lambda seed: linear(seed, D_HUGE), 40, exact_support=True),
    Case("ode", lambda seed: ode(seed, SPECIES), 85),
    Case("ode, error 1e-4", lambda seed: replace(ode(seed, SPECIES), fixed_error=0.01), 85),
    Case("ode, noise 1 %", lambda seed: replace(ode(seed, SPECIES), fresh_noise=1.0), 125),
    Case("combustion", combustion_problem, 120, package="cantera"),
    Case("heat", lambda seed: heat(seed, CELLS), 140),
    Case("epidemic", lambda seed: epidemic(seed, REGIONS), 110),
    Case("pathway", pathway, 60),
]
