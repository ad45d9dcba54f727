"""IHT and StoIHT against their pseudo-code, on the same samples."""

import numpy as np
import pytest

from algorithms.runs import assert_same
from reference import hard_thresholding as naive
from szoht import AskTell, Full, Minibatch, algorithms, minimize

D, K, T = 17, 4, 6


@pytest.mark.parametrize("sampler", [Minibatch(size=1), Minibatch(size=3, replace=True), Full()])
def test_stoiht_equals_its_pseudo_code(sampler):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((20, D)), rng.standard_normal(20)

    def gradient(x, sample):
        return a[sample].T @ (a[sample] @ x - b[sample]) / len(sample)

    algorithm = algorithms.stoiht(k=K, step_size=0.05, sampler=sampler)
    asked = AskTell(
        np.zeros(D), method=algorithm, max_iterations=T, rng=4, n_samples=20, stochastic=True
    )
    ours, samples = [], []
    while not asked.done:
        query = asked.ask().queries[0]
        samples.append(query.sample)
        asked.tell([0.0], gradient=gradient(query.base, query.sample))
        ours.append(np.array(asked.state.x))
    reference = naive.stoiht(gradient, np.zeros(D), samples[:T], k=K, step_size=0.05)
    assert len(ours) >= T
    assert_same(ours[:T], reference)


def test_iht_is_the_full_gradient_step():
    y = np.linspace(-1, 2, D)
    asked = AskTell(np.zeros(D), method=algorithms.iht(k=K, step_size=0.5), max_iterations=1, rng=0)
    asked.tell([1.0], gradient=-y)
    assert np.allclose(asked.state.x, naive.hard_threshold(0.5 * y, K))


def test_first_order_sampling_defaults_are_those_of_the_method():
    sizes = []

    def gradient(x, sample):
        sizes.append(sample.size)
        return 2 * (x - 1)

    minimize(
        lambda x, _: float(((x - 1) ** 2).sum()),
        np.zeros(30),
        k=2,
        method="stoiht",
        n_samples=100,
        gradient=gradient,
        options={"step_size": 0.1},
        max_iterations=3,
        rng=0,
    )
    assert set(sizes) == {1}
