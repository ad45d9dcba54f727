"""Functions whose values err: gap (f(x) - f*) / (f(0) - f*) of the true f, by kind of error.

    python benchmarks/noise.py [--smoke] [--seeds 5] [--set dev|held-out|units|all] [--only text]
                               [--solvers auto,rsm]

`rsm` is the yardstick: antithetic sign pairs of length 1 for a quarter of the budget, orthogonal
matching pursuit, two quadratic least-squares fits. Nothing is tuned on the held-out cases.
"""

import argparse
import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

import szoht
from szoht.operators import SparseBox

Vector = NDArray[np.float64]
Function = Callable[[Vector], float]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A function, its best value over points with k non-zeros, and bounds."""

    f: Function
    d: int
    k: int
    best: float = 0.0
    bounds: tuple[float, float] | None = None
    measured: Function | None = None
    """What the solver sees, if the error is the simulator's own."""

    @property
    def at_start(self) -> float:
        """The value at 0, where all runs begin."""
        return self.f(np.zeros(self.d))


# --- functions ---------------------------------------------------------------------------------


def quadratic(d: int = 500, k: int = 5, seed: int = 123) -> Problem:
    rng = np.random.default_rng(seed)
    on = rng.choice(d, k, replace=False)
    target, w = rng.choice([-1, 1], k) * rng.uniform(0.5, 2, k), rng.uniform(1, 3, k)

    def f(x: Vector) -> float:
        e = x[on] - target
        return float(w @ e**2 + 0.5 * e.sum() ** 2)

    return Problem(f=f, d=d, k=k)


def least_squares(d: int = 500, k: int = 5, n: int = 150, seed: int = 123) -> Problem:
    rng = np.random.default_rng(seed)
    x = np.zeros(d)
    x[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 2, k)
    a = rng.standard_normal((n, d))
    b = a @ x
    return Problem(f=lambda x: float(((a @ x - b) ** 2).mean()), d=d, k=k)


def hartmann6(d: int = 100, seed: int = 0) -> Problem:
    a = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    p = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    c, on = np.array([1, 1.2, 3, 3.2]), np.random.default_rng(seed + 77).choice(d, 6, replace=False)

    def f(x: Vector) -> float:
        return -float(c @ np.exp(-(a * (x[on] + 0.5 - p) ** 2).sum(axis=1)))

    return Problem(f=f, d=d, k=6, best=-3.32237, bounds=(-0.5, 0.5))


