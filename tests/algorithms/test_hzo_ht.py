"""HZO-HT: the number of directions grows, and the error goes on falling."""

import numpy as np
import pytest

from algorithms.runs import log_cosh, run
from szoht import Sparse, algorithms, errors, minimize
from szoht.schedules import Geometric

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_the_number_of_directions_grows():
    algorithm = algorithms.hzo_ht(k=4, q=3, mu=1e-6, growth=1.5, max_q=12, step_size=0.05)
    assert algorithm.estimator.q == Geometric(start=3, ratio=1.5, high=12)
    _, directions = run(algorithm, f, np.zeros(D), T)
    assert [len(us) for us in directions] == [3, 5, 7, 11, 12, 12, 12, 12]


def test_bad_input():
    with pytest.raises(errors.ParameterError, match="`growth` must be a finite number >= 1"):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            k=2,
            method="hzo_ht",
            options={"growth": 0.9},
        )


@pytest.mark.statistical
def test_growing_directions_remove_the_error_floor():
    """The gradient does not vanish at the sparse solution, so a constant q leaves noise there."""
    d, k, budget = 100, 3, 30_000
    y = np.full(d, 0.05)
    y[:k] = 1.0
    best = Sparse(k).prox(y, 0.0)

    def distance(method, seed):
        x = minimize(
            lambda x: 0.5 * float(((x - y) ** 2).sum()),
            np.zeros(d),
            method=method,
            max_queries=budget,
            rng=seed,
        ).x
        return float(np.linalg.norm(x - best))

    constant = algorithms.szoht(k=k, q=20, step_size=0.3, iterate="last")
    growing = algorithms.hzo_ht(k=k, q=20, growth=1.1, step_size=0.3, iterate="last")
    floor, hybrid = (
        np.median([distance(method, seed) for seed in range(5)]) for method in (constant, growing)
    )
    assert hybrid < 0.3 * floor
