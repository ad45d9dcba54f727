"""Cases for the default solver: a development set and a held-out set of the same kinds.

Run a part of it: ``python benchmarks/solver_cases.py dev --methods auto --seeds 3``. Each row shows
the median gap to the best value known, how many runs reached the goal and after how many queries,
the queries at the end and the status. Held-out cases are for judging, not for tuning.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import szoht
from szoht import Sparse, SparseBox
from szoht.types import Vector

Function = Callable[[Vector], float]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A function of ``d`` variables from zero, with the best value known and a goal for the gap."""

    name: str
    fun: Function
    d: int
    constraint: Any
    best: float = 0.0
    goal: float = 1e-6
    budget: int = 20_000


def scaled_quadratic(target: Vector, unit: float | Vector, x: Vector) -> float:
    """Return the squared distance to a target, in units."""
    return float(((x / unit - target) ** 2).sum())


def weighted_squares(weights: Vector, z: Vector) -> float:
    """Return sum w_i z_i^2."""
    return float(weights @ z**2)


def huber(z: Vector) -> float:
    """Return the pseudo-Huber loss."""
    return float((np.sqrt(1 + z**2) - 1).sum())


def scaled_huber(target: Vector, unit: float | Vector, x: Vector) -> float:
    """Return the pseudo-Huber distance to a target, in units."""
    return huber(x / unit - target)


def sparse_target(d: int, k: int, seed: int, low: float = 0.5, high: float = 1.5) -> Vector:
    """Return a vector with k non-zeros of random sign."""
    rng = np.random.default_rng(seed)
    target = np.zeros(d)
    chosen = rng.choice(d, k, replace=False)
    target[chosen] = rng.choice([-1.0, 1.0], k) * rng.uniform(low, high, k)
    return target


# -- functions of few variables, for boxes and hidden in many variables


def rastrigin(z: Vector) -> float:
    return float(10 * z.size + (z**2 - 10 * np.cos(2 * math.pi * z)).sum())


def ackley(z: Vector) -> float:
    root = math.sqrt(float(z @ z) / z.size)
    waves = float(np.cos(2 * math.pi * z).mean())
    return -20 * math.exp(-0.2 * root) - math.exp(waves) + 20 + math.e


def griewank(z: Vector) -> float:
    return float(1 + (z @ z) / 4000 - np.prod(np.cos(z / np.sqrt(np.arange(1, z.size + 1)))))


def levy(z: Vector) -> float:
    w = 1 + (z - 1) / 4
    inner = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)).sum()
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2)
    return float(np.sin(math.pi * w[0]) ** 2 + inner + last)


