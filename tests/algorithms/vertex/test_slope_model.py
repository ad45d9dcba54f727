"""The model of slopes against dense algebra."""

import numpy as np
import pytest

from szoht.algorithms.vertex.slope_model import MIN_NOISE_SHARE, SlopeModel, SlopePrior, _solve


def dense(one):
    return np.array([one.times(row) for row in np.eye(one.d)])


def prior(**settings):
    grid = np.random.default_rng(2).permutation(2 * 5 * 6).reshape(2, 5, 6)
    given = {"d": 60, "grid": grid, "length": 1.0, "smooth": 0.7, "shared": 0.4}
    return SlopePrior(**given | settings)


@pytest.mark.parametrize("settings", [{}, {"grid": None}, {"length": 0.0}, {"shared": 1.0}])
def test_draws_have_the_covariance_that_times_applies(settings):
    one = prior(**settings)
    covariance = dense(one)
    assert np.allclose(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10
    generator = np.random.default_rng(1)
    count = 6_000
    draws = np.array([one.draw(generator) for _ in range(count)])
    sample = draws.T @ draws / count
    sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2)
    # each entry is a mean of `count` products with standard deviation at most `sizes`
    assert (np.abs(sample - covariance) <= 5 * sizes / np.sqrt(count)).all()


def test_neighbours_and_channels_are_correlated():
    one = prior()
    covariance = dense(one)
    at = one.grid
    centre, beside, far = at[0, 2, 2], at[0, 2, 3], at[0, 2, 5]
    assert covariance[centre, centre] == pytest.approx(1.0, rel=0.01)
    assert covariance[centre, beside] > 0.3 > 3 * covariance[centre, far] > 0
    assert covariance[centre, at[1, 2, 2]] == pytest.approx(0.7 * 0.4, rel=0.02)


def test_the_posterior_has_the_mean_of_dense_algebra():
    one = prior()
    model = SlopeModel(prior=one, noise=0.3, window=20)
    rng = np.random.default_rng(3)
    points = np.zeros((8, 60))
    for row in points:
        row[rng.permutation(60)[:4]] = rng.standard_normal(4)
    y = rng.standard_normal(8)
    for row, value in zip(points, y, strict=True):
        model.add(row, value)
    covariance = dense(one)
    gram = points @ covariance @ points.T
    assert np.allclose(model.gram, gram)
    power = np.diag(gram).mean()
    size = np.sqrt(np.mean(y**2) / power)
    variance = 0.3 * power * (MIN_NOISE_SHARE + (y - y.min()) / y.std())
    gain = covariance @ points.T @ np.linalg.inv(gram + np.diag(variance))
    mean = gain @ y / size
    left = covariance - gain @ points @ covariance
    generator = np.random.default_rng(4)
    draws = np.array([model.draw(generator) for _ in range(4_000)])
    error = np.sqrt(np.diag(left) / 4_000)
    assert (np.abs(draws.mean(axis=0) - mean) <= 5 * error).all()
    assert np.allclose(draws.var(axis=0), np.diag(left), rtol=0.15)


def test_one_value_is_enough_to_learn_from():
    model = SlopeModel(prior=prior(), noise=0.3, window=20)
    x = np.eye(60)[7] - np.eye(60)[30]
    model.add(x, -2.0)
    generator = np.random.default_rng(5)
    along = [model.draw(generator) @ x for _ in range(200)]
    assert np.mean(np.array(along) < 0) > 0.9


def test_systems_are_solved_to_the_tolerance():
    """Points that overlap much, as those of a search do, with little noise."""
    rng = np.random.default_rng(8)
    points = np.abs(rng.standard_normal((50, 60)))
    gram, variance = points @ points.T, rng.uniform(0.5, 50.0, 50)
    right = rng.standard_normal(50)
    exact = np.linalg.solve(gram + np.diag(variance), right)
    assert _solve(gram, variance, right) == pytest.approx(exact, abs=2e-3 * np.abs(exact).max())


def test_the_window_forgets_high_values_but_none_of_the_newest():
    model = SlopeModel(prior=prior(), noise=0.3, window=10)
    for value in (5.0, 1.0, 9.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0, 50.0):
        model.add(np.eye(60)[int(value)], value)
    assert model.values == [5.0, 1.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0, 50.0]
    assert model.gram.shape == (10, 10)
    assert len(model.rows) == 10
