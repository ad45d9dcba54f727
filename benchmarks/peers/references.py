"""Find the best known k-sparse values of the problems that have no analytic one, and print them.

Every value starts from the coefficients behind the data. Smooth losses are minimised exactly on
supports, which are improved by exchanging one coordinate for one of those with the steepest
slopes. Metrics that are piecewise constant are climbed at random from there. The values are upper
bounds without a certificate; they are stored in the problems.
"""

from collections.abc import Callable

import numpy as np
from portfolio_search import search
from problems import make
from problems.statistics import SPECS, source_of
from scipy.optimize import minimize

from szoht.problems.recovery import STEP_LOSSES
from szoht.types import Indices, Vector

Fun = Callable[[Vector], float]

STEEPEST, CLIMBS = 12, 40_000


def on_support(fun: Fun, x: Vector, support: Indices) -> tuple[float, Vector]:
    """Minimise over the support, without derivatives at the end."""

    def restricted(z: Vector) -> float:
        y = np.zeros_like(x)
        y[support] = z
        return fun(y)

    z = minimize(restricted, x[support], method="BFGS", options={"gtol": 1e-8}).x
    z = minimize(restricted, z, method="Powell", options={"xtol": 1e-9, "ftol": 1e-12}).x
    best = np.zeros_like(x)
    best[support] = z
    return fun(best), best


def steepest(fun: Fun, x: Vector) -> Indices:
    slopes = np.empty(x.size)
    for i in range(x.size):
        up, down = x.copy(), x.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        slopes[i] = fun(up) - fun(down)
    slopes[np.flatnonzero(x)] = 0.0
    return np.argsort(-np.abs(slopes))[:STEEPEST]


def exchanged(fun: Fun, x: Vector) -> float:
    """Exchange one coordinate at a time as long as it helps."""
    value, x = on_support(fun, x, np.flatnonzero(x))
    while True:
        support = np.flatnonzero(x)
        trials = [
            on_support(fun, x, np.sort(np.append(np.delete(support, i), new)))
            for i in range(support.size)
            for new in steepest(fun, x)
        ]
        better, y = min(trials, key=lambda pair: pair[0])
        if better >= value - 1e-9 * abs(value):
            return value
        value, x = better, y


def climbed(fun: Fun, x: Vector) -> float:
    """Change one coefficient, or move it elsewhere, as long as it does not hurt."""
    rng = np.random.default_rng(0)
    value = fun(x)
    for _ in range(CLIMBS):
        y = x.copy()
        place = rng.choice(np.flatnonzero(x))
        if rng.random() < 0.2:
            y[rng.integers(x.size)], y[place] = y[place], 0.0
        y[place] += 10.0 ** rng.uniform(-3, 0) * rng.standard_normal()
        if np.count_nonzero(y) <= np.count_nonzero(x) and (reached := fun(y)) <= value:
            value, x = reached, y
    return value


def coupled() -> float:
    """Search supports of the coupled quadratic, recovered from its values."""
    problem = make("coupled")
    fun, d = problem.fun, problem.d
    eye = np.eye(d)
    at, ones = fun(np.zeros(d)), np.array([fun(e) for e in eye])
    opposite = np.array([fun(-e) for e in eye])
    slope = 0.5 * (ones - opposite)
    hessian = np.array([[fun(a + b) for b in eye] for a in eye])
    hessian = hessian - ones[:, None] - ones[None, :] + at

    def score(supports: Indices) -> Vector:
        part = hessian[supports[:, :, None], supports[:, None, :]]
        right = slope[supports]
        solved = np.linalg.solve(part, right[:, :, None])[:, :, 0]
        values: Vector = at - 0.5 * (right * solved).sum(axis=1)
        return values

    return search(score, d, problem.k, 60)[0]


def main() -> None:
    print(f"coupled: {coupled():.10g}", flush=True)
    for name, spec in SPECS.items():
        source = source_of(spec)
        fun, truth = source.objective.value, source.reference
        if truth is not None:
            find = climbed if spec.loss in STEP_LOSSES else exchanged
            print(f"{name}: {find(fun, truth):.10g} (truth {fun(truth):.6g})", flush=True)


if __name__ == "__main__":
    main()