def rosenbrock(z: Vector) -> float:
    return float((100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum())


def styblinski(z: Vector) -> float:
    return float(0.5 * (z**4 - 16 * z**2 + 5 * z).sum() + 39.16616570377142 * z.size)


def schwefel(z: Vector) -> float:
    return float(418.9828872724339 * z.size - (z * np.sin(np.sqrt(np.abs(z)))).sum())


def michalewicz(z: Vector) -> float:
    waves = np.sin(np.arange(1, z.size + 1) * z * z / math.pi) ** 20
    return float(-(np.sin(z) * waves).sum())


_HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(z: Vector) -> float:
    inner = (_HARTMANN_A * (z - _HARTMANN_P) ** 2).sum(axis=1)
    return -float(np.array([1, 1.2, 3, 3.2]) @ np.exp(-inner))


def branin(z: Vector) -> float:
    x, y = 15 * z[0] - 5, 15 * z[1]
    root = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return float(root**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def hidden(
    core: Function, m: int, d: int, seed: int, *, rotated: bool = False, shift: float = 1.0
) -> Function:
    """Hide a function of m variables among d: shifted, rescaled by 0.5 to 2, perhaps rotated."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(d, m, replace=False)
    scale, offset = rng.uniform(0.5, 2, m), shift * rng.standard_normal(m)
    rotation = np.linalg.qr(rng.standard_normal((m, m)))[0] if rotated else np.eye(m)
    return lambda x: core(rotation @ (scale * np.asarray(x)[chosen] - offset))


def in_box(
    name: str, core: Function, m: int, d: int, *, seed: int, span: tuple[float, float]
) -> Case:
    """Hide a function in a box, the start at a random inner point."""
    rng = np.random.default_rng(5000 + seed)
    chosen, at = rng.choice(d, m, replace=False), rng.uniform(0.15, 0.85, d)
    low, high = span

    def fun(x: Vector) -> float:
        share = np.clip(np.asarray(x)[chosen] + at[chosen], 0, 1)
        return core(low + (high - low) * share)

    return Case(name=name, fun=fun, d=d, constraint=SparseBox(m, -at, 1 - at), goal=1e-3)


# -- rough functions


def zero_one_error(d: int, k: int, n: int, seed: int) -> Function:
    rng = np.random.default_rng(seed)
    data, labels = rng.standard_normal((n, d)), np.empty(0)
    labels = np.sign(data @ sparse_target(d, k, seed, 0.5, 2.0))
    return lambda x: float((np.sign(data @ x) != labels).mean())


def least_squares(d: int, k: int, n: int, seed: int) -> Function:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n, d)) / math.sqrt(n)
    target = sparse_target(d, k, seed)
    return lambda x: float(((data @ (np.asarray(x) - target)) ** 2).sum())


def half_integer(d: int, k: int, seed: int) -> Function:
    rng = np.random.default_rng(seed)
    target = np.zeros(d)
    target[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.integers(3, 20, k)
    even = np.arange(d) % 2 == 0
    return lambda x: float(((np.where(even, np.rint(x), x) - target) ** 2).sum())


def metric(name: str, data: str, k: int) -> Case:
    """Return a training metric of a linear classifier, on data of scikit-learn."""
    import sklearn.datasets  # type: ignore[import-untyped]  # noqa: PLC0415
    from scipy.stats import rankdata  # noqa: PLC0415

    features, labels = getattr(sklearn.datasets, f"load_{data}")(return_X_y=True)
    if data == "digits":
        rows = (labels == 3) | (labels == 8)
        features, labels = features[rows], labels[rows] == 3
    else:
        labels = labels == 1
    if data == "breast_cancer":
        from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]  # noqa: PLC0415

        features, _, labels, _ = train_test_split(
            features, labels, test_size=0.3, random_state=0, stratify=labels
        )
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread == 0, 1, spread)
    ones, zeros = labels.sum(), (~labels).sum()

    def auc(w: Vector) -> float:
        ranks = rankdata(features @ w)[labels].sum()
        return float(1 - (ranks - ones * (ones + 1) / 2) / (ones * zeros))

    def f1(w: Vector) -> float:
        said = features @ w[:-1] + w[-1] > 0
        return float(1 - 2 * (said & labels).sum() / max(1, said.sum() + ones))

    def error(w: Vector) -> float:
        return float(((features @ w[:-1] + w[-1] > 0) != labels).mean())

    d = features.shape[1] + (name != "auc")
    fun = {"auc": auc, "f1": f1, "error": error}[name]
    size = k + (name != "auc")
    return Case(name=f"{data}-{name}", fun=fun, d=d, constraint=Sparse(size), budget=5_000)


# -- the sets


def development(seed: int) -> Iterator[Case]:
    """Cases on which numbers may be chosen."""
    t = sparse_target(200, 5, seed)
    s = np.flatnonzero(t)
    yield Case(
        name="quadratic", fun=lambda x: float(((x - t) ** 2).sum()), d=200, constraint=Sparse(5)
    )
    yield Case(
        name="least squares", fun=least_squares(300, 5, 200, seed), d=300, constraint=Sparse(5)
    )
    units = 10 ** np.random.default_rng(seed).uniform(-2, 2, 200)
    for name, unit in (("1e-7", 1e-7), ("1e8", 1e8), ("1e+-2", units), ("1e+-3", units**1.5)):
        yield Case(
            name=f"units {name}",
            fun=partial(scaled_quadratic, t, unit),
            d=200,
            constraint=Sparse(5),
        )
    yield Case(
        name="f + 1e9",
        fun=lambda x: float(((x - t) ** 2).sum()) + 1e9,
        d=200,
        constraint=Sparse(5),
        best=1e9,
        goal=1e-4,
    )
    yield Case(
        name="1 - exp(-q)",
        fun=lambda x: float(1 - math.exp(-((x - t) ** 2).sum())),
        d=200,
        constraint=Sparse(5),
    )
    yield Case(
        name="floor(4 q)",
        fun=lambda x: float(np.floor(4 * ((x - t) ** 2).sum())),
        d=200,
        constraint=Sparse(5),
        goal=0.5,
    )
    a = np.abs(sparse_target(1000, 4, seed, 0.5, 2.0))
    yield Case(
        name="|x| quadratic",
        fun=lambda x: float(((np.abs(x) - a) ** 2).sum()),
        d=1000,
        constraint=Sparse(4),
        goal=1e-8,
    )
    yield Case(
        name="products",
        fun=lambda x: float((x[s[0]] * x[s[1]] - 1) ** 2 + (x[s[2]] * x[s[3]] + 1) ** 2),
        d=200,
        constraint=Sparse(4),
    )
    yield Case(
        name="(x^2-1)^2",
        fun=lambda x: float(((x[s] ** 2 - 1) ** 2).sum()),
        d=200,
        constraint=Sparse(5),
    )
    yield Case(name="half integer", fun=half_integer(300, 5, seed), d=300, constraint=Sparse(5))
    yield Case(
        name="0-1 error",
        fun=zero_one_error(100, 5, 2000, seed),
        d=100,
        constraint=Sparse(5),
        goal=0.002,
    )
    for name in ("auc", "f1", "error"):
        yield metric(name, "breast_cancer", 5)
    for core in (rastrigin, ackley, griewank):
        for rotated in (False, True):
            yield Case(
                name=core.__name__ + (" rotated" if rotated else ""),
                fun=hidden(core, 5, 100, seed, rotated=rotated),
                d=100,
                constraint=Sparse(5),
            )
    for name, weights in (
        ("cigar", [1, 1e6, 1e6, 1e6, 1e6]),
        ("ellipsoid", 10.0 ** np.array([0, 1.5, 3, 4.5, 6])),
    ):
        w = np.asarray(weights)
        yield Case(
            name=f"{name} rotated",
            fun=hidden(partial(weighted_squares, w), 5, 100, seed, rotated=True),
            d=100,
            constraint=Sparse(5),
        )
    yield in_box("ackley5 box", ackley, 5, 100, seed=seed, span=(-5, 10))
    yield in_box("levy4 box", levy, 4, 100, seed=seed, span=(-10, 10))


def held_out(seed: int) -> Iterator[Case]:
    """Cases for judging only: other functions, dimensions and seeds."""
    seed += 7000
    rng = np.random.default_rng(seed)
    t = sparse_target(700, 6, seed, 0.4, 2.5)
    s = np.flatnonzero(t)
    for name, unit in (
        ("1", 1.0),
        ("1e-5", 1e-5),
        ("1e6", 1e6),
        ("1e+-2", 10 ** rng.uniform(-2, 2, 700)),
        ("1e+-3", 10 ** rng.uniform(-3, 3, 700)),
    ):
        yield Case(
            name=f"pseudo-Huber, units {name}",
            fun=partial(scaled_huber, t, unit),
            d=700,
            constraint=Sparse(6),
        )
    width = 10 ** rng.uniform(-6, 6, 500)
    inner = sparse_target(500, 7, seed, 0.1, 0.9)
    yield Case(
        name="log-cosh in a box, widths 1e+-6",
        fun=lambda x: float(np.log(np.cosh(4 * (x / width - inner))).sum()),
        d=500,
        constraint=SparseBox(7, -width, width),
    )
    yield Case(
        name="log, undefined below -1",
        fun=lambda x: (
            float(((np.log(x[s] + 3.0) - np.log(t[s] + 3.0)) ** 2).sum())
            if (x > -3).all()
            else math.nan
        ),
        d=700,
        constraint=Sparse(6),
    )
    b = np.abs(sparse_target(400, 6, seed, 0.5, 3.0))
    yield Case(
        name="square-root kink",
        fun=lambda x: float(np.abs(np.sqrt(np.abs(x)) - np.sqrt(b)).sum()),
        d=400,
        constraint=Sparse(6),
        goal=1e-3,
    )
    target = np.zeros(150)
    target[rng.choice(150, 4, replace=False)] = rng.integers(2, 9, 4)
    mix = rng.standard_normal((150, 150))
    mix = mix @ mix.T / 150 + np.eye(150)
    yield Case(
        name="integers, correlated",
        fun=lambda x: float((np.rint(x) - target) @ mix @ (np.rint(x) - target)),
        d=150,
        constraint=Sparse(4),
    )
    yield Case(
        name="max of two",
        fun=lambda x: float(np.abs(x[s] - t[s]).max() + 0.1 * np.abs(x).sum()),
        d=700,
        constraint=Sparse(6),
        best=float(0.1 * np.abs(t).sum()),
        goal=1e-2,
    )
    yield Case(
        name="triple product",
        fun=lambda x: float((x[s[0]] * x[s[1]] * x[s[2]] - 1) ** 2 + ((x[s[3:]] - 1) ** 2).sum()),
        d=700,
        constraint=Sparse(6),
    )
    yield Case(
        name="rounded to 2 digits",
        fun=lambda x: round(huber(x - t), 2),
        d=700,
        constraint=Sparse(6),
        goal=0.02,
    )
    yield metric("auc", "wine", 3)
    yield metric("error", "wine", 3)
    yield metric("f1", "digits", 5)
    for core, m, d, rotated in (
        (styblinski, 6, 200, False),
        (rastrigin, 4, 300, True),
        (ackley, 8, 300, False),
        (rosenbrock, 4, 60, False),
    ):
        yield Case(
            name=core.__name__ + (" rotated" if rotated else "") + f" k={m} d={d}",
            fun=hidden(core, m, d, seed, rotated=rotated),
            d=d,
            constraint=Sparse(m),
            goal=1e-3 if core is styblinski else 1e-6,
        )
    w = 10.0 ** np.linspace(0, 5, 6)
    yield Case(
        name="discus rotated k=6",
        fun=hidden(lambda z: float(w[::-1] @ z**2), 6, 150, seed, rotated=True),
        d=150,
        constraint=Sparse(6),
    )
    yield in_box("schwefel4 box", schwefel, 4, 100, seed=seed, span=(-500, 500))
    yield in_box(
        "michalewicz5 box",
        lambda z: michalewicz(z) + 4.687658,
        5,
        100,
        seed=seed,
        span=(0, math.pi),
    )
    yield in_box("hartmann6 box", lambda z: hartmann(z) + 3.32237, 6, 1000, seed=seed, span=(0, 1))


def run(case: Case, method: str, seed: int) -> dict[str, Any]:
    """Run a method on a case; every evaluation is counted, and checked against the bounds."""
    queries, best, outside = 0, math.inf, 0
    reached: int | None = None
    bounded = isinstance(case.constraint, SparseBox)

    def fun(x: Vector) -> float:
        nonlocal queries, best, reached, outside
        queries += 1
        if bounded:
            outside += bool(np.any(x < case.constraint.low) or np.any(x > case.constraint.high))
        value = case.fun(x)
        if value < best and np.count_nonzero(x) <= case.constraint.k:
            best = value
            if reached is None and best - case.best <= case.goal:
                reached = queries
        return value

    begun = time.process_time()
    result = szoht.minimize(
        fun,
        np.zeros(case.d),
        constraint=case.constraint,
        method=method,
        max_queries=case.budget,
        rng=seed,
        on_error="skip",
    )
    seconds = time.process_time() - begun
    return {
        "gap": best - case.best,
        "reached": reached,
        "queries": queries,
        "outside": outside,
        "status": result.status.name,
        "seconds": seconds,
    }


def main() -> None:
    """Run a set and print its table."""
    parser = argparse.ArgumentParser(description="Cases for the default solver.")
    parser.add_argument("set", choices=("dev", "held-out"))
    parser.add_argument("--methods", nargs="+", default=["auto"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="part of a name")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = development if given.set == "dev" else held_out
    names = [case.name for case in cases(0)]
    for i, name in enumerate(names):
        if given.only and given.only not in name:
            continue
        for method in given.methods:
            runs = [run(list(cases(seed))[i], method, seed) for seed in range(given.seeds)]
            reached = [one["reached"] for one in runs if one["reached"] is not None]
            print(
                f"{name:34s} {method:6s} gap {np.median([one['gap'] for one in runs]):9.2e} "
                f"reached {len(reached)}/{len(runs)} "
                f"at {int(np.median(reached)) if reached else 0:6d} "
                f"end {int(np.median([one['queries'] for one in runs])):6d} "
                f"outside {sum(one['outside'] for one in runs)} "
                f"{sum(one['seconds'] for one in runs):5.1f} s "
                f"{','.join(sorted({one['status'] for one in runs}))}",
                flush=True,
            )


if __name__ == "__main__":
    main()
