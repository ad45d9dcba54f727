"""`check_algorithm`: the contract of algorithms."""

import dataclasses
from typing import Any

import numpy as np

from szoht.core.algorithm import Algorithm, State
from szoht.core.objective import Objective
from szoht.evaluation.oracle import Oracle
from szoht.result import Progress, Result
from szoht.run.ask_tell import AskTell
from szoht.run.minimize import minimize
from szoht.types import Sample, Vector

__all__ = ["check_algorithm", "sparse_quadratic"]


def sparse_quadratic(d: int, *, n_samples: int | None = None) -> Objective:
    """Return f(x) = ||x - y||^2 / 2 with three non-zeros in y, optionally as a finite sum.

    The i-th component of the sum is the same quadratic around y plus a shift; the shifts add up
    to zero.
    """
    y = np.zeros(d)
    y[[1, d // 2, d - 1]] = [1.0, -0.7, 0.4]
    n = n_samples or 1
    shifts = np.random.default_rng(5).standard_normal((n, d)) * (0.0 if n_samples is None else 0.01)
    centers = y + shifts - shifts.mean(axis=0)

    def values(points: Vector, sample: Sample) -> Vector:
        members = centers if sample is None else centers[sample]
        squares = ((points[:, np.newaxis, :] - members) ** 2).sum(axis=2)
        averages: Vector = 0.5 * squares.mean(axis=1)
        return averages

    def value(x: Vector, sample: Sample) -> float:
        return float(values(x[np.newaxis], sample)[0])

    def gradient(x: Vector, sample: Sample) -> Vector:
        members = centers if sample is None else centers[sample]
        slope: Vector = x - members.mean(axis=0)
        return slope

    return Objective(value=value, values=values, gradient=gradient, n_samples=n_samples)


def check_algorithm(
    algorithm: Algorithm, *, d: int = 30, n_samples: int | None = None, iterations: int = 60
) -> None:
    """Raise AssertionError unless ``algorithm`` keeps the contract and makes progress.

    Checked on a sparse quadratic: every iterate is feasible; `ask` and `tell` are pure; states are
    read-only; the objective decreases by half or more;
    `minimize` and `AskTell` agree bit for bit, for any chunk size; result, history and callback
    agree on the number of queries.

    >>> from szoht.algorithms import szoht
    >>> check_algorithm(szoht(k=3, q=10, mu=1e-6, step_size=0.3))
    """
    objective = sparse_quadratic(d, n_samples=n_samples)
    x0 = np.zeros(d)
    _check_purity(algorithm, objective, x0)
    iterates: list[Progress] = []
    result = _run(algorithm, objective, x0, iterations, callback=iterates.append)
    contains = getattr(algorithm.operator, "contains", lambda _: True)
    assert all(contains(progress.x) for progress in iterates), "an iterate is infeasible"
    assert contains(result.x), "the solution is infeasible"
    _check_progress(objective, x0, result, n_samples)
    _check_counts(result, iterates)
    for other in (
        _run(algorithm, objective, x0, iterations),
        _run(algorithm, objective, x0, iterations, chunk_size=3),
        _ask_tell(algorithm, objective, x0, iterations),
    ):
        assert np.array_equal(result.x, other.x), "the same seed must give bit-identical results"
        assert result.nfev == other.nfev, "the same seed must use the same number of queries"


def _run(
    algorithm: Algorithm, objective: Objective, x0: Vector, iterations: int, **options: Any
) -> Result:
    return minimize(objective, x0, method=algorithm, max_iterations=iterations, rng=1, **options)


def _ask_tell(algorithm: Algorithm, objective: Objective, x0: Vector, iterations: int) -> Result:
    run = AskTell(
        x0,
        method=algorithm,
        max_iterations=iterations,
        rng=1,
        n_samples=objective.n_samples,
        stochastic=objective.stochastic,
    )
    oracle = Oracle(objective=objective)
    while not run.done:
        answers = oracle(run.ask())
        gradients = [answer.gradient for answer in answers if answer.gradient is not None]
        values = np.concatenate([answer.values for answer in answers])
        run.tell(values, gradient=gradients[0] if gradients else None)
    return run.result


def _check_purity(algorithm: Algorithm, objective: Objective, x0: Vector) -> None:
    state = algorithm.init(x0, seed=2, n_samples=objective.n_samples)
    oracle = Oracle(objective=objective)
    for _ in range(4):
        plan, again = algorithm.ask(state), algorithm.ask(state)
        assert np.array_equal(plan.points(), again.points()), "asking twice must give the same plan"
        answers = oracle(plan)
        state, repeated = (algorithm.tell(state, plan, answers) for _ in range(2))
        assert np.array_equal(state.x, repeated.x), "telling twice must give the same state"
        _check_read_only(state)


def _check_read_only(state: State) -> None:
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        if isinstance(value, np.ndarray) and field.name != "estimator_memory":
            assert not value.flags.writeable, f"the array `{field.name}` of the state is writeable"


def _check_progress(
    objective: Objective, x0: Vector, result: Result, n_samples: int | None
) -> None:
    all_samples = None if n_samples is None else np.arange(n_samples)
    start, end = objective.value(x0, all_samples), objective.value(result.x, all_samples)
    assert end <= 0.5 * start, f"no progress: f went from {start:.3g} to {end:.3g}"
    if n_samples is None:
        assert abs(result.fun - end) <= 1e-12 * (1 + abs(end)), "`fun` is not the value at `x`"


def _check_counts(result: Result, iterates: list[Progress]) -> None:
    queries = result.history["queries"]
    assert result.nfev == result.counts.queries == queries[-1] == iterates[-1].queries, (
        "result, history and callback must agree on the number of queries"
    )
