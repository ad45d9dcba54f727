"""SZOHT with momentum against its pseudo-code, and the noise that it averages away."""

import numpy as np
import pytest

from algorithms.runs import assert_close, log_cosh, run
from reference import baselines as naive
from szoht import Sparse, algorithms, errors, minimize

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_it_equals_its_pseudo_code():
    algorithm = algorithms.momentum_szoht(k=4, q=5, mu=1e-3, step_size=0.05, beta=0.7)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    reference = naive.momentum(f, np.zeros(D), directions, k=4, mu=1e-3, step_size=0.05, beta=0.7)
    assert len(ours) == T
    assert_close(ours, reference)


def test_bad_input():
    with pytest.raises(errors.ParameterError, match="`beta` must be a finite number in"):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            k=2,
            method="momentum_szoht",
            options={"beta": 1.0},
        )


def test_momentum_averages_noise_away():
    """The same step and directions, a lower error where the gradient does not vanish."""
    d, k = 100, 3
    y = np.full(d, 0.05)
    y[:k] = 1.0
    best = Sparse(k).prox(y, 0.0)

    def distance(method, seed):
        x = minimize(
            lambda x: 0.5 * float(((x - y) ** 2).sum()),
            np.zeros(d),
            method=method,
            max_iterations=300,
            rng=seed,
        ).x
        return float(np.linalg.norm(x - best))

    plain = algorithms.szoht(k=k, q=20, step_size=0.1, iterate="last")
    averaged = algorithms.momentum_szoht(k=k, q=20, step_size=0.1, beta=0.9, iterate="last")
    one, other = (
        np.median([distance(method, seed) for seed in range(7)]) for method in (plain, averaged)
    )
    assert other < one
