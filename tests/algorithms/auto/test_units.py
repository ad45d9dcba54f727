"""Units that are not given are found out, one for all coordinates or one for each."""

import numpy as np
import pytest

from outcomes import most_seeds
from szoht import Status, minimize

D, K = 60, 3
RNG = np.random.default_rng(11)
TARGET = np.zeros(D)
TARGET[[4, 30, 51]] = [1.0, -0.7, 1.3]
MATRIX = RNG.standard_normal((45, D))
SIGNS = RNG.choice([-1.0, 1.0], D)

FUNCTIONS = {
    "dense gradient": lambda z: float(((MATRIX @ (z - TARGET)) ** 2).mean()),
    "saturating": lambda z: 1 - float(np.exp(-0.3 * ((z - TARGET) ** 2).sum())),
    "linear far away": lambda z: float(np.log(np.cosh(2 * (z - TARGET))).sum()),
}


def solve(fun, unit, seed=0, **settings):
    with np.errstate(over="ignore"):
        return minimize(
            lambda x: fun(x / unit),
            np.zeros(D),
            k=K,
            target=1e-6 * fun(np.zeros(D)),
            max_queries=2_000,
            rng=seed,
            on_error="skip",
            **settings,
        )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", [1e-7, 1e-3, 1e4])
@most_seeds
def test_one_unit_for_all(seed, name, size):
    result = solve(FUNCTIONS[name], size, seed)
    assert result.status is Status.TARGET
    assert result.nfev < 500


@pytest.mark.parametrize("name", FUNCTIONS)
@most_seeds
def test_units_that_differ_by_a_million(name, seed):
    unit = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, D)
    assert solve(FUNCTIONS[name], unit, seed).status is Status.TARGET


@most_seeds
def test_units_that_differ_are_said_to_and_cost_a_query_per_axis(seed):
    unit = 10.0 ** np.random.default_rng(1).uniform(-2, 2, D)
    plain = solve(FUNCTIONS["dense gradient"], np.ones(D), seed)
    mixed = solve(FUNCTIONS["dense gradient"], unit, seed)
    assert not any("units differ" in line for line in plain.explain)
    assert any("units differ" in line for line in mixed.explain)
    assert mixed.nfev <= 3 * plain.nfev + D


@pytest.mark.parametrize("frequency", [1e4, 1e6])
@most_seeds
def test_a_ripple_is_an_error_and_no_unit(seed, frequency):
    def rippled(x):
        wave = np.sin(frequency * float(SIGNS @ x) / np.sqrt(D))
        return float(((x - TARGET) ** 2).sum()) + 1e-3 * wave

    result = minimize(rippled, np.zeros(D), k=K, max_queries=1_000, rng=seed)
    assert not any("taken as the unit" in line for line in result.explain)
    assert ((result.x - TARGET) ** 2).sum() < 0.1  # of 3.2
