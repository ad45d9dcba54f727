"""How many changes are believed: k="bic" and k="chi2", and the path that they choose from."""

import numpy as np
import pytest
import scipy.optimize

from szoht import Status, Variables, least_squares

SIGMA, TIMES = 0.5, (50, 100, 200, 400, 800)
NOMINAL = np.r_[np.full(8, 50.0), np.full(7, 2.0), np.full(8, 0.1), 100.0, 20.0]
CHANGED = {11: 0.9, 20: 0.22, 23: 112.0}
DRAWS = range(10)


def chain(x):
    """Return the temperatures of eight bodies in a row, heated at both ends.

    Of their capacities, conductances, losses and heaters, a loss is hard to tell from the next.
    """
    capacities, conductances, losses, heaters = np.split(x, (8, 15, 23))
    matrix = np.diag(-losses - np.r_[conductances, 0] - np.r_[0, conductances])
    matrix += np.diag(conductances, 1) + np.diag(conductances, -1)
    steady = np.linalg.solve(matrix, -np.r_[heaters[0], np.zeros(6), heaters[1]])
    root = np.sqrt(capacities)
    rates, modes = np.linalg.eigh(matrix / np.outer(root, root))  # symmetric in these units
    start = modes.T @ (root * steady)
    return np.concatenate([steady - modes @ (np.exp(rates * t) * start) / root for t in TIMES])


class Draw:
    """Measurements of the chain with three changes and errors, and fits to them."""

    def __init__(self, seed, changed=CHANGED, sigma=SIGMA):
        truth = NOMINAL.copy()
        truth[list(changed)] = list(changed.values())
        exact = chain(truth)
        self.observed = exact + sigma * np.random.default_rng(seed).standard_normal(exact.size)

    def least_cost(self, support, start):
        """Return the minimum over the values of some variables."""

        def residuals(logarithms):
            x = NOMINAL.copy()
            x[support] = np.exp(logarithms)
            return (chain(x) - self.observed) / SIGMA

        return scipy.optimize.least_squares(residuals, np.log(start[support])).cost

    def fit(self, criterion, fun=chain, **options):
        variables = Variables(NOMINAL, low=NOMINAL / 5, high=NOMINAL * 5, log=True)
        options = {"observed": self.observed, "sigma": SIGMA, "rng": 0} | options
        return least_squares(fun, variables, k=criterion, **options)


def support_of(point):
    return np.flatnonzero(point.x != NOMINAL)


@pytest.fixture(scope="module", params=["bic", "chi2"])
def fits(request):
    """Return draws and their fits by one criterion."""
    draws = [Draw(seed) for seed in DRAWS]
    return [(draw, draw.fit(request.param)) for draw in draws]


def test_the_number_of_changes_is_found(fits):
    """Chance lets a criterion err once in a while: chi-square once in twenty."""
    assert sum(result.support.tolist() == list(CHANGED) for _, result in fits) >= 8


def test_the_answer_is_an_entry_of_its_path(fits):
    for _, result in fits:
        (entry,) = [point for point in result.path if point.k == result.support.size]
        np.testing.assert_array_equal(entry.x, result.x)
        assert entry.fun == result.cost


def test_costs_of_the_path_are_those_of_its_points(fits):
    for draw, result in fits:
        assert [point.k for point in result.path] == list(range(len(result.path)))
        costs = [point.fun for point in result.path]
        assert costs == sorted(costs, reverse=True)
        for point in result.path:
            assert support_of(point).size <= point.k
            residuals = (chain(point.x) - draw.observed) / SIGMA
            assert point.fun == pytest.approx(0.5 * (residuals**2).sum(), rel=1e-6)


def test_every_level_is_at_the_minimum_of_its_support(fits):
    over = [
        point.fun / draw.least_cost(support_of(point), point.x) - 1
        for draw, result in fits
        for point in result.path[1:]
    ]
    assert np.median(over) < 1e-3
    assert max(over) < 0.1


def test_every_level_is_compared_with_other_supports(fits):
    """Three changes at their minimum cost what the right ones do, not four times as much."""
    right = np.array(list(CHANGED))
    start = NOMINAL.copy()
    start[right] = list(CHANGED.values())
    over = [result.path[3].fun / draw.least_cost(right, start) for draw, result in fits]
    assert np.median(over) < 1.001
    assert sum(ratio < 1.1 for ratio in over) >= 8


def test_changes_that_chi_square_of_many_outputs_hides_are_believed():
    """Each of them explains some 60 of 600 squares: all but the first could be left out."""
    sizes = []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        matrix = generator.standard_normal((600, 15))
        observed = 0.3 * matrix[:, [3, 7, 11]].sum(axis=1) + generator.standard_normal(600)
        result = least_squares(
            lambda x, matrix=matrix: matrix @ x,
            np.zeros(15),
            k="chi2",
            observed=observed,
            sigma=1.0,
            rng=seed,
        )
        sizes.append(result.support.size)
        assert [point.k for point in result.path] == list(range(len(result.path)))
        assert result.path[result.support.size].fun == result.cost
    assert np.median(sizes) == 3


def test_a_path_that_is_cut_short_is_not_told():
    result = Draw(0).fit("bic", max_queries=40)
    assert result.status is Status.QUERIES
    assert result.path == ()


@pytest.mark.parametrize("error", [0.0, SIGMA])
@pytest.mark.parametrize("criterion", ["bic", "chi2"])
def test_where_nothing_has_changed_nothing_is_believed(criterion, error):
    points = []

    def simulate(x):
        points.append(x)
        return chain(x)

    result = Draw(5, changed={}, sigma=error).fit(criterion, simulate)
    assert not result.support.size
    assert result.path[0].fun == result.cost
    assert result.success
    moved = np.array(points) != NOMINAL
    assert moved[moved.sum(axis=1) == 1].any(axis=0).all(), "each was moved alone"


def test_fresh_noise_is_no_misfit():
    """It is as large as sigma, so that the misfit of the truth is twice the number of outputs."""
    sizes = []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        matrix = generator.standard_normal((120, 12))
        observed = 2 * matrix[:, 2] - 3 * matrix[:, 5] + SIGMA * generator.standard_normal(120)

        def noisy(x, matrix=matrix, generator=generator):
            return matrix @ x + SIGMA * generator.standard_normal(120)

        result = least_squares(
            noisy, np.zeros(12), k="chi2", observed=observed, sigma=SIGMA, rng=seed
        )
        assert not result.success
        assert "Fresh noise is too large" in result.message or "more than" in result.message
        sizes.append(result.support.size)
    assert np.median(sizes) == 2


def test_without_sigma_the_misfit_says_how_many():
    draws = [Draw(seed).fit("bic", sigma=None) for seed in range(5)]
    assert sum(set(CHANGED) <= set(result.support) for result in draws) >= 4
    assert np.median([result.support.size for result in draws]) <= 5
    assert not any(result.success for result in draws)
