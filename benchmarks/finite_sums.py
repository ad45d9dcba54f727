"""Finite sums: `auto` told of the components (``n_samples=``) against the full function.

Both may spend the same number of component evaluations. A row says what share of everything that
there is to gain was left, on the whole sum, median over seeds; the reference is the minimum on the
true support. ``--held-out`` takes seeds that no choice was made on.
"""

import sys
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from core import sized
from scipy.optimize import minimize as scipy_minimize

from szoht import minimize
from szoht.types import Indices, Vector

SEEDS = range(100, 105) if "--held-out" in sys.argv else range(sized(3, 1))
LOSSES = (
    "least squares",
    "logistic",
    "robust",
    "Huber",
    "Poisson",
    "hinge",
    "quantile",
    "0-1 error",
)
SIZES = sized(((200, 100), (2_000, 500), (20_000, 200)), ((50, 20),))
PASSES = sized((20, 100, 400), (20,))
K = 5


class Sum(NamedTuple):
    """The mean of n losses of a_i @ x, and what is least on the true support."""

    fun: Callable[[Vector, Indices], float]
    least: float


def mean_loss(  # noqa: PLR0911  (one line for each loss)
    loss: str, products: Vector, target: Vector
) -> float:
    """Return the mean over the components."""
    if loss == "logistic":
        return float(np.logaddexp(0, -target * products).mean())
    if loss == "hinge":
        return float(np.maximum(1 - target * products, 0).mean())
    if loss == "0-1 error":
        return float((target * products <= 0).mean())
    if loss == "Poisson":
        return float((np.exp(np.minimum(products, 30)) - target * products).mean())
    residual = products - target
    if loss == "robust":
        return float((np.sqrt(1 + residual**2) - 1).mean())
    if loss == "Huber":
        size = np.abs(residual)
        return float(np.where(size < 1, 0.5 * size**2, size - 0.5).mean())
    if loss == "quantile":
        return float(np.maximum(-0.7 * residual, 0.3 * residual).mean())
    return 0.5 * float((residual**2).mean())


def problem(  # noqa: C901  (small functions that share data)
    loss: str, n: int, d: int, seed: int
) -> Sum:
    """Return a sparse regression problem with correlated features."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    truth = np.zeros(d)
    truth[rng.choice(d, K, replace=False)] = rng.choice([-1, 1], K) * rng.uniform(0.5, 1.5, K)
    margin = a @ truth
    if loss == "Poisson":
        margin = 0.5 * margin
        truth = 0.5 * truth
        b = rng.poisson(np.exp(np.minimum(margin, 5))).astype(float)
    elif loss in {"logistic", "hinge", "0-1 error"}:
        b = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
    elif loss in {"robust", "Huber", "quantile"}:
        b = margin + 0.5 * rng.standard_t(1.5 if loss == "robust" else 3, n)
    else:
        b = margin + 0.5 * rng.standard_normal(n)

    def losses(products: Vector, target: Vector) -> float:
        return mean_loss(loss, products, target)

    kept: dict[str, tuple[Indices, Vector]] = {}

    def fun(x: Vector, sample: Indices) -> float:
        if sample.size == n:
            return losses(a @ x, b)
        if "part" not in kept or kept["part"][0] is not sample:
            kept["part"] = sample, a[sample]
        return losses(kept["part"][1] @ x, b[sample])

    support, rough = np.flatnonzero(truth), loss in {"hinge", "quantile", "0-1 error"}
    inside = a[:, support]

    def on_support(y: Vector) -> float:
        return losses(inside @ y, b)

    found = scipy_minimize(on_support, truth[support], method="Nelder-Mead" if rough else None)
    return Sum(fun, float(found.fun))


def left(sum_: Sum, n: int, d: int, passes: int, seed: int, *, told: bool) -> tuple[float, float]:
    """Return the share of the gain that was left, and what ``fun`` was off by."""
    everything, start = np.arange(n), np.zeros(d)
    if told:
        result = minimize(sum_.fun, start, k=K, n_samples=n, max_queries=passes * n, rng=seed)
    else:
        result = minimize(
            lambda x: sum_.fun(x, everything), start, k=K, max_queries=passes, rng=seed
        )
    value, first = sum_.fun(result.x, everything), sum_.fun(start, everything)
    return (value - sum_.least) / (first - sum_.least), abs(result.fun - value)


def main() -> None:
    """Print one row per loss, size and budget."""
    print("loss, n, d, passes: share left with n_samples= (worst) / full function (worst)")
    for loss, (n, d) in product(LOSSES, SIZES):
        sums = [problem(loss, n, d, seed) for seed in SEEDS]
        for passes in PASSES:
            ours, full = (
                [
                    left(sum_, n, d, passes, seed, told=told)
                    for seed, sum_ in zip(SEEDS, sums, strict=True)
                ]
                for told in (True, False)
            )
            shares = [[share for share, _ in runs] for runs in (ours, full)]
            figures = [f"{np.median(some):.4f} ({max(some):.4f})" for some in shares]
            off = max(off for _, off in ours)
            print(
                f"{loss:14} {n:6} {d:4} {passes:4}: {figures[0]} / {figures[1]}; fun off {off:.1e}"
            )


if __name__ == "__main__":
    main()
