"""What `auto` makes of structured sets: queries to a target, and portfolios.

Queries are counted at the first point of the set that reaches the target, a thousandth of the start
value unless said otherwise; a run that never does counts as infinitely many. ``--held-out`` adds
problems that no choice was made on.
"""

import math
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeAlias

import numpy as np
from core import Row, report, sized
from scipy.optimize import minimize as scipy_minimize

from szoht import GroupSparse, LowRank, SparseSimplex, minimize
from szoht.errors import StartWarning
from szoht.operators import Operator, Sparse
from szoht.operators.sparse_sum import onto_sum
from szoht.problems.orlib import load_market
from szoht.problems.structured import StructureName, structured
from szoht.types import Indices, Vector

Fun: TypeAlias = Callable[[Vector], float]
Loss: TypeAlias = Literal["squares", "log_cosh"]

SEEDS = sized(11, 1)
N_GROUPS, GROUP_SIZE, D, BUDGET = sized((100, 10, 1000, 8000), (8, 3, 40, 100))
ASSETS, DAYS, PORTFOLIO_BUDGET = sized((460, 1000, 20_000), (20, 40, 60))
MARKETS = sized(("port1", "port2", "port3", "port4", "port5"), ("port1",))
K = sized(10, 3)
SHAPE = sized((30, 30), (6, 5))
HELD_OUT = "--held-out" in sys.argv


def rows() -> list[Row]:
    warnings.simplefilter("ignore", StartWarning)
    table = [
        *groups(),
        *declared(range(SEEDS)),
        *low_rank(range(SEEDS)),
        *simplex(),
        *markets(),
        *simulated(range(sized(3, 1))),
        *simulated(range(sized(3, 1)), limited=True),
    ]
    if HELD_OUT:
        more = range(100, 105)
        table += [*held_out(), *simulated(more), *simulated(more, limited=True)]
    return table


# groups


def group_problem(
    kind: str, seed: int, sizes: Indices, s: int, n: int
) -> tuple[Fun, Indices, Vector]:
    """Return a function of ``s`` groups, the group of each coordinate, and the minimizer."""
    rng = np.random.default_rng(seed)
    members = np.repeat(np.arange(sizes.size), sizes)
    d = members.size
    best = np.zeros(d)
    inside = np.isin(members, rng.choice(sizes.size, s, replace=False))
    best[inside] = rng.choice([-1, 1], inside.sum()) * rng.uniform(0.5, 1.5, inside.sum())
    if kind == "quadratic":
        return (lambda x: 0.5 * float(((x - best) ** 2).sum())), members, best
    if kind == "log-cosh":
        scale = np.exp(rng.uniform(-1, 1, d))
        return (
            (lambda x: float(scale @ (np.logaddexp(x - best, best - x) - math.log(2)))),
            members,
            best,
        )
    design = rng.standard_normal((n, d))
    observed = design @ best + 0.01 * rng.standard_normal(n)
    return (lambda x: 0.5 * float(((design @ x - observed) ** 2).mean())), members, best


def queries(fun: Fun, x0: Vector, constraint: Operator, seed: int, share: float = 1e-3) -> float:
    target = share * fun(x0)
    result = minimize(fun, x0, constraint=constraint, target=target, max_queries=BUDGET, rng=seed)
    return float(result.nfev) if result.fun <= target else math.inf


def solve_groups(
    kind: str, seeds: range, sizes: Indices, s: int, n: int, *, declared: bool = True
) -> Vector:
    found = []
    for seed in seeds:
        fun, members, best = group_problem(kind, seed, sizes, s, n)
        k = int(np.count_nonzero(best))
        constraint = GroupSparse(k=s, groups=members) if declared else Sparse(k)
        found.append(queries(fun, np.zeros(best.size), constraint, seed))
    return np.array(found)


def summary(found: Vector) -> str:
    solved = int(np.isfinite(found).sum())
    return f"{solved} of {found.size} solved, at most {found.max():g}"


