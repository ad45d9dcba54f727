"""Units, factors and constants: how many more queries a rescaled problem costs the default solver.

Run a part of it: ``python benchmarks/scales.py --seeds 5 --only mixed``. Each row shows the median
of the queries until 1e-6 of f(x0) - f* is left (plus 100 roundings of |f|), how often that was
reached within the budget, and the ratio to the same problem in plain units.
"""

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import szoht
from szoht import SparseBox
from szoht.types import Vector

Function = Callable[[Vector], float]
BUDGET = 8_000
SHARE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way of writing the same problem: x = unit * z, f = factor * g + constant."""

    name: str
    decades: tuple[float, float] = (0.0, 0.0)
    mixed: bool = False
    box: bool = False
    factor: float = 1.0
    constant: float = 0.0

    def units(self, d: int, rng: np.random.Generator) -> Vector:
        """Return the size of one unit of each variable."""
        exponents = rng.uniform(*self.decades, d) if self.mixed else np.full(d, self.decades[0])
        return 10.0**exponents


VARIANTS = (
    Variant(name="plain"),
    Variant(name="plain box", box=True),
    Variant(name="box mixed 1e+-9", decades=(-9, 9), mixed=True, box=True),
    Variant(name="size 1e-7", decades=(-7, -7)),
    Variant(name="size 1e-3", decades=(-3, -3)),
    Variant(name="size 1e4", decades=(4, 4)),
    Variant(name="size 1e8", decades=(8, 8)),
    Variant(name="mixed 1e+-2", decades=(-2, 2), mixed=True),
    Variant(name="mixed 1e+-3", decades=(-3, 3), mixed=True),
    Variant(name="f times 1e12", factor=1e12),
    Variant(name="f times 1e-12", factor=1e-12),
    Variant(name="f plus 1e6", constant=1e6),
    Variant(name="f plus 1e9", constant=1e9),
)


def problem(name: str, seed: int) -> tuple[Function, int, int, float]:
    """Return f in plain units, d, k, and a lower bound of the best value, known to be reached."""
    rng = np.random.default_rng(seed)
    d, k = {"quadratic": (300, 5), "log-cosh": (200, 4)}.get(name, (150, 4))
    target = np.zeros(d)
    target[rng.choice(d, k, replace=False)] = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    weights = np.exp(rng.uniform(-1, 1, d))
    matrix = rng.standard_normal((100, d))
    functions: dict[str, Function] = {
        "quadratic": lambda z: float(weights @ (z - target) ** 2),
        "log-cosh": lambda z: float((weights * np.log(np.cosh(2 * (z - target)))).sum()),
        "regression": lambda z: float(((matrix @ (z - target)) ** 2).mean()),
        "1-exp": lambda z: 1 - math.exp(-0.3 * float(weights @ (z - target) ** 2)),
    }
    return functions[name], d, k, 0.0


def queries(name: str, variant: Variant, seed: int) -> float:
    """Return the queries until the share of the gap is left, infinite if it never was."""
    g, d, k, best = problem(name, seed)
    unit = variant.units(d, np.random.default_rng(seed + 1000))

    def fun(x: Vector) -> float:
        return variant.factor * g(x / unit) + variant.constant

    start = fun(np.zeros(d))
    lowest = variant.factor * best + variant.constant
    rounding = 100 * float(np.finfo(float).eps) * max(abs(start), abs(lowest))
    goal = lowest + SHARE * (start - lowest) + rounding
    space: dict[str, Any] = {"k": k}
    if variant.box:
        space = {"constraint": SparseBox(k, -2 * unit, 2 * unit)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = szoht.minimize(
            fun, np.zeros(d), max_queries=BUDGET, target=goal, rng=seed, **space
        )
    return result.nfev if result.status is szoht.Status.TARGET else math.inf


def rows(seeds: int, only: str | None) -> Iterator[str]:
    """Yield one line per problem and variant."""
    for name in ("quadratic", "log-cosh", "regression", "1-exp"):
        plain: dict[bool, float] = {}
        for variant in VARIANTS:
            if only and only not in f"{name} {variant.name}" and "plain" not in variant.name:
                continue
            spent = [queries(name, variant, seed) for seed in range(seeds)]
            median = float(np.median(spent))
            plain[variant.box] = plain.get(variant.box, median)
            solved = sum(map(math.isfinite, spent))
            ratio = median / plain[variant.box]
            yield f"{name:12} {variant.name:16} {median:7.0f} {solved}/{seeds} {ratio:6.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="part of the name of a problem and variant")
    parser.add_argument("--smoke", action="store_true", help="one seed, plain variants")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.seeds, arguments.only = 1, "plain"
    for row in rows(arguments.seeds, arguments.only):
        print(row, flush=True)


if __name__ == "__main__":
    main()
