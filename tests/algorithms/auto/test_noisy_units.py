"""Units that nobody gave, where values err: one for all coordinates, or one for each."""

import hashlib

import numpy as np
import pytest

from szoht import Status, minimize
from szoht.algorithms.auto.noisy.units import (
    AXIS_FACTOR,
    EvenParts,
    check_axis_units,
    common_unit,
    find_axis_units,
)
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel

D, K = 60, 3
TARGET = np.zeros(D)
TARGET[[7, 30, 51]] = [1.5, -0.8, 1.0]
SIGMA = 0.02


def hashed(x):
    digest = hashlib.md5(np.ascontiguousarray(x).tobytes(), usedforsecurity=False).digest()
    return 2 * int.from_bytes(digest[:8], "little") / 2**64 - 1


def finish(steps):
    """Run steps that ask nothing but values of `Asked`."""
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


class Asked:
    """A noisy function that remembers what it was asked."""

    def __init__(self, fun, d=D, budget=100_000, sigma=SIGMA):
        self.fun, self.left, self.sigma = fun, budget, sigma
        self.rng, self.farthest = np.random.default_rng(3), np.zeros(d)
        self.d = d

    def ask(self, points):
        self.left -= len(points)
        self.farthest = np.maximum(self.farthest, np.abs(points).max(axis=0))
        errors = self.sigma * self.rng.standard_normal(len(points))
        return np.array([self.fun(x) for x in points]) + errors
        yield  # a generator, as steps are

    def parts(self):
        nowhere = np.full(self.d, np.inf)
        values = Values(
            ask=self.ask, left=lambda: self.left, reach=np.ones(self.d), low=-nowhere, high=nowhere
        )
        return EvenParts(
            values=values,
            x=np.zeros(self.d),
            value=self.fun(np.zeros(self.d)),
            noise=NoiseModel(sigma=self.sigma),
            rng=np.random.default_rng(0),
        )


def parabola(unit):
    return lambda x: float(((x / unit - TARGET) ** 2).sum())


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e4, 1e7])
def test_one_unit_for_all_is_found_within_a_factor(size):
    asked = Asked(parabola(size))
    unit, _ = finish(common_unit(asked.parts()))
    assert 1 / 60 < unit / size < 60
    assert 100_000 - asked.left <= 24


def test_a_function_of_unit_scale_keeps_its_unit_for_few_values():
    asked = Asked(parabola(1.0))
    assert finish(common_unit(asked.parts()))[0] == 1
    assert 100_000 - asked.left <= 4


def test_each_axis_gets_the_length_over_which_f_curves():
    unit = 10.0 ** np.random.default_rng(4).uniform(-3, 3, D)
    asked = Asked(parabola(unit))
    found = finish(find_axis_units(asked.parts(), np.arange(D), spend=10_000))
    ratio = found.units / unit
    assert found.complete
    assert ratio.max() < 2 * ratio.min()
    assert found.spread == pytest.approx(unit.max() / unit.min(), rel=0.5)
    # over this length an axis shows: sqrt(5.5 sigma)
    shows = 1.5 * np.sqrt(5.5 * SIGMA) * unit
    assert (asked.farthest <= np.maximum(1.0, AXIS_FACTOR * shows)).all()


def test_few_axes_that_matter_are_found_with_few_values():
    unit = np.ones(1_000)
    unit[[5, 600]] = 1e-2, 1e3
    curved = np.zeros(1_000)
    curved[[5, 77, 600]] = 1.0
    asked = Asked(lambda x: float(curved @ (x / unit) ** 2), d=1_000)
    found = finish(find_axis_units(asked.parts(), np.arange(1_000), spend=10_000))
    assert sorted(each.axis for each in found.seen) == [5, 77, 600]
    assert 100_000 - asked.left < 300


def test_values_that_do_not_suffice_are_said_not_to():
    unit = 10.0 ** np.random.default_rng(4).uniform(-3, 3, D)
    asked = Asked(parabola(unit))
    found = finish(find_axis_units(asked.parts(), np.arange(D), spend=100))
    assert not found.complete
    assert 100_000 - asked.left <= 100


def test_equal_units_are_checked_on_few_axes():
    asked = Asked(parabola(np.full(D, 2.0)))
    found = finish(check_axis_units(asked.parts(), np.array([7, 30, 51]), spend=500))
    assert found.spread < 3
    assert 100_000 - asked.left < 4 * D


def test_an_axis_along_which_f_is_undefined_counts_as_seen():
    def fun(x):
        return float((x**2).sum()) if abs(x[0]) < 1e-3 else np.nan

    asked = Asked(fun, sigma=0.0)
    asked.sigma = SIGMA
    found = finish(find_axis_units(asked.parts(), np.arange(D), spend=10_000))
    assert np.isfinite(found.units).all()
    assert found.units[0] < 0.1 * np.median(found.units)


@pytest.mark.parametrize("decades", [1, 2])
@pytest.mark.parametrize("kind", ["fresh", "fixed"])
def test_mixed_units_under_noise(kind, decades):
    rng = np.random.default_rng(5)
    unit = 10.0 ** rng.uniform(-decades, decades, D)
    true = parabola(unit)
    start = true(np.zeros(D))
    errors = {"fresh": lambda _: rng.standard_normal(), "fixed": hashed}
    result = minimize(
        lambda x: true(x) + 0.01 * start * errors[kind](x), np.zeros(D), k=K, max_queries=2_000, rng=1
    )
    assert true(result.x) < 0.01 * start
    assert any("units differ" in line for line in result.explain)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_one_unknown_unit_under_noise(size):
    rng = np.random.default_rng(5)
    true = parabola(size)
    start = true(np.zeros(D))
    result = minimize(
        lambda x: true(x) + 0.05 * start * rng.standard_normal(),
        np.zeros(D),
        k=K,
        max_queries=1_500,
        rng=1,
    )
    assert true(result.x) < 0.01 * start


def test_given_units_are_not_looked_for():
    rng = np.random.default_rng(5)
    true = parabola(1.0)
    result = minimize(
        lambda x: true(x) + 0.01 * rng.standard_normal(),
        np.zeros(D),
        k=K,
        max_queries=400,
        rng=1,
        units=1.0,
    )
    assert not any("unit" in line for line in result.explain)


@pytest.mark.parametrize("seed", [0, 2])
def test_slopes_that_nothing_explains_are_no_evidence(seed):
    """A median of residuals slopes as one of them does: along most coordinates, to nowhere."""
    rng = np.random.default_rng(1320 + seed)
    target = np.zeros(80)
    target[rng.choice(80, 4, replace=False)] = rng.choice([-1, 1], 4) * rng.uniform(0.5, 2, 4)
    a = rng.standard_normal((120, 80))
    b = a @ target + 0.05 * rng.standard_normal(120)
    start = float(np.median(np.abs(b)))

    def fun(x):
        return float(np.median(np.abs(a @ x - b))) + 1e-4 * start * hashed(x)

    result = minimize(fun, np.zeros(80), k=4, max_queries=1_500, rng=seed)
    gap = np.median(np.abs(a @ result.x - b)) / start
    assert gap < 0.1 or result.status is not Status.CONVERGED
