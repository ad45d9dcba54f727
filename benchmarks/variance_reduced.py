"""What a variance-reduced step costs beyond its queries, against two plain SZOHT estimates."""

from collections.abc import Callable

import numpy as np
from core import Row, Timed, alternately, report, seconds, sized

from szoht import Algorithm, AskTell, Minibatch, Objective, algorithms
from szoht.evaluation.oracle import Oracle
from szoht.types import Sample, Vector

D, Q, N, EVERY = sized((1_000, 200, 50, 10), (50, 10, 5, 3))


def iterations(method: Algorithm, skip: int) -> Callable[[], float]:
    """Return a function giving the time of one iteration beyond the objective.

    Every ``skip``-th iteration, a snapshot, is run off the clock.
    """
    centres = np.random.default_rng(0).standard_normal((N, D)) * 0.01

    def values(points: Vector, sample: Sample) -> Vector:
        answer: Vector = 0.5 * ((points - centres[sample][0]) ** 2).sum(axis=1)
        return answer

    timed = Timed(values)
    objective = Objective(
        value=lambda x, sample: float(values(x[np.newaxis], sample)[0]), values=timed, n_samples=N
    )
    run = AskTell(
        np.zeros(D), method=method, max_iterations=10**9, rng=0, n_samples=N, stochastic=True
    )
    oracle = Oracle(objective=objective)

    def one() -> float:
        while run.state.iteration % skip == 0:
            run.receive(oracle(run.ask()))
        timed.seconds = 0.0
        return seconds(lambda: run.receive(oracle(run.ask()))) - timed.seconds

    return one


def rows() -> list[Row]:
    """Measure SVRG, SARAH and SAGA steps."""
    plain = algorithms.szoht(k=10, q=Q, step_size=1e-3, sampler=Minibatch(size=1))
    anchored = {"k": 10, "q": Q, "step_size": 1e-3, "every": EVERY}
    methods: list[tuple[str, Algorithm, int]] = [
        ("vr_szht", algorithms.vr_szht(snapshot_q=Q, **anchored), EVERY),  # type: ignore[arg-type]
        ("sarah_szht", algorithms.sarah_szht(snapshot_q=Q, **anchored), EVERY),  # type: ignore[arg-type]
        ("saga_szht", algorithms.saga_szht(k=10, q=Q, step_size=1e-3), 10**9),
    ]
    table = []
    for name, method, skip in methods:
        ours, theirs = alternately(iterations(method, skip), iterations(plain, 10**9), 60)
        detail = f"{1e3 * ours:.2f} ms, two SZOHT estimates {2e3 * theirs:.2f} ms"
        what = f"{name} step, d = {D}, q = {Q}"
        table.append(Row(what, ours / (2 * theirs), "x two", 1.3, detail))
    return table


if __name__ == "__main__":
    report(rows())