def rosenbrock4(d: int = 100, seed: int = 0) -> Problem:
    on = np.random.default_rng(seed + 78).choice(d, 4, replace=False)

    def f(x: Vector) -> float:
        z = 4 * x[on]
        return float((100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum()) / 100

    return Problem(f=f, d=d, k=4, bounds=(-0.5, 0.5))


def _with_best(problem: Problem, on: NDArray[np.intp], guess: Vector) -> Problem:
    def g(z: Vector) -> float:
        x = np.zeros(problem.d)
        x[on] = z
        return problem.f(x)

    return replace(problem, best=float(scipy_minimize(g, guess, method="BFGS").fun))


def logistic(d: int = 400, k: int = 6, n: int = 400, seed: int = 0) -> Problem:
    rng = np.random.default_rng(2900 + seed)
    a, on = rng.standard_normal((n, d)), rng.choice(d, k, replace=False)
    t = rng.choice([-1, 1], k) * rng.uniform(0.8, 2, k)
    y = np.sign(a[:, on] @ t + 0.3 * rng.standard_normal(n))
    f = lambda x: float(np.logaddexp(0, -y * (a @ x)).mean())  # noqa: E731
    return _with_best(Problem(f=f, d=d, k=k), on, t)


def poisson(d: int = 300, k: int = 6, n: int = 400, seed: int = 0) -> Problem:
    rng = np.random.default_rng(2950 + seed)
    a, on = 0.5 * rng.standard_normal((n, d)), rng.choice(d, k, replace=False)
    t = rng.choice([-1, 1], k) * rng.uniform(0.4, 1, k)
    y = rng.poisson(np.exp(a[:, on] @ t))

    def f(x: Vector) -> float:
        e = a @ x
        return float((np.exp(np.minimum(e, 30)) - y * e).mean())

    return _with_best(Problem(f=f, d=d, k=k), on, t)


def saturating(seed: int = 0) -> Problem:
    inner = quadratic(seed=seed + 240)
    scale = 1.5 / inner.at_start
    return replace(inner, f=lambda x: 1 - math.exp(-scale * inner.f(x)))


def pseudo_huber(d: int = 700, k: int = 8, seed: int = 0) -> Problem:
    """Slopes over one decade, a box of odd width, the optimum partly at a bound."""
    rng = np.random.default_rng(3100 + seed)
    on = rng.choice(d, k, replace=False)
    t, w = rng.choice([-1, 1], k) * rng.uniform(1.0, 5.0, k), 10.0 ** rng.uniform(-0.5, 0.5, k)

    def f(x: Vector) -> float:
        return float(w @ (np.sqrt(1 + (x[on] - t) ** 2) - 1))

    best = f(np.clip(np.bincount(on, t, d), -4, 4))
    return Problem(f=f, d=d, k=k, best=best, bounds=(-4.0, 4.0))


def reactions(d: int = 120, k: int = 4, seed: int = 0, tolerance: float = 1e-3) -> Problem:
    """Simulate six species with 120 rate multipliers exp(x_i) by Heun's method.

    Steps are halved or doubled by a tolerance: their pattern jumps as rates change, and the value
    with it.
    """
    rng = np.random.default_rng(3300 + seed)
    a = rng.integers(0, 6, d)
    b = (a + 1 + rng.integers(0, 5, d)) % 6
    rates, on = 10.0 ** rng.uniform(-4, -2.5, d), rng.choice(d, k, replace=False)
    rates[on] = rng.uniform(0.3, 1.0, k)
    a[on], b[on] = np.arange(k) % 6, (np.arange(k) + 1) % 6
    start, times = np.array([1.0, 0.5, 0.2, 0.1, 0.0, 0.3]), np.linspace(0.5, 6, 12)

    def simulate(x: Vector, tol: float) -> Vector:
        speed = rates * np.exp(np.clip(x, -5, 5))

        def rhs(y: Vector) -> Vector:
            flow = speed * y[a] / (1 + 0.3 * y[a])
            return np.asarray(np.bincount(b, flow, 6) - np.bincount(a, flow, 6), dtype=float)

        y, t, h, out = start, 0.0, 0.25, []
        for end in times:
            while t < end - 1e-12:
                step = min(h, end - t)
                k1 = rhs(y)
                k2 = rhs(y + step * k1)
                error = 0.5 * step * float(np.abs(k2 - k1).max())
                if error > tol and h > 1e-4:
                    h /= 2
                    continue
                y, t = y + 0.5 * step * (k1 + k2), t + step
                h = min(2 * h, 0.5) if error < tol / 8 else h
            out.append(y)
        return np.array(out)

    x = np.zeros(d)
    x[on] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.2, k)
    data = simulate(x, 1e-5)

    def loss(x: Vector, tol: float) -> float:
        return 100 * float(((simulate(x, tol) - data) ** 2).mean())

    return Problem(f=lambda x: loss(x, 1e-5), d=d, k=k, measured=lambda x: loss(x, tolerance))


def quadrature(d: int = 300, k: int = 5, seed: int = 0, tolerance: float = 1e-3) -> Problem:
    """Compare a curve of 300 coefficients with data, by adaptive Simpson's rule."""
    rng = np.random.default_rng(3500 + seed)
    on = rng.choice(d, k, replace=False)
    t = np.zeros(d)
    t[on] = rng.choice([-1, 1], k) * rng.uniform(0.6, 1.5, k)
    # smooth bumps at random places of random widths
    centers, widths = rng.uniform(0, 1, d), rng.uniform(0.03, 0.3, d)

    def curve(x: Vector, s: float) -> float:
        return float(x @ np.exp(-(((s - centers) / widths) ** 2)))

    def simpson(g: Callable[[float], float], tol: float) -> float:
        total, todo = 0.0, [(0.0, 1.0, g(0.0), g(0.5), g(1.0), tol, 0)]
        while todo:
            lo, hi, f0, f1, f2, tol_here, depth = todo.pop()
            mid = (lo + hi) / 2
            fa, fb = g((lo + mid) / 2), g((mid + hi) / 2)
            whole = (hi - lo) / 6 * (f0 + 4 * f1 + f2)
            halves = (hi - lo) / 12 * (f0 + 4 * fa + 2 * f1 + 4 * fb + f2)
            if abs(halves - whole) < 15 * tol_here or depth > 12:
                total += halves
            else:
                todo.append((lo, mid, f0, fa, f1, tol_here / 2, depth + 1))
                todo.append((mid, hi, f1, fb, f2, tol_here / 2, depth + 1))
        return total

    def loss(x: Vector, tol: float) -> float:
        e = x - t
        return simpson(lambda s: curve(e, s) ** 2, tol)

    return Problem(f=lambda x: loss(x, 1e-9), d=d, k=k, measured=lambda x: loss(x, tolerance))


