"""What adding ``weight / 2 |x|^2`` to f does to a run of SZOHT, a table for docs/regularizing.md.

f is a quadratic with a k-sparse minimizer x* and curvatures from 1 / kappa to 1, rotated within
pairs of coordinates. Every run takes the directions and the step that `szoht.theory.recommend`
gives for the constants of the regularized f, which it minimizes from 0. Counted are the queries
until the iterate is, and stays at checkpoints, near the minimizer of the regularized f, and near
that of f itself.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from core import sized

from szoht import minimize, szoht
from szoht.theory import Regularity, TheoryWarning, recommend, regularized, shift_bound
from szoht.types import Vector

D, K, KAPPA = sized((500, 5, 50.0), (20, 2, 10.0))
BUDGET = sized(30_000, 2_000)
SEEDS = range(sized(7, 2))
WEIGHTS = sized((0.0, 0.003, 0.01, 0.03, 0.1, 0.3), (0.0, 0.1))
NEAR = 0.02
"""Relative distance at which the iterate counts as arrived at the regularized minimizer."""
CLOSE = (0.1, 0.3)
"""The same for the minimizer of f, which regularization moves."""


@dataclass(frozen=True)
class Quadratic:
    """(x - target)' H (x - target) / 2 with H block-diagonal, two by two."""

    hessian: Vector  # of shape (d / 2, 2, 2)
    target: Vector

    @classmethod
    def draw(cls, seed: int) -> "Quadratic":
        """Return one with random pairs, rotations and support."""
        rng = np.random.default_rng([seed, D])
        curvatures = rng.permutation(np.geomspace(1 / KAPPA, 1, D)).reshape(-1, 2)
        angle = rng.uniform(0, np.pi, D // 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turn = turn.transpose(2, 0, 1)
        target = np.zeros(D)
        support = rng.choice(D, K, replace=False)
        target[support] = rng.choice([-1, 1], K) * rng.uniform(0.5, 2, K)
        blocks = np.einsum("bij,bj,bkj->bik", turn, curvatures, turn)
        return cls(blocks, target)

    def product(self, x: Vector) -> Vector:
        """Return H x."""
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        return np.asarray(np.einsum("bij,...bj->...bi", self.hessian, pairs).reshape(x.shape))

    def values(self, points: Vector, weight: float) -> Vector:
        """Return the regularized value of each point."""
        shift = points - self.target
        quadratic = (shift * self.product(shift)).sum(axis=1)
        return np.asarray(0.5 * quadratic + 0.5 * weight * (points**2).sum(axis=1))

    def minimizer(self, weight: float) -> Vector:
        """Return the regularized minimizer among all K-sparse points, block by block.

        A block with one or two non-zeros lowers the value by an amount of its own, so the best
        K-sparse point takes the blocks with the largest gains: a knapsack with sizes 1 and 2.
        """
        linear = self.product(self.target).reshape(-1, 2)
        best: list[tuple[float, Vector]] = [(0.0, np.zeros(D))] * (K + 1)
        for b in np.flatnonzero(linear.any(axis=1)):
            block = self.hessian[b] + weight * np.eye(2)
            options = []
            for kept in ([0], [1], [0, 1]):
                part = np.linalg.solve(block[np.ix_(kept, kept)], linear[b, kept])
                options.append((0.5 * float(linear[b, kept] @ part), kept, part))
            for room in range(K, 0, -1):
                for gain, kept, part in options:
                    if len(kept) <= room and best[room - len(kept)][0] + gain > best[room][0]:
                        point = best[room - len(kept)][1].copy()
                        point[2 * b + np.array(kept)] = part
                        best[room] = (best[room - len(kept)][0] + gain, point)
        return best[K][1]


def run(seed: int, weight: float) -> tuple[float, ...]:
    """Return the minimizer's shift, the last distance to it, and the queries to it and to x*."""
    problem, objective = Quadratic.draw(seed), regularized(constants(), weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TheoryWarning)
        found = recommend(
            d=D, k_star=K, kappa=objective.kappa, smoothness=objective.smoothness, budget=BUDGET
        )
    own, target = problem.minimizer(weight), problem.target
    scale = float(np.linalg.norm(target))
    path: list[tuple[int, float, float]] = []

    def follow(progress: object) -> None:
        x, spent = progress.x, progress.counts.queries  # type: ignore[attr-defined]
        path.append((spent, float(np.linalg.norm(x - own)), float(np.linalg.norm(x - target))))

    minimize(
        lambda points: problem.values(points, weight),
        np.zeros(D),
        vectorized=True,
        method=szoht(**found.parameters, iterate="last"),
        max_queries=BUDGET,
        callback=follow,
        rng=seed,
    )
    spent, to_own, to_target = (np.array(column) for column in zip(*path, strict=True))
    arrivals = [arrival(spent, to_own, NEAR * scale)]
    arrivals += [arrival(spent, to_target, share * scale) for share in CLOSE]
    shift = float(np.linalg.norm(own - target))
    return (shift / scale, float(to_own[-1]) / scale, *arrivals)


def constants() -> Regularity:
    """Return those of f."""
    return Regularity.from_kappa(KAPPA)


def arrival(spent: Vector, distances: Vector, radius: float) -> float:
    """Return the queries after which the distance stays within a radius, inf if it does not."""
    outside = np.flatnonzero(distances > radius)
    last = -1 if outside.size == 0 else int(outside[-1])
    return float(spent[last + 1]) if last + 1 < len(spent) else np.inf


def summary(values: Vector) -> str:
    """Return the median and the quartiles; "never" where the run does not arrive."""
    quartiles = np.quantile(values, [0.5, 0.25, 0.75], method="nearest")
    middle, low, high = ("never" if np.isinf(v) else f"{v:,.0f}" for v in quartiles)
    return middle if np.isinf(quartiles[0]) else f"{middle} [{low}, {high}]"


def main() -> None:
    """Print the table."""
    print(f"d = {D}, k = {K}, kappa = {KAPPA:g}, {BUDGET} queries, {len(SEEDS)} seeds\n")
    close = " | ".join(f"to {share:.0%} of x*" for share in CLOSE)
    print(f"| weight | kappa | x* moved by | bound | last distance | queries to it | {close} |")
    print("|---" * (6 + len(CLOSE)) + "|")
    for weight in WEIGHTS:
        rows = np.array([run(seed, weight) for seed in SEEDS])
        objective = regularized(constants(), weight=weight)
        bound = shift_bound(constants(), weight=weight, norm=1.0)
        shift = f"{np.median(rows[:, 0]):.0%} | {bound:.0%} | {np.median(rows[:, 1]):.2g}"
        columns = " | ".join(summary(column) for column in rows[:, 2:].T)
        print(f"| {weight:g} | {objective.kappa:.3g} | {shift} | {columns} |", flush=True)


if __name__ == "__main__":
    main()
