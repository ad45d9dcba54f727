"""Points that are sparse in another basis: the search is over their coefficients."""

import numpy as np
import pytest

from outcomes import most_seeds
from szoht import SparseIn, minimize

MATRIX = np.linalg.qr(np.random.default_rng(0).standard_normal((150, 90)))[0]


@pytest.mark.parametrize(
    ("transform", "d", "n"),
    [("dct", 300, 300), ("haar", 256, 256), (MATRIX, 150, 90)],
    ids=["cosines", "wavelets", "matrix"],
)
@most_seeds
def test_few_coefficients_are_found(seed, transform, d, n):
    constraint, rng = SparseIn(transform, 5), np.random.default_rng(1)
    z = np.zeros(n)
    z[rng.choice(n, 5, replace=False)] = rng.choice([-1, 1], 5) * rng.uniform(0.5, 1.5, 5)
    best = constraint.synthesis(z)
    result = minimize(
        lambda x: 0.5 * float(((x - best) ** 2).sum()),
        np.zeros(d),
        constraint=constraint,
        target=1e-6,
        max_queries=500,
        rng=seed,
    )
    assert result.nfev <= 40
    assert constraint.contains(result.x)


@most_seeds
def test_a_run_ends_by_itself_and_starts_where_it_is_told(seed):
    constraint = SparseIn("dct", 3)
    z = np.zeros(64)
    z[[2, 9, 30]] = 1.0, -2.0, 0.5
    best = constraint.synthesis(z)
    seen = []

    def fun(x):
        seen.append(x)
        return float(((x - best) ** 2).sum())

    start = constraint.synthesis(np.eye(64)[5])
    result = minimize(fun, start, constraint=constraint, max_queries=5000, rng=seed)
    np.testing.assert_allclose(seen[0], start, atol=1e-12)
    assert result.status.name == "CONVERGED"
    np.testing.assert_allclose(result.x, best, atol=1e-6)