# --- errors ------------------------------------------------------------------------------------


def exact(f: Function, size: float, seed: int) -> Function:
    del size, seed
    return f


def white(f: Function, size: float, seed: int) -> Function:
    """Add a hash of x: the same point has the same error."""
    del seed

    def g(x: Vector) -> float:
        digest = hashlib.md5(np.ascontiguousarray(x).tobytes(), usedforsecurity=False).digest()
        return f(x) + size * (2 * int.from_bytes(digest[:8], "little") / 2**64 - 1)

    return g


def wave(w: float) -> Callable[[Function, float, int], Function]:
    """Return the error size * sin(w a.x)."""

    def error(f: Function, size: float, seed: int) -> Function:
        directions: dict[int, Vector] = {}

        def g(x: Vector) -> float:
            if x.size not in directions:
                directions[x.size] = np.random.default_rng(seed + 5).standard_normal(x.size)
            return f(x) + size * math.sin(w * float(directions[x.size] @ x))

        return g

    return error


def fresh(law: str = "normal") -> Callable[[Function, float, int], Function]:
    def error(f: Function, size: float, seed: int) -> Function:
        rng = np.random.default_rng(1000 + seed)

        def draw() -> float:
            if law == "t2":
                return float(rng.standard_t(2))
            if law == "laplace":
                return float(rng.laplace()) / math.sqrt(2)
            if law == "mixture":
                return float(rng.standard_normal()) * (10 if rng.random() < 0.1 else 1)
            return float(rng.standard_normal())

        return lambda x: f(x) + size * draw()

    return error


def outliers(f: Function, size: float, seed: int) -> Function:
    """Put one value in twenty off by ``size``."""
    rng = np.random.default_rng(1000 + seed)
    return lambda x: f(x) + (size if rng.random() < 0.05 else 0.0)


def multiplicative(f: Function, size: float, seed: int) -> Function:
    del seed
    start: list[float] = []

    def g(x: Vector) -> float:
        if not start:
            start.append(f(np.zeros(x.size)))
        return f(x) * (1 + size / start[0] * float(rng.standard_normal()))

    rng = np.random.default_rng(1000)
    return g


def single_precision(f: Function, size: float, seed: int) -> Function:
    """Round the point and the value to single precision."""
    del size, seed
    return lambda x: float(np.float32(f(x.astype(np.float32).astype(np.float64))))


# --- solvers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a solver returned."""

    x: Vector
    fun: float = math.nan
    error: float = math.nan
    nfev: int = 0
    success: bool = False
    explain: tuple[str, ...] = ()


Solver = Callable[[Problem, Function, int, int], Answer]


def library(method: str) -> Solver:
    def solve(problem: Problem, f: Function, budget: int, seed: int) -> Answer:
        limits: dict[str, Any] = {"k": problem.k}
        if problem.bounds is not None:
            limits = {"constraint": SparseBox(problem.k, *problem.bounds)}
        result = szoht.minimize(
            f, np.zeros(problem.d), method=method, max_queries=budget, rng=seed, **limits
        )
        return Answer(
            result.x,
            result.fun,
            getattr(result, "fun_error", math.nan),
            result.nfev,
            result.success,
            result.explain,
        )

    return solve


