"""The projected gradient against its pseudo-code and its rate."""

import numpy as np
import pytest

from algorithms.runs import assert_close, log_cosh, run
from outcomes import most_seeds
from reference import baselines as naive
from szoht import algorithms, errors, minimize

D, T = 13, 8
f = log_cosh(D, normalized=True)


def test_it_equals_its_pseudo_code():
    algorithm = algorithms.zo_projected_gradient(radius=1.5, q=4, mu=1e-3, step_size=0.2)
    ours, directions = run(algorithm, f, np.zeros(D), T)
    reference = naive.projected_gradient(
        f, np.zeros(D), directions, mu=1e-3, step_size=0.2, radius=1.5
    )
    assert len(ours) == T
    assert_close(ours, reference)
    assert any(np.abs(x).sum() > 1.49 for x in ours), "the ball must matter"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1}, "`radius`"),
        ({"radius": 1.0}, r"`x0` must lie in L1Ball.*l1 norm 4"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(errors.ParameterError, match=message):
        minimize(
            lambda x: pytest.fail("a query was spent"),
            np.ones(4),
            method="zo_projected_gradient",
            options=options,
        )


@most_seeds
def test_projected_gradient_is_linear_on_strongly_convex_functions(seed):
    """f = |x - y|^2 / 2 with y inside the ball: the gap contracts by (1 - eta)^2, within 4."""
    y = np.linspace(-0.05, 0.05, 20)
    method = algorithms.zo_projected_gradient(radius=2.0, q=400, step_size=0.3, iterate="last")
    gaps = []
    minimize(
        lambda x: 0.5 * float(((x - y) ** 2).sum()),
        np.zeros(20),
        method=method,
        max_iterations=30,
        rng=seed,
        monitor=lambda x: gaps.append(0.5 * ((x - y) ** 2).sum()) or 0.0,
    )
    expected = 0.5 * (y @ y) * 0.7 ** (2 * np.arange(1, 31))
    assert (gaps[:30] <= 4 * expected).all()
