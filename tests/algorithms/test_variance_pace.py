"""Snapshots, searches and batches by their costs, and the warnings where nothing is gained."""

import warnings

import numpy as np
import pytest

from szoht import Sparse, algorithms, errors, minimize
from szoht.algorithms import METHODS
from szoht.algorithms.variance_pace import (
    Pace,
    affordable,
    orthogonal_if_many,
    pick_pace,
    table_directions,
)
from szoht.estimators import Coordinate, Sphere

INNER = Sphere(q=60, mu=1e-6)
GIVEN = {"every": None, "batch_size": None, "d": 100, "n_samples": 1000, "fixed_step": False}


def pace(snapshot=None, **change):
    return pick_pace(INNER, snapshot or Sphere(q=100, mu=1e-6), **(GIVEN | change))


def test_a_fixed_step_keeps_the_published_values():
    assert pace(fixed_step=True) == Pace(batch_size=1, every=10, search_every=10)
    assert pace(n_samples=None) == Pace(batch_size=1, every=10, search_every=10)
    assert pace(fixed_step=True, every=7, batch_size=3) == Pace(
        batch_size=3, every=7, search_every=7
    )


@pytest.mark.parametrize("n", [40, 200, 1000, 20_000])
def test_corrected_iterations_cost_a_quarter_of_a_snapshot_and_searches_half_of_them(n):
    found = pace(n_samples=n)
    assert found.batch_size == min(32, n // 4)
    cost = 2 * found.batch_size * 61
    between, snapshot = (found.every - 1) * cost, n * 101
    assert found.every == 2 or abs(between - snapshot / 4) <= cost / 2
    search = 4 * n
    assert found.search_every == 1 or abs(search / 0.5 - found.search_every * cost) <= cost / 2


def test_what_is_given_is_kept():
    found = pace(every=5, batch_size=8)
    assert (found.every, found.batch_size) == (5, 8)


def test_a_snapshot_by_coordinates_costs_the_dimension():
    assert pace(Coordinate(mu=1e-6)).every == pace(Sphere(q=100, mu=1e-6)).every


def test_schedules_count_by_their_first_iteration():
    schedule = Sphere(q=lambda t: 60 + t, mu=1e-6)
    assert pick_pace(schedule, Sphere(q=100, mu=1e-6), **GIVEN) == pace()
    assert affordable(schedule, 100, 10**6, 50) is schedule


def test_directions_are_orthogonal_where_they_span_a_part_of_the_space():
    assert orthogonal_if_many(INNER, 600).orthogonal
    assert not orthogonal_if_many(INNER, 601).orthogonal
    assert not orthogonal_if_many(INNER, None).orthogonal


@pytest.mark.parametrize(("d", "n", "k"), [(60, 20, 2), (40, 100, 2)])
def test_the_mean_of_a_table_is_not_mostly_noise(d, n, k):
    """Monte Carlo: n gradients of squared residuals, each along directions of its own."""
    rng = np.random.default_rng(2)
    q = table_directions(Sparse(k), d, n)
    size, runs = 3 * k, 100
    noise, signal = np.empty(runs), np.empty(runs)
    for run in range(runs):
        rows, shift = rng.standard_normal((n, d)), np.zeros(d)
        shift[:k] = 1.0
        gradients = rows * (rows @ shift)[:, np.newaxis]
        estimates = np.empty((n, d))
        for i, gradient in enumerate(gradients):
            basis, _ = np.linalg.qr(rng.standard_normal((d, q)))
            estimates[i] = d / q * basis @ (basis.T @ gradient)
        error = (estimates - gradients).mean(axis=0)[:size]
        noise[run], signal[run] = error @ error, k
    ratio = noise.mean() / signal.mean()
    standard_error = noise.std(ddof=1) / np.sqrt(runs) / signal.mean()
    assert ratio < 0.5 + 4 * standard_error


def gains(name, n, passes, **options):
    """Return the warnings of a method that `minimize` would build."""
    facts = {"d": 10, "n_samples": n, "max_queries": passes * n}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        METHODS[name](k=2, **facts, **options)
    assert all(w.category is errors.NoGainWarning for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("name", ["vr_szht", "sarah_szht", "saga_szht"])
def test_it_is_said_where_a_method_cannot_pay(name):
    assert gains(name, 30, 200) == []
    (small,) = gains(name, 30, 40)
    assert f"{name} needs about 2640 evaluations" in small
    assert "got `max_queries`=1200" in small
    (large,) = gains(name, 30, 200, batch_size=15)
    assert "no fewer than the whole sum of n_samples=30" in large
    assert gains(name, 30, 40, step_size=0.1) == []


def test_a_table_of_few_components_is_slow():
    (slow,) = gains("saga_szht", 29, 200)
    assert "fewer than 15 k = 30 components" in slow
    assert gains("vr_szht", 29, 200) == []


def test_minimize_passes_the_warning_on():
    with pytest.warns(errors.NoGainWarning, match="needs about 2640"):
        minimize(
            lambda x, sample: float(((x - sample.mean()) ** 2).sum()),
            np.zeros(10),
            k=2,
            method="vr_szht",
            n_samples=30,
            max_queries=1500,
            rng=0,
        )


def test_nothing_is_said_before_the_sum_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        algorithms.vr_szht(k=2, d=10, max_queries=10)
