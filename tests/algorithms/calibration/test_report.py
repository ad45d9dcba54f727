"""What is told besides the answer: twins, what is not determined, fits that are poor."""

import numpy as np
import pytest
from scipy.stats import norm

from outcomes import most_seeds
from szoht import Status, least_squares

D, M = 30, 12
TWINS = (2, 5)


@pytest.fixture
def linear():
    """Return a matrix with eight columns that matter, two of them the same, and measurements."""
    generator = np.random.default_rng(3)
    matrix = np.zeros((M, D))
    matrix[:, :8] = generator.standard_normal((M, 8))
    matrix[:, TWINS[1]] = matrix[:, TWINS[0]]
    observed = 0.8 * matrix[:, 2] - 0.6 * matrix[:, 7] + 0.01 * generator.standard_normal(M)
    return matrix, observed, generator


def fit(matrix, observed, **options):
    options = {"k": 2, "sigma": 0.01, "rng": 0, "max_queries": 150} | options
    return least_squares(lambda x: matrix @ x, np.zeros(D), observed=observed, **options)


def supports(result):
    """Return the supports of the answer and of the alternatives."""
    others = [tuple(np.flatnonzero(other.x).tolist()) for other in result.alternatives]
    return sorted([tuple(result.support.tolist()), *others])


@most_seeds
def test_a_twin_is_the_only_alternative(seed, linear):
    matrix, observed, _ = linear
    result = fit(matrix, observed, rng=seed)
    assert supports(result) == [(2, 7), (5, 7)]
    (other,) = result.alternatives
    assert other.cost == pytest.approx(result.cost, rel=1e-3)
    assert abs(other.difference) < 1e-3, "no output tells twins apart"
    assert len(result.warnings) == 1
    assert "within the noise: 1; see `alternatives`" in result.warnings[0]


def test_before_the_end_there_are_no_alternatives(linear):
    """The twin was measured, but not all others."""
    matrix, observed, _ = linear
    result = fit(matrix, observed, max_queries=45)
    assert result.status is Status.QUERIES
    assert not np.isin(TWINS, result.unmeasured).any()
    assert result.alternatives == ()
    assert not any("other supports" in line for line in result.warnings)


@most_seeds
def test_twins_that_both_change_are_not_determined(seed, linear):
    """Only their sum is: any interval of one of them that excludes 0.8 or 0 would be wrong."""
    matrix, observed, _ = linear
    matrix[:, [0, 1, 3, 4, 6]] = 0.0  # nothing else could take the third place
    result = fit(matrix, observed, k=3, rng=seed)
    assert set(TWINS) < set(result.support.tolist())
    assert any("hard to tell apart" in line for line in result.warnings)
    assert any("x[2], x[5] must change" in line for line in result.warnings)
    for entry in result.intervals[:2]:
        assert entry.low < 0
        assert entry.high > 0.8
    assert result.intervals[2].standard_error < 0.01, "the third is determined"
    total = np.array([1.0, 1.0, 0.0])
    on = matrix[:, [2, 7]]
    expected = 1e-4 * np.linalg.inv(on.T @ on)[0, 0]
    assert total @ result.covariance @ total == pytest.approx(expected, rel=0.05)


@most_seeds
def test_a_poor_fit_makes_no_other_support_as_good(seed, linear):
    """Errors of 50 sigma: supports that are worse by hundreds of sigma are no alternatives."""
    matrix, observed, generator = linear
    result = fit(matrix, observed + 0.5 * generator.standard_normal(M), rng=seed)
    assert supports(result) == [(2, 7), (5, 7)]
    assert any("more than `sigma` explains" in line for line in result.warnings)


@most_seeds
def test_without_sigma_the_misfit_is_the_noise(seed, linear):
    matrix, observed, generator = linear
    poor = observed + 1.5 * generator.standard_normal(M)
    result = fit(matrix, poor, sigma=None, rng=seed)
    assert len(result.alternatives) > 1
    for other in result.alternatives:
        assert not np.isin(np.flatnonzero(other.x), result.unmeasured).any()
    assert not any("sigma" in line for line in result.warnings)


@pytest.mark.parametrize("bounds", [None, (-1.5, 1.5)])
@pytest.mark.parametrize("level", [0.5, 0.95])
@most_seeds
def test_intervals_have_two_sides(seed, linear, level, bounds):
    """The errors of the measurements are sigma's, so that the normal distribution counts."""
    matrix, _, _ = linear
    result = fit(matrix, matrix[:, 3] - matrix[:, 7], level=level, bounds=bounds, rng=seed)
    on = matrix[:, [3, 7]]
    errors = 0.01 * np.sqrt(np.diag(np.linalg.inv(on.T @ on)))
    assert result.support.tolist() == [3, 7]
    for entry, error in zip(result.intervals, errors, strict=True):
        assert entry.high - entry.value == pytest.approx(
            norm.ppf(0.5 + level / 2) * error, rel=0.05
        )
        assert entry.value - entry.low == pytest.approx(entry.high - entry.value)


@most_seeds
def test_a_variable_that_the_data_demand_is_named(seed):
    """A third change explains 30 of 630 squares: within chi-square without it, but not by chance.

    Its column has nothing in common with others, so that no exchange is better.
    """
    generator = np.random.default_rng(1)
    matrix = np.zeros((600, D))
    matrix[:, :6] = generator.standard_normal((600, 6))
    truth = np.zeros(D)
    truth[[0, 1, 2]] = 2.0, -2.0, 0.22
    observed = matrix @ truth + generator.standard_normal(600)
    small, right = (fit(matrix, observed, k=k, sigma=1.0, rng=seed) for k in (2, 3))
    assert small.support.tolist() == [0, 1]
    assert small.success
    assert any("one more change, of x[2]," in line for line in small.warnings)
    assert right.support.tolist() == [0, 1, 2]
    assert not any("one more change" in line for line in right.warnings)
    for limit in range(12, 20):  # nor before its column was measured
        cut = fit(matrix, observed, k=2, sigma=1.0, max_queries=limit)
        assert 2 not in cut.unmeasured or not any("one more" in line for line in cut.warnings)