def groups() -> list[Row]:
    table, ratios = [], []
    even = np.full(N_GROUPS, GROUP_SIZE)
    for kind, limit in (("quadratic", 80), ("regression", 1500)):
        seeds = range(SEEDS)
        ours = solve_groups(kind, seeds, even, 3, 200)
        ignored = solve_groups(kind, seeds, even, 3, 200, declared=False)
        what = f"3 of {N_GROUPS} groups of {GROUP_SIZE}, {kind}"
        # 11 of 11: one that is not solved makes the worst infinite
        figure = float(np.median(ours)) if np.isfinite(ours).all() else math.inf
        table.append(Row(what, figure, "queries", limit, summary(ours)))
        ratios.append(_ratio(ours, ignored))
    pairs = np.full(N_GROUPS * GROUP_SIZE // 2, 2)
    seeds = range(SEEDS)
    ours = solve_groups("quadratic", seeds, pairs, 4, 200)
    ignored = solve_groups("quadratic", seeds, pairs, 4, 200, declared=False)
    ratios.append(_ratio(ours, ignored))
    detail = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    table.append(Row("declared over ignored, the worst", max(ratios), "x", 1.05, detail))
    return table


def _ratio(ours: Vector, others: Vector) -> float:
    ours, others = np.minimum(ours, BUDGET), np.minimum(others, BUDGET)
    return float(np.median(ours) / np.median(others))


# trees, regions, other bases, matrices


def declared(seeds: range) -> list[Row]:
    """Compare with the same problems where only the number of non-zeros is declared."""
    table = []
    cases: tuple[tuple[StructureName, float, float], ...] = (
        ("tree", 0.5, 0.76),
        ("region", 0.5, 0.76),
        ("regions", 1.05, 1.05),
        ("overlapping_groups", 1.05, 1.05),
        ("few_per_group", 1.05, 1.05),
        ("semicontinuous", 1.05, 1.05),
        ("weights", 1.05, 1.05),
        ("two_step", 1.05, 1.05),
    )
    for name, squares, log_cosh in cases:
        limits: dict[Loss, float] = {"squares": squares, "log_cosh": log_cosh}
        for loss, limit in limits.items():
            ours, ignored = solve_structured(name, loss, seeds)
            detail = (
                f"{np.median(ours):g} queries, {summary(ours)}; ignored {np.median(ignored):g}, "
                f"{summary(ignored)}"
            )
            table.append(Row(f"{name}, {loss}", _ratio(ours, ignored), "x ignored", limit, detail))
    return table


def solve_structured(name: StructureName, loss: Loss, seeds: range) -> tuple[Vector, Vector]:
    """Return the queries of each seed with the structure declared, and with it ignored."""
    ours, ignored = [], []
    for seed in seeds:
        problem = structured(name, loss=loss, rng=seed)
        assert problem.constraint is not None
        assert problem.best_x is not None
        k = int(np.count_nonzero(problem.best_x))
        sparse = SparseSimplex(k) if name == "weights" else Sparse(k)
        value = problem.objective.value
        ours.append(queries(value, problem.x0, problem.constraint, seed))
        ignored.append(queries(value, problem.x0, sparse, seed))
    return np.array(ours), np.array(ignored)


def matrix_problem(kind: str, seed: int, shape: tuple[int, int], r: int) -> Fun:
    rng = np.random.default_rng(seed)
    p, q = shape
    best = (rng.standard_normal((p, r)) @ rng.standard_normal((r, q)) / math.sqrt(r)).ravel()
    if kind == "quadratic":
        return lambda x: 0.5 * float(((x - best) ** 2).sum())
    if kind == "log-cosh":
        return lambda x: float((np.logaddexp(x - best, best - x) - math.log(2)).sum())
    weights = (
        (rng.random(p * q) < 0.5) if kind == "half seen" else np.exp(rng.uniform(-1, 1, p * q))
    )
    return lambda x: 0.5 * float(weights @ (x - best) ** 2)


def low_rank(seeds: range) -> list[Row]:
    table, (p, q) = [], SHAPE
    for kind, limit in (("quadratic", 150), ("log-cosh", 450), ("half seen", 1200)):
        found = solve_matrices(kind, seeds, SHAPE, 2)
        figure = float(np.median(found)) if np.isfinite(found).all() else math.inf
        table.append(Row(f"{p} x {q} of rank 2, {kind}", figure, "queries", limit, summary(found)))
    return table


def solve_matrices(
    kind: str, seeds: range, shape: tuple[int, int], r: int, share: float = 1e-3
) -> Vector:
    zero, constraint = np.zeros(shape[0] * shape[1]), LowRank(r, shape)
    funs = (matrix_problem(kind, seed, shape, r) for seed in seeds)
    found = [
        queries(fun, zero, constraint, seed, share) for fun, seed in zip(funs, seeds, strict=True)
    ]
    return np.array(found)


# simplex


def simplex_problem(seed: int, d: int, k: int, spread: float, start: str) -> tuple[Fun, Vector]:
    rng = np.random.default_rng(seed)
    best = np.zeros(d)
    best[rng.choice(d, k, replace=False)] = rng.dirichlet(np.full(k, 5.0))
    scale = np.exp(rng.uniform(-spread, spread, d))
    x0 = np.zeros(d)
    x0[: {"k equal weights": k, "a vertex": 1, "equal weights": d}[start]] = 1.0
    return (lambda x: 0.5 * float(scale @ (x - best) ** 2)), x0 / x0.sum()


def solve_simplex(
    seeds: range, d: int, k: int, start: str, *, spread: float = 0.0, share: float = 1e-3
) -> tuple[Vector, float]:
    """Return the queries of each seed, and how far off the simplex any of them was."""
    found, off = [], 0.0
    for seed in seeds:
        fun, x0 = simplex_problem(seed, d, k, spread, start)

        def watched(x: Vector, fun: Fun = fun) -> float:
            nonlocal off
            off = max(off, abs(float(x.sum()) - 1.0), -float(x.min()))
            return fun(x)

        found.append(queries(watched, x0, SparseSimplex(k), seed, share))
    return np.array(found), off


def simplex() -> list[Row]:
    table, worst = [], 0.0
    for start in ("k equal weights", "a vertex", "equal weights"):
        found, off = solve_simplex(range(SEEDS), D, K, start)
        worst = max(worst, off)
        what = f"simplex, {K} of {D}, from {start}"
        table.append(Row(what, float(np.median(found)), "queries", 120, summary(found)))
    off_row = Row("farthest off the simplex", worst / 1e-12, "x 1e-12", 1, f"{worst:.0e}")
    return [*table, off_row]


# portfolios


def markets() -> list[Row]:
    """Long-only mean-variance portfolios, against exchanges with exact values and slopes."""
    worst, details = 0.0, []
    for name in MARKETS:
        assets = load_market(name)
        mean, covariance = np.asarray(assets.mean), np.asarray(assets.covariance)
        for weight in (1.0, 0.9, 0.5):
            hessian, linear = 2 * weight * covariance, (weight - 1) * mean

            def fun(x: Vector, hessian: Vector = hessian, linear: Vector = linear) -> float:
                return float(0.5 * x @ hessian @ x + linear @ x)

            best = exchanged(hessian, linear, K)
            ours = portfolio(fun, mean.size, 0)
            gap = 100 * (ours - best) / abs(best)
            worst = max(worst, gap)
            details.append(f"{name} {weight:g}: {gap:.2f}")
    return [Row("port1-5, long-only, the worst gap", worst, "percent", 5, ", ".join(details))]


def portfolio(fun: Fun, d: int, seed: int, constraint: SparseSimplex | None = None) -> float:
    x0 = np.zeros(d)
    x0[:K] = 1 / K
    constraint = SparseSimplex(K) if constraint is None else constraint
    x0 = constraint.prox(x0, 1.0)
    result = minimize(fun, x0, constraint=constraint, max_queries=PORTFOLIO_BUDGET, rng=seed)
    assert constraint.contains(result.x)
    return float(result.fun)


def slsqp(
    fun: Fun,
    start: Vector,
    *,
    slopes: Callable[[Vector], Vector] | None = None,
    precision: float = 1e-10,
    keep: list[Vector] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Vector:
    """Minimize over weights that sum to one; iterates are added to ``keep``."""
    done = scipy_minimize(  # type: ignore[call-overload]
        fun,
        start,
        jac=slopes,
        bounds=[limits] * start.size,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}],
        method="SLSQP",
        options={"ftol": precision, "maxiter": 50 if slopes is None else 200},
        callback=None if keep is None else lambda w: keep.append(w.copy()),
    )
    return onto_sum(done.x, 1.0, *limits)


