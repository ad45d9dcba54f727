"""`minimize(..., returns="components")`: all that a function returns is learned from."""

import numpy as np
import pytest

import szoht
from outcomes import always, most_seeds
from szoht.errors import CapabilityError, ParameterError

D, N = 60, 25


@pytest.fixture
def regression():
    generator = np.random.default_rng(0)
    matrix = np.zeros((N, D))
    matrix[:, ::5] = generator.standard_normal((N, 12))
    truth = np.zeros(D)
    truth[[10, 35]] = [1.0, -0.7]
    return matrix, truth


@most_seeds
def test_squared_errors(seed, regression):
    matrix, truth = regression
    calls = []

    def squares(x):
        calls.append(x)
        return (matrix @ (x - truth)) ** 2

    result = szoht.minimize(
        squares, np.zeros(D), k=2, returns="components", max_queries=150, rng=seed
    )
    always(result.fun == pytest.approx(float(((matrix @ (result.x - truth)) ** 2).mean())))
    always(result.nfev == len(calls))
    np.testing.assert_array_equal(result.support, [10, 35])
    assert result.fun < 1e-3


@most_seeds
def test_logistic_losses(seed, regression):
    matrix, truth = regression
    generator = np.random.default_rng(1)
    matrix = np.repeat(matrix, 8, axis=0)
    labels = np.where(generator.random(8 * N) < 1 / (1 + np.exp(-3 * matrix @ truth)), 1.0, -1.0)

    def losses(x):
        return np.log1p(np.exp(-labels * (matrix @ x)))

    result = szoht.minimize(
        losses, np.zeros(D), k=2, returns="components", max_queries=80, rng=seed
    )
    np.testing.assert_array_equal(result.support, [10, 35])
    assert result.fun <= losses(3 * truth).mean()


@most_seeds
def test_variables_and_a_store(seed, tmp_path, regression):
    matrix, truth = regression
    knobs = szoht.Variables(np.ones(D), low=-2.0, high=3.0)

    def squares(x):
        return (matrix @ (x - 1 - truth)) ** 2

    path = tmp_path / f"runs{seed}.db"
    part = szoht.minimize(
        squares, knobs, k=2, returns="components", max_queries=20, rng=seed, store=path
    )
    assert part.nfev == 20
    more = szoht.resume(path, squares, run=part.run, max_queries=60)
    np.testing.assert_array_equal(more.support, [10, 35])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "szoht"}, CapabilityError, "`method`"),
        ({"maximize": True}, CapabilityError, "`maximize`"),
        ({"k": None, "constraint": szoht.L1Ball(1.0)}, CapabilityError, "Sparse or SparseBox"),
        ({"returns": "vector"}, ParameterError, "`returns` must be one of"),
    ],
)
def test_what_components_do_not_go_with(options, error, message):
    def never(x):
        raise AssertionError

    with pytest.raises(error, match=message):
        szoht.minimize(never, np.zeros(4), **({"k": 2, "returns": "components"} | options))


def test_negative_components_are_refused():
    result = szoht.minimize(
        lambda x: np.array([x[0] - 1.0, 1.0]), np.zeros(4), k=1, returns="components", rng=0
    )
    assert result.status is szoht.Status.FAILED
    assert "component 0 is -1" in result.message
