"""ZO-AdaMM against its pseudo-code."""

import numpy as np

from algorithms.runs import assert_close, log_cosh, run
from reference import baselines as naive
from szoht import algorithms

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_it_equals_its_pseudo_code():
    algorithm = algorithms.zo_adamm(
        k=4, q=5, mu=1e-3, step_size=0.1, beta_mean=0.8, beta_square=0.6
    )
    ours, directions = run(algorithm, f, np.zeros(D), T)
    constants = {"b1": 0.8, "b2": 0.6, "floor": 1e-7}
    reference = naive.adamm(f, np.zeros(D), directions, k=4, mu=1e-3, step_size=0.1, **constants)
    assert len(ours) == T
    assert_close(ours, reference)


def test_the_scale_of_f_does_not_matter():
    algorithm = algorithms.zo_adamm(k=4, q=20, mu=1e-3, step_size=0.1)
    one, _ = run(algorithm, f, np.zeros(D), T)
    thousand, _ = run(algorithm, lambda x: 1e3 * f(x), np.zeros(D), T)
    assert np.allclose(one[-1], thousand[-1], atol=1e-3)