def exchanged(hessian: Vector, linear: Vector, k: int) -> float:
    """Exchange assets one for one, solving for the weights exactly, until nothing gains."""

    def solved(support: Indices) -> tuple[float, Vector]:
        own, slope = hessian[np.ix_(support, support)], linear[support]
        scale = max(float(np.abs(own).max()), float(np.abs(slope).max()))
        weights = slsqp(
            lambda w: float(0.5 * w @ own @ w + slope @ w) / scale,
            np.full(support.size, 1 / support.size),
            slopes=lambda w: np.asarray(own @ w + slope) / scale,
            precision=1e-14,
        )
        return float(0.5 * weights @ own @ weights + slope @ weights), weights

    _, dense = solved(np.arange(linear.size))
    support = np.argsort(-dense)[:k]
    value, weights = solved(support)
    gained = True
    while gained:
        gained = False
        costs = hessian[:, support] @ weights + linear
        enter = [i for i in np.argsort(costs)[: 3 * k] if i not in support]
        for i in enter:
            for j in np.argsort(weights)[:3]:
                other = support.copy()
                other[j] = i
                found, changed = solved(other)
                if found < value - 1e-9 * abs(value):
                    support, value, weights, gained = other, found, changed, True
                    break
            if gained:
                break
    return value


def returns(seed: int) -> Vector:
    """Simulate daily returns from a market factor and four others."""
    rng = np.random.default_rng(seed)
    loadings = np.column_stack([rng.normal(1, 0.35, ASSETS), 0.6 * rng.normal(size=(ASSETS, 4))])
    scale = np.array([9e-3, 4e-3, 4e-3, 4e-3, 4e-3])
    factors = rng.standard_t(4, (DAYS, 5)) * scale / math.sqrt(2)
    own = rng.standard_t(5, (DAYS, ASSETS)) * rng.uniform(0.005, 0.02, ASSETS)
    return np.asarray(factors @ loadings.T + own + 3e-4 + 4e-4 * rng.normal(size=ASSETS))


