"""ZORO's own time per query, against CoSaMP with an SVD in every pass, in one run.

Both sides take the same steps on the same function; what the function itself takes is left out.
"""

from collections.abc import Callable

import numpy as np
from core import Row, Timed, alternately, report, seconds, sized

from szoht import AskTell, Objective
from szoht.algorithms.zoro import zoro
from szoht.evaluation.oracle import Oracle
from szoht.types import Vector

D, SPARSITY, MEASUREMENTS = sized((2000, 200, 1521), (60, 4, 40))
MU, STEP, TOL, PASSES = 1e-6, 0.25, 0.01, 10


def rows() -> list[Row]:
    x0 = np.random.default_rng(0).standard_normal(D)
    iteration = library(x0)
    first = iteration()  # draws the signs and multiplies the first columns
    ours, theirs = alternately(iteration, svd(x0), 12)
    per_query = 1e6 / (MEASUREMENTS + 1)
    detail = (
        f"{ours * per_query:.1f} us/query ({first * per_query:.0f} in the first iteration), "
        f"an SVD in each pass {theirs * per_query:.1f} us"
    )
    what = f"ZORO, d = {D}, s = {SPARSITY}, m = {MEASUREMENTS}"
    return [Row(what, ours / theirs, "x SVD", 0.1, detail)]


def library(x0: Vector) -> Callable[[], float]:
    """Return a function that runs one iteration and gives its time beyond the objective."""
    timer = Timed(sparse_quadric)
    objective = Objective(value=lambda x, _: float((x[:SPARSITY] ** 2).sum()), values=timer)
    method = zoro(
        sparsity=SPARSITY,
        n_measurements=MEASUREMENTS,
        mu=MU,
        step_size=STEP,
        tol=TOL,
        max_passes=PASSES,
    )
    run = AskTell(x0, method=method, max_iterations=10**9, rng=0)
    oracle = Oracle(objective=objective)

    def one() -> float:
        timer.seconds = 0.0
        return seconds(lambda: run.receive(oracle(run.ask()))) - timer.seconds

    return one


def svd(x0: Vector) -> Callable[[], float]:
    """Return the same for a plain implementation that keeps its dense matrix."""
    timer = Timed(sparse_quadric)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(MEASUREMENTS, D))
    x = x0.copy()

    def iteration() -> None:
        base = float((x[:SPARSITY] ** 2).sum())
        values = np.asarray(timer(x + MU * signs, None))
        y = (values - base) / MU
        x[:] -= STEP * svd_cosamp(signs, y)

    def one() -> float:
        timer.seconds = 0.0
        return seconds(iteration) - timer.seconds

    return one


def svd_cosamp(matrix: Vector, y: Vector) -> Vector:
    support, rest = np.empty(0, dtype=np.intp), y
    for _ in range(PASSES):
        strong = np.argsort(-np.abs(matrix.T @ rest))[: 2 * SPARSITY]
        support = np.union1d(support, strong)
        fitted = np.linalg.lstsq(matrix[:, support], y, rcond=None)[0]
        top = np.argsort(-np.abs(fitted))[:SPARSITY]
        support, values = support[top], fitted[top]
        rest = y - matrix[:, support] @ values
        if np.linalg.norm(rest) <= TOL * np.linalg.norm(y):
            break
    solution = np.zeros(D)
    solution[support] = values
    return solution


def sparse_quadric(points: Vector, sample: object) -> Vector:
    del sample
    values: Vector = (points[:, :SPARSITY] ** 2).sum(axis=1)
    return values


if __name__ == "__main__":
    report(rows())
