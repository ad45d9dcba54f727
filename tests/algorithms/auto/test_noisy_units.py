"""Units that nobody gave, where values err: one for all coordinates, or one for each."""

import hashlib

import numpy as np
import pytest

from outcomes import most_seeds
from szoht import Variables, minimize
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.noisy.search import NoisySearch
from szoht.algorithms.auto.noisy.sensing import Sensed
from szoht.algorithms.auto.noisy.single_steps import best_single_step
from szoht.algorithms.auto.noisy.units import (
    AXIS_FACTOR,
    EvenParts,
    check_axis_units,
    common_unit,
    find_axis_units,
)
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel
from szoht.estimators.sensing.cross_validation import CrossValidatedRecovery

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
    unit, _ = finish(common_unit(asked.parts(), K))
    assert 1 / 60 < unit / size < 60
    assert 100_000 - asked.left <= 26


def test_a_function_of_unit_scale_keeps_its_unit_for_few_values():
    asked = Asked(parabola(1.0))
    assert finish(common_unit(asked.parts(), K))[0] == 1
    assert 100_000 - asked.left <= 6


def doubted(units):
    asked = Asked(parabola(units), sigma=0.0)
    asked.sigma = 1e-3
    return not finish(common_unit(asked.parts(), K))[1]


def test_one_unit_is_doubted_where_units_differ():
    rng = np.random.default_rng(0)
    mixed = [doubted(10.0 ** rng.uniform(-2, 2, D)) for _ in range(20)]
    assert sum(mixed) >= 15  # two values: they may look alike along one direction
    assert not doubted(np.ones(D))
    assert not doubted(np.full(D, 0.5))


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


@pytest.mark.parametrize("decades", [1, 2.5])
@pytest.mark.parametrize("kind", ["fresh", "fixed"])
@most_seeds
def test_mixed_units_under_noise(seed, kind, decades):
    rng = np.random.default_rng([seed, 5])
    unit = 10.0 ** rng.uniform(-decades, decades, D)
    true = parabola(unit)
    start = true(np.zeros(D))
    errors = {"fresh": lambda _: rng.standard_normal(), "fixed": hashed}
    result = minimize(
        lambda x: true(x) + 0.01 * start * errors[kind](x),
        np.zeros(D),
        k=K,
        max_queries=2_000,
        rng=seed,
    )
    assert true(result.x) < 0.01 * start
    assert decades == 1 or any("units differ" in line for line in result.explain)


@pytest.mark.parametrize("size", [1e-4, 1e4])
@most_seeds
def test_one_unknown_unit_under_noise(seed, size):
    rng = np.random.default_rng([seed, 5])
    true = parabola(size)
    start = true(np.zeros(D))
    result = minimize(
        lambda x: true(x) + 0.05 * start * rng.standard_normal(),
        np.zeros(D),
        k=K,
        max_queries=1_500,
        rng=seed,
    )
    assert true(result.x) < 0.01 * start


@most_seeds
def test_given_units_are_not_looked_for(seed):
    rng = np.random.default_rng([seed, 5])
    true = parabola(1.0)
    result = minimize(
        lambda x: true(x) + 0.01 * rng.standard_normal(),
        Variables(np.zeros(D), unit=1.0),
        k=K,
        max_queries=400,
        rng=seed,
    )
    assert not any("unit" in line for line in result.explain)


def sensed(*, signal, sure, slope):
    nothing = np.empty(0)
    recovery = CrossValidatedRecovery(
        order=np.empty(0, dtype=np.intp),
        slopes=nothing,
        size=0,
        z=nothing,
        r2=0.0,
        t=0.0,
        signal=signal,
        rows=40,
        error=0.0,
    )
    return Sensed(
        recovery=recovery, sure=sure, length=0.1, noise=NoiseModel(), cost=40, slope=slope
    )


@pytest.mark.parametrize(
    ("signal", "sure", "slope", "explained"),
    [
        (1.0, False, 0.8, False),
        (1.0, True, 0.8, True),
        (0.3, False, 0.8, True),
        (1.0, False, 0.05, True),
    ],
)
def test_slopes_that_nothing_explains_are_no_evidence(signal, sure, slope, explained):
    """As those of a median of residuals, along most coordinates, which lead nowhere."""
    asked = Asked(parabola(1.0))
    parts = asked.parts()
    search = NoisySearch(
        values=parts.values,
        k=K,
        noise=parts.noise,
        rng=parts.rng,
        x=parts.x,
        start=Location(parts.value, SIGMA),
        explain=lambda _: None,
        report=lambda *_: None,
    )
    found = sensed(signal=signal, sure=sure, slope=slope)
    assert search._is_explained(found, 1.0) is explained


def test_a_coordinate_that_rows_do_not_see_is_found_by_single_steps():
    """Along all coordinates at once this function is flat beyond its valley."""

    def fun(x):
        return 1 - float(np.exp(-2 * ((x - TARGET) ** 2).sum()))

    asked = Asked(fun)
    parts = asked.parts()
    x = TARGET.copy()
    x[51] = 0
    steps = best_single_step(parts.values, x, fun(x), parts.noise)
    found = finish(steps)
    assert np.flatnonzero(found).tolist() == [7, 30, 51]
    assert finish(best_single_step(parts.values, TARGET, 0.0, parts.noise)) is None


def test_the_least_of_many_values_is_not_believed():
    asked = Asked(lambda _: 0.0, sigma=SIGMA)
    parts = asked.parts()
    parts.noise = NoiseModel(sigma=SIGMA / 10)  # an error that was taken for ten times smaller
    assert finish(best_single_step(parts.values, TARGET, 0.0, parts.noise)) is None
