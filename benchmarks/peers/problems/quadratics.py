"""Quadratics with a sparse minimiser, or with none; and a curved valley."""

from collections.abc import Callable

import numpy as np
from problems.base import Problem, reach

from szoht.problems.recovery import coefficients
from szoht.types import Vector

__all__ = ["PROBLEMS"]

TAU = 1e-3
ANALYTIC = "analytic: the minimiser is sparse, with value 0"


def _problem(
    name: str,
    fun: Callable[[Vector], float],
    d: int,
    k: int,
    *,
    noise: float = 0.0,
    tau: float = TAU,
) -> Problem:
    x0 = np.zeros(d)
    start = fun(x0)
    return Problem(
        name=name,
        d=d,
        k=k,
        x0=x0,
        fun=fun,
        best=0.0,
        source=ANALYTIC,
        target=reach(start, 0.0, tau),
        noise=noise * start,
        radius=0.1 if noise else 1e-6,
    )


def steps(name: str, d: int, k: int = 5, noise: float = 0.0, tau: float = TAU) -> Problem:
    """Half the squared distance to 1/k, 2/k, ..., 1 on the last k coordinates."""
    y = np.arange(1, k + 1) / k

    def fun(x: Vector) -> float:
        tail = x[-k:]
        return 0.5 * float(x @ x - tail @ tail + (tail - y) @ (tail - y))

    return _problem(name, fun, d, k, noise=noise, tau=tau)


def axes(name: str, d: int, k: int, condition: float, noise: float = 0.0) -> Problem:
    """Curvatures between 1 / condition and 1 along the axes; both ends occur on the support."""
    rng = np.random.default_rng(11)
    y = coefficients(rng, d, k)
    curvature = condition ** -rng.random(d)
    support = np.flatnonzero(y)
    curvature[support] = np.geomspace(1.0 / condition, 1.0, k)

    def fun(x: Vector) -> float:
        r = x - y
        return 0.5 * float((curvature * r) @ r)

    return _problem(name, fun, d, k, noise=noise)


def rotated(name: str, d: int, k: int, condition: float) -> Problem:
    """Curvatures between 1 / condition and 1 along the columns of a random rotation."""
    rng = np.random.default_rng(12)
    y = coefficients(rng, d, k)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    root = np.sqrt(np.geomspace(1.0 / condition, 1.0, d))[:, None] * basis.T

    def fun(x: Vector) -> float:
        r = root @ (x - y)
        return 0.5 * float(r @ r)

    return _problem(name, fun, d, k)


def blocks(name: str, d: int, k: int, condition: float, size: int = 10) -> Problem:
    """Rotated in blocks: each coordinate is coupled with nine others."""
    rng = np.random.default_rng(13)
    y = coefficients(rng, d, k)
    bases = np.linalg.qr(rng.standard_normal((d // size, size, size)))[0]
    roots = np.sqrt(np.geomspace(1.0 / condition, 1.0, size))[None, :, None] * bases

    def fun(x: Vector) -> float:
        r = np.matmul(roots, (x - y).reshape(-1, size, 1)).ravel()
        return 0.5 * float(r @ r)

    return _problem(name, fun, d, k)


def dense(name: str, d: int, k: int) -> Problem:
    """Half the squared distance to a dense point: no sparse structure in f or its gradient."""
    y = np.random.default_rng(14).standard_normal(d)
    rest = float(np.sort(y**2)[: d - k].sum())

    def fun(x: Vector) -> float:
        r = x - y
        return 0.5 * float(r @ r)

    return Problem(
        name=name,
        d=d,
        k=k,
        x0=np.zeros(d),
        fun=fun,
        best=0.5 * rest,
        source="analytic: the k largest entries of the minimiser",
        target=reach(0.5 * float(y @ y), 0.5 * rest, 1e-2),
    )


def coupled(name: str, d: int, k: int) -> Problem:
    """Couple all coordinates, around a dense minimiser; the best support is unknown."""
    rng = np.random.default_rng(15)
    root = rng.standard_normal((d, d)) / np.sqrt(d) + np.eye(d)
    y = rng.standard_normal(d)

    def fun(x: Vector) -> float:
        r = root @ (x - y)
        return 0.5 * float(r @ r)

    best = COUPLED_BEST
    return Problem(
        name=name,
        d=d,
        k=k,
        x0=np.zeros(d),
        fun=fun,
        best=best,
        source="references.py: best of many greedy and swap searches on the exact quadratic",
        target=reach(fun(np.zeros(d)), best, 5e-2),
    )


COUPLED_BEST = 49.94611158


def valley(name: str, d: int, k: int) -> Problem:
    """Rosenbrock's valley along k coordinates, half the squares of the others."""
    rng = np.random.default_rng(16)
    places = np.sort(rng.choice(d, size=k, replace=False))

    def fun(x: Vector) -> float:
        z = x[places]
        bend = z[1:] - z[:-1] ** 2
        flat = 1.0 - z[:-1]
        return float(10.0 * bend @ bend + flat @ flat + 0.5 * (x @ x - z @ z))

    return _problem(name, fun, d, k, tau=1e-2)


PROBLEMS: dict[str, Callable[[str], Problem]] = {
    "quad-d50": lambda name: steps(name, 50, 3),
    "quad-d1000": lambda name: steps(name, 1_000),
    "quad-d10000": lambda name: steps(name, 10_000),
    "quad-d100000": lambda name: steps(name, 100_000),
    "quad-k20": lambda name: axes(name, 2_000, 20, 1.0),
    "axes-c10": lambda name: axes(name, 1_000, 5, 10.0),
    "axes-c100": lambda name: axes(name, 1_000, 5, 100.0),
    "axes-c10-d20000": lambda name: axes(name, 20_000, 10, 10.0),
    "rotated-c10": lambda name: rotated(name, 400, 5, 10.0),
    "rotated-c100": lambda name: rotated(name, 400, 5, 100.0),
    "blocks-c100": lambda name: blocks(name, 2_000, 8, 100.0),
    "dense": lambda name: dense(name, 500, 10),
    "coupled": lambda name: coupled(name, 100, 8),
    "valley": lambda name: valley(name, 200, 6),
    "noisy-quad": lambda name: steps(name, 1_000, 5, 1e-3, 5e-2),
    "noisy-quad-d10000": lambda name: steps(name, 10_000, 5, 1e-2, 1e-1),
}