def risk(kind: str, observed: Vector) -> Fun:
    covariance, tail = np.cov(observed.T), max(1, len(observed) // 20)

    def cvar(x: Vector) -> float:
        return float(-100 * np.partition(observed @ x, tail)[:tail].mean())

    def drawdown(x: Vector) -> float:
        wealth = np.cumprod(1 + observed @ x)
        peak = np.maximum.accumulate(np.maximum(wealth, 1.0))
        return float(100 * np.max(1 - wealth / peak))

    if kind == "variance":
        return lambda x: float(1e4 * (x @ covariance @ x))
    return cvar if kind == "CVaR" else drawdown


class SpentError(Exception):
    """The queries of the peer, or of its first stage, are spent."""


class Slsqp:
    """SLSQP on all weights for a part of the budget, then on k of them with random exchanges."""

    def __init__(self, fun: Fun, seed: int, constraint: SparseSimplex) -> None:
        self.fun, self.rng, self.constraint = fun, np.random.default_rng(seed), constraint
        self.limits = constraint.at_least, min(constraint.at_most, 1.0)
        self.left, self.best = int(0.4 * PORTFOLIO_BUDGET), math.inf

    def run(self) -> float:
        """Return the best value at a portfolio of few assets."""
        dense = [np.full(ASSETS, 1 / ASSETS)]
        with suppress(SpentError):
            slsqp(self._ask, dense[0], keep=dense, limits=(0.0, self.limits[1]))
        self.left += PORTFOLIO_BUDGET - int(0.4 * PORTFOLIO_BUDGET)
        with suppress(SpentError):
            self._exchange(np.maximum(dense[-1], 0.0))
        return self.best

    def _ask(self, x: Vector) -> float:
        if self.left <= 0:
            raise SpentError
        self.left -= 1
        return self.fun(x)

    def _on(self, support: Indices, start: Vector) -> tuple[Vector, float]:
        def embedded(weights: Vector) -> Vector:
            x = np.zeros(ASSETS)
            x[support] = weights
            return x

        start = onto_sum(start, 1.0, *self.limits)
        weights = slsqp(lambda w: self._ask(embedded(w)), start, limits=self.limits)
        value = self._ask(embedded(weights))
        self.best = min(self.best, value)
        return weights, value

    def _exchange(self, dense: Vector) -> None:
        order = np.argsort(-dense)
        support = self._allowed(order)
        weights, value = self._on(support, dense[support] / dense[support].sum())
        while True:
            place = int(self.rng.exponential(40)) if self.rng.random() < 0.7 else ASSETS
            new = order[place] if place < ASSETS else self.rng.integers(ASSETS)
            if new in support:
                continue
            other = support.copy()
            out = np.argmin(weights) if self.rng.random() < 0.7 else self.rng.integers(K)
            other[out] = new
            if self._allowed(other).size < K:
                continue
            changed, found = self._on(other, weights)
            if found < value:
                support, weights, value = other, changed, found

    def _allowed(self, order: Indices) -> Indices:
        """Return the first k of these that groups allow."""
        groups, per_group = self.constraint.groups, self.constraint.per_group
        if groups is None or per_group is None:
            return order[:K].copy()
        kept: list[int] = []
        counts = np.zeros(max(groups) + 1, dtype=int)
        for i in order:
            if counts[groups[i]] < per_group and len(kept) < K:
                kept.append(int(i))
                counts[groups[i]] += 1
        return np.array(kept)


def simulated(seeds: range, *, limited: bool = False) -> list[Row]:
    """Compare with SLSQP and exchanges on simulated returns, by the median ratio."""
    table, constraint = [], SparseSimplex(K)
    if limited:
        sectors = tuple((np.arange(ASSETS) % 11).tolist())
        least, most = sized((0.02, 0.25), (0.1, 0.6))
        constraint = SparseSimplex(K, at_least=least, at_most=most, groups=sectors, per_group=2)
    for kind in ("variance", "CVaR", "drawdown"):
        ratios = []
        for seed in seeds:
            fun = risk(kind, returns(seed))
            ours = portfolio(fun, ASSETS, seed, constraint)
            ratios.append(ours / Slsqp(fun, seed, constraint).run())
        limits = ", limited" if limited else ""
        what = f"{ASSETS} assets, {kind}{limits}, seeds {seeds.start}-{seeds.stop - 1}"
        detail = "ours over SLSQP + swaps: " + ", ".join(f"{ratio:.3f}" for ratio in ratios)
        table.append(Row(what, float(np.max(ratios)), "x, worst", 1.0 + 1e-6, detail))
    return table


# held out


def held_out() -> list[Row]:
    table, seeds = [], range(100, 100 + SEEDS)
    uneven = np.random.default_rng(7).integers(1, 31, 64)
    cases = (
        ("log-cosh, 2 of 100 groups of 10", "log-cosh", np.full(100, 10), 2),
        ("log-cosh, 5 of 100 groups of 10", "log-cosh", np.full(100, 10), 5),
        ("quadratic, 5 of 64 groups of 1 to 30", "quadratic", uneven, 5),
        ("regression, 3 of 64 groups of 1 to 30", "regression", uneven, 3),
        ("quadratic, 8 of 1,000 pairs", "quadratic", np.full(1000, 2), 8),
    )
    for what, kind, sizes, s in cases:
        ours = solve_groups(kind, seeds, sizes, s, 200)
        ignored = solve_groups(kind, seeds, sizes, s, 200, declared=False)
        detail = f"{np.median(ours):g} queries, {summary(ours)}; ignored {np.median(ignored):g}"
        table.append(Row(what, _ratio(ours, ignored), "x ignored", 1.05, detail))
    for kind, shape, r, share, limit in (
        ("quadratic", (20, 50), 3, 1e-6, 230),
        ("log-cosh", (20, 50), 3, 1e-3, 1000),
        ("weights", (40, 25), 2, 1e-3, 1000),
        ("half seen", (40, 40), 2, 1e-3, 2000),
    ):
        found = solve_matrices(kind, seeds, shape, r, share)
        what = f"{shape[0]} x {shape[1]} of rank {r}, {kind}"
        table.append(Row(what, float(np.median(found)), "queries", limit, summary(found)))
    table += declared(seeds)
    for d, k, start, limit in (
        (1000, 10, "k equal weights", 400),
        (5000, 6, "k equal weights", 250),
        (300, 20, "a vertex", 700),
    ):
        found, off = solve_simplex(seeds, d, k, start, spread=1.0, share=1e-6)
        what = f"simplex to 1e-6, {k} of {d}, from {start}"
        detail = f"{summary(found)}, off {off:.0e}"
        table.append(Row(what, float(np.median(found)), "queries", limit, detail))
    return table


if __name__ == "__main__":
    report(rows())
