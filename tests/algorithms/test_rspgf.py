"""RSPGF against its pseudo-code, its theory and its rate."""

import numpy as np
import pytest

from algorithms.runs import assert_close, least_squares, log_cosh, run
from reference import baselines as naive
from szoht import algorithms, errors, minimize
from szoht.operators import SoftThreshold

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_it_equals_its_pseudo_code():
    algorithm = algorithms.rspgf(penalty=0.1, q=4, mu=1e-3, step_size=0.1)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    assert len(ours) == T
    assert_close(ours, naive.rspgf(f, np.zeros(D), directions, mu=1e-3, step_size=0.1, penalty=0.1))


def test_rspgf_theory_setting():
    setting = algorithms.rspgf_setting(
        d=10, smoothness=4.0, budget=2_000, distance=0.5, gradient_bound=2.0, sigma=1.0
    )
    assert setting["step_size"] == 1 / 8
    assert setting["mu"] == pytest.approx(0.5 / np.sqrt(14 * 2_000))
    assert setting["q"] == int(np.ceil(np.sqrt(14 * 5 * 2_000) / 2))
    algorithms.rspgf(**setting)
    with pytest.raises(errors.ParameterError, match="must pay for one batch of 15"):
        algorithms.rspgf_setting(d=10, smoothness=1.0, budget=14, distance=1.0, gradient_bound=0.0)


def test_bad_input():
    with pytest.raises(errors.ParameterError, match="`penalty` must be a finite number >= 0"):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            method="rspgf",
            options={"penalty": -0.1},
        )


@pytest.mark.statistical
def test_rspgf_gradient_mapping_falls_with_the_budget():
    """The rate is sqrt(d / N): 16 times the budget gives a quarter of the mapping, within 2."""
    f, gradient = least_squares(20)
    penalty = SoftThreshold(1e-3)

    def mapping(budget, seed):
        setting = algorithms.rspgf_setting(
            d=20, smoothness=1.0, budget=budget, distance=3.0, gradient_bound=0.0
        )
        method = algorithms.rspgf(penalty=1e-3, iterate="random", **setting)
        x = minimize(f, np.zeros(20), method=method, max_queries=budget, rng=seed).x
        return float(((x - penalty.prox(x - gradient(x), 1.0)) ** 2).sum())

    few, many = (
        np.mean([mapping(budget, seed) for seed in range(12)]) for budget in (1_000, 16_000)
    )
    assert many <= 2 * few / 4
