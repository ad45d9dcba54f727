"""Truncated ZSGD against its pseudo-code, on the same directions."""

import numpy as np

from algorithms.runs import assert_same, log_cosh, run
from reference import hard_thresholding as naive
from szoht import algorithms

D, K, T = 17, 4, 6
problem = log_cosh(D)


def test_it_equals_its_pseudo_code():
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.002}
    algorithm = algorithms.truncated_zsgd(q=1, iterate="last", **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert len(ours) == T
    assert_same(ours, naive.truncated_zsgd(problem, np.zeros(D), directions, **parameters))