def rsm(problem: Problem, f: Function, budget: int, seed: int) -> Answer:
    """Fifteen lines: sign pairs of length 1, matching pursuit, two quadratic fits."""
    rng, d, k = np.random.default_rng(seed), problem.d, problem.k
    low, high = problem.bounds or (-math.inf, math.inf)
    length = 1.0 if problem.bounds is None else (high - low) / 2
    u = rng.choice([-1.0, 1.0], (budget // 4, d))
    y = np.array([(f(length * r) - f(-length * r)) / 2 for r in u])
    on: list[int] = []
    residual = y
    for _ in range(k):
        on.append(int(np.argmax(np.abs(u.T @ residual))))
        residual = y - u[:, on] @ np.linalg.lstsq(u[:, on], y, rcond=None)[0]
    i, j = np.triu_indices(k)
    center, radius, n = np.zeros(k), 2 * length, budget // 4
    points, values = np.empty((0, k)), np.empty(0)
    for _ in range(2):
        new = np.clip(center + radius * rng.uniform(-1, 1, (n, k)), low, high)
        rows = np.zeros((n, d))
        rows[:, on] = new
        points = np.concatenate([points, new])
        values = np.append(values, [f(row) for row in rows])
        z = points - center
        terms = np.column_stack([np.ones(len(z)), z, z[:, i] * z[:, j]])
        fit = np.linalg.lstsq(terms, values)[0]
        h = np.zeros((k, k))
        h[i, j] = fit[k + 1 :]
        h = h + h.T
        e, v = np.linalg.eigh(h)
        step = -(v / np.maximum(e, 0.05 * max(e.max(), 1e-9))) @ v.T @ fit[1 : k + 1]
        center = np.clip(center + np.clip(step, -radius, radius), low, high)
    x = np.zeros(d)
    x[on] = center
    return Answer(x, nfev=2 * (budget // 4) + 2 * n)


SOLVERS: dict[str, Solver] = {"auto": library("auto"), "rsm": rsm}


# --- cases -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """A function, an error, its size, and a budget."""

    name: str
    make: Callable[[int], Problem]
    error: Callable[[Function, float, int], Function]
    size: float
    """Of the error, as a share of |f(0)|."""
    budget: int = 2000
    goal: float = math.nan


def development() -> Iterator[Case]:
    quad, squares = _always(quadratic()), _always(least_squares())
    yield from _fixed_errors("quadratic", quad, 1e-3)
    yield from _fixed_errors("least squares", squares, 1e-2)
    for size, goals in ((0.01, (1e-3, 1e-2)), (0.1, (5e-3, 0.1)), (1.0, (0.05, 0.2))):
        for name, make, goal in zip(
            ("quadratic", "least squares"), (quad, squares), goals, strict=True
        ):
            label = f"{name} fresh {size:g}"
            yield Case(name=label, make=make, error=fresh(), size=size, goal=goal)
    hart, label = (lambda seed: hartmann6(100, seed)), "Hartmann6 d=100"
    size, goal = 1e-4 / 0.505, 0.0044  # f = -3.31
    yield Case(name=f"{label} fixed 1e-4", make=hart, error=white, size=size, budget=200, goal=goal)
    short = wave(1e7)
    yield Case(name=f"{label} sin 1e-4", make=hart, error=short, size=size, budget=200, goal=goal)
    yield Case(name=f"{label} sin 1e5 1e-3", make=hart, error=wave(1e5), size=1e-3, budget=500)
    yield Case(name=f"{label} fixed 1e-2", make=hart, error=white, size=0.02, budget=500)
    yield Case(name=f"{label} fresh 0.1", make=hart, error=fresh(), size=0.1)
    rosen = lambda seed: rosenbrock4(100, seed)  # noqa: E731
    for size in (1e-6, 1e-4, 1e-2):
        yield Case(name=f"Rosenbrock4 fixed {size:g}", make=rosen, error=white, size=size)
    yield Case(name="Rosenbrock4 fresh 0.01", make=rosen, error=fresh(), size=0.01)
    yield Case(name="quadratic t2 0.1", make=quad, error=fresh("t2"), size=0.1)
    yield Case(name="quadratic outliers +10", make=quad, error=outliers, size=10.0)
    yield Case(name="quadratic outliers -10", make=quad, error=outliers, size=-10.0)


def unknown_units() -> Iterator[Case]:
    """Yield functions without bounds whose variables have other units, of one size or mixed."""
    functions = (("dense quadratic", dense_quadratic), ("least squares", least_squares))
    for name, make in functions:
        for label, size, decades in (("1e4", 1e4, 0), ("1e-4", 1e-4, 0), ("1e+-2", 1.0, 2)):
            scaled = _rescaled(make, size, decades)
            for error, kind, share in ((fresh(), "fresh", 0.01), (fresh(), "fresh", 0.1)):
                full = f"{name}, units {label}, {kind} {share:g}"
                yield Case(name=full, make=scaled, error=error, size=share, budget=2500)
            full = f"{name}, units {label}, fixed 1e-4"
            yield Case(name=full, make=scaled, error=white, size=1e-4, budget=2500)


def dense_quadratic(d: int = 100, k: int = 4, seed: int = 0) -> Problem:
    rng = np.random.default_rng(7700 + seed)
    target, w = np.zeros(d), rng.uniform(1, 3, d)
    target[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 2, k)
    return Problem(f=lambda x: float((w * (x - target) ** 2).sum()), d=d, k=k)


def _rescaled(
    make: Callable[..., Problem], size: float, decades: float
) -> Callable[[int], Problem]:
    def rescaled(seed: int) -> Problem:
        problem = make(d=100, k=4, seed=seed)
        unit = size * 10.0 ** np.random.default_rng(seed).uniform(-decades, decades, problem.d)
        return replace(problem, f=lambda x: problem.f(x / unit))

    return rescaled


def _fixed_errors(name: str, make: Callable[[int], Problem], goal: float) -> Iterator[Case]:
    sizes = (1e-6, 1e-4, 1e-2)
    for size in sizes:
        yield Case(name=f"{name} fixed {size:g}", make=make, error=white, size=size, goal=goal)
    for w in (1e4, 1e5, 1e6, 1e7):
        for size in sizes:
            label = f"{name} sin {w:.0e} {size:g}"
            yield Case(name=label, make=make, error=wave(w), size=size, goal=goal)
    for w in (1e3, 1e2):
        label = f"{name} sin {w:.0e} 0.001"
        yield Case(name=label, make=make, error=wave(w), size=1e-3)


def _always(problem: Problem) -> Callable[[int], Problem]:
    def make(seed: int) -> Problem:
        del seed
        return problem

    return make


def held_out() -> Iterator[Case]:
    many = {"budget": 3000}
    for size in (1e-6, 1e-3):
        yield Case(
            name=f"logistic fixed {size:g}", make=_seeded(logistic), error=white, size=size, **many
        )
        yield Case(
            name=f"Poisson fixed {size:g}", make=_seeded(poisson), error=white, size=size, **many
        )
        yield Case(
            name=f"saturating fixed {size:g}", make=_seeded(saturating), error=white, size=size
        )
    for size in (0.03, 0.3):
        yield Case(
            name=f"logistic fresh {size:g}",
            make=_seeded(logistic),
            error=fresh(),
            size=size,
            **many,
        )
        yield Case(
            name=f"Poisson fresh {size:g}", make=_seeded(poisson), error=fresh(), size=size, **many
        )
        yield Case(
            name=f"saturating fresh {size:g}", make=_seeded(saturating), error=fresh(), size=size
        )
    twelve = lambda seed: quadratic(500, 12, seed + 260)  # noqa: E731
    large = lambda seed: quadratic(2000, 5, seed + 270)  # noqa: E731
    other = lambda seed: least_squares(300, 4, 120, seed + 280)  # noqa: E731
    yield Case(name="quadratic k=12 fixed 1e-3", make=twelve, error=white, size=1e-3)
    yield Case(name="quadratic k=12 fresh 0.03", make=twelve, error=fresh(), size=0.03)
    yield Case(name="quadratic k=12 fresh 0.3", make=twelve, error=fresh(), size=0.3)
    yield Case(
        name="quadratic d=2000 sin 1e-5", make=large, error=wave(3e6), size=1e-5, budget=1000
    )
    yield Case(name="quadratic d=2000 fresh 0.3", make=large, error=fresh(), size=0.3)
    yield Case(name="quadratic d=2000 mixture 0.05", make=large, error=fresh("mixture"), size=0.05)
    yield Case(name="quadratic d=2000 Laplace 0.05", make=large, error=fresh("laplace"), size=0.05)
    yield Case(name="least squares d=300 t2 0.05", make=other, error=fresh("t2"), size=0.05)
    yield Case(name="least squares d=300 outliers", make=other, error=outliers, size=5.0)
    yield Case(name="least squares d=300 factor 0.1", make=other, error=multiplicative, size=0.1)
    yield Case(name="quadratic d=2000 factor 0.1", make=large, error=multiplicative, size=0.1)
    yield Case(
        name="quadratic d=2000 float32", make=large, error=single_precision, size=0.0, budget=1000
    )
    yield Case(name="least squares d=300 float32", make=other, error=single_precision, size=0.0)
    huber = _seeded(pseudo_huber)
    yield Case(name="pseudo-Huber box fixed 1e-5", make=huber, error=white, size=1e-5, budget=1000)
    yield Case(name="pseudo-Huber box sin 3e4 1e-3", make=huber, error=wave(3e4), size=1e-3)
    yield Case(name="pseudo-Huber box fresh 0.03", make=huber, error=fresh(), size=0.03)
    yield Case(
        name="reactions, step halving", make=_seeded(reactions), error=exact, size=0.0, budget=1000
    )
    coarse = lambda seed: reactions(seed=seed, tolerance=1e-2)  # noqa: E731
    yield Case(name="reactions, coarse halving", make=coarse, error=exact, size=0.0, budget=1000)
    yield Case(
        name="adaptive Simpson 1e-3", make=_seeded(quadrature), error=exact, size=0.0, budget=1000
    )
    rough = lambda seed: quadrature(seed=seed, tolerance=3e-2)  # noqa: E731
    yield Case(name="adaptive Simpson 3e-2", make=rough, error=exact, size=0.0, budget=1000)


def _seeded(make: Callable[..., Problem]) -> Callable[[int], Problem]:
    return lambda seed: make(seed=seed)


# --- runs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a run went; ``pull`` is |fun - f(x)| in units of the error that was stated."""

    gap: float
    pull: float
    nfev: int
    success: bool
    seconds: float
    evaluating: float


def run(case: Case, solver: Solver, seed: int) -> Outcome:
    problem = case.make(seed)
    at_start = problem.at_start
    measured = case.error(problem.measured or problem.f, case.size * abs(at_start), seed)
    spent = [0.0]

    def timed(x: Vector) -> float:
        begin = time.perf_counter()
        value = measured(x)
        spent[0] += time.perf_counter() - begin
        return value

    begin = time.perf_counter()
    answer = solver(problem, timed, case.budget, seed)
    seconds = time.perf_counter() - begin
    true = problem.f(answer.x)
    pull = abs(answer.fun - true) / answer.error if answer.error > 0 else math.nan
    gap = (true - problem.best) / (at_start - problem.best)
    return Outcome(gap, pull, answer.nfev, answer.success, seconds, spent[0])


def table(title: str, cases: list[Case], names: list[str], seeds: int) -> None:
    print(f"\n{title}: gap, median (worst) of {seeds}, and median number of values")
    print(f"{'case':32s} {'goal':>7s} " + " ".join(f"{name:>26s}" for name in names))
    pulls: list[float] = []
    for case in cases:
        cells = []
        for name in names:
            runs = [run(case, SOLVERS[name], seed) for seed in range(seeds)]
            gaps = [one.gap for one in runs]
            pulls += [one.pull for one in runs if math.isfinite(one.pull)]
            wins = sum(one.success for one in runs)
            values = np.median([one.nfev for one in runs])
            cells.append(f"{np.median(gaps):8.1e} ({max(gaps):7.1e}) {values:5.0f} {wins}")
        goal = "" if math.isnan(case.goal) else f"{case.goal:7.0e}"
        line = " ".join(f"{cell:>26s}" for cell in cells)
        print(f"{case.name:32s} {goal:>7s} {line}", flush=True)
    if pulls:
        shares = [float(np.mean(np.array(pulls) <= n)) for n in (1, 2, 3)]
        print(f"|fun - f(x)| within 1, 2, 3 fun_error: {shares} of {len(pulls)} runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--smoke", action="store_true", help="one seed, few cases")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--set", choices=("dev", "held-out", "units", "all"), default="all", dest="which"
    )
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    options = parser.parse_args()
    names = options.solvers.split(",")
    for which, make in (("dev", development), ("held-out", held_out), ("units", unknown_units)):
        cases = [case for case in make() if options.only in case.name]
        if options.smoke:
            cases = [replace(case, budget=min(case.budget, 300)) for case in cases[::8]]
        if options.which in ("all", which) and cases:
            table(which, cases, names, 1 if options.smoke else options.seeds)


if __name__ == "__main__":
    main()
