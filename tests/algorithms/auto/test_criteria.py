"""How many non-zeros: formulas, dispersions that are known, and answers that are."""

import math
import re

import numpy as np
import pytest
from scipy.special import comb

from outcomes import most_seeds
from szoht import Sparse, minimize
from szoht.algorithms.auto.criteria import best_by, penalty
from szoht.core.algorithm import PathPoint
from szoht.errors import CapabilityError, ParameterError

D, N, TRUE = 20, 200, (3, 8, 15)


def squares(seed, sigma, factor=1.0):
    """Return least squares with three coefficients of five standard errors and more."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((N, D))
    y = sigma * (design[:, list(TRUE)] @ [0.6, -0.8, 1.0] + rng.standard_normal(N))

    def fun(x, sample):
        return factor * float(((design[sample] @ x - y[sample]) ** 2).mean())

    def gradient(x, sample):
        residual = design[sample] @ x - y[sample]
        return 2 * factor * design[sample].T @ residual / len(sample)

    return fun, gradient


def logistic(seed):
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((2 * N, D))
    up = rng.random(2 * N) < 1 / (1 + np.exp(-design[:, list(TRUE)] @ [1.0, -1.2, 1.5]))
    y = np.where(up, 1.0, -1.0)

    def fun(x, sample):
        return float(np.logaddexp(0, -y[sample] * (design[sample] @ x)).mean())

    def gradient(x, sample):
        pull = y[sample] / (1 + np.exp(y[sample] * (design[sample] @ x)))
        return -design[sample].T @ pull / len(sample)

    return fun, gradient


def solve(case, k, n=N, **settings):
    fun, gradient = case
    return minimize(fun, np.zeros(D), k=k, n_samples=n, gradient=gradient, **settings)


@pytest.mark.parametrize("k", [0, 1, 7, 40])
def test_the_formulas(k):
    assert penalty("aic", k, n=300, d=40) == 2 * k
    assert penalty("bic", k, n=300, d=40) == pytest.approx(k * math.log(300))
    extended = k * math.log(300) + 2 * math.log(comb(40, k))
    assert penalty("ebic", k, n=300, d=40) == pytest.approx(extended)


def test_a_criterion_in_numbers():
    # each non-zero gains 6 in 2 n f / scale, the fourth 5: AIC asks for 2, BIC for log(300) = 5.7
    path = [PathPoint(k, np.zeros(9), 1 - 0.02 * k) for k in range(4)]
    path.append(PathPoint(4, np.zeros(9), path[-1].fun - 0.05 / 3))
    chosen = {name: best_by(path, name, n=300, d=9, scale=2.0).k for name in ("aic", "bic", "ebic")}
    assert chosen == {"aic": 4, "bic": 3, "ebic": 0}


@pytest.mark.parametrize("sigma", [0.1, 5.0])
@pytest.mark.parametrize("factor", [0.5, 1.0])
@most_seeds
def test_squares_of_any_size(seed, sigma, factor):
    result = solve(squares(seed, sigma, factor), "ebic", rng=seed)
    assert tuple(result.support) == TRUE
    seen = [
        float(re.search(r"times (\S+)\.$", line)[1]) for line in result.explain if "log p" in line
    ]
    assert seen[-1] == pytest.approx(2 * factor * sigma**2, rel=0.25)


@most_seeds
def test_a_likelihood_has_a_dispersion_of_one(seed):
    result = solve(logistic(seed), "bic", n=2 * N, rng=seed)
    assert set(result.support) >= set(TRUE)
    seen = [
        float(re.search(r"times (\S+)\.$", line)[1]) for line in result.explain if "log p" in line
    ]
    assert seen[-1] == pytest.approx(1, rel=0.25)


@most_seeds
def test_stricter_criteria_choose_fewer(seed):
    case = squares(seed, 1.0)
    sizes = [solve(case, name, rng=seed).support.size for name in ("aic", "bic", "ebic")]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] == 3


@most_seeds
def test_cross_validation(seed):
    result = solve(squares(seed, 1.0), "cv", rng=seed)
    assert set(result.support) >= set(TRUE)
    assert result.support.size <= 5
    assert result.fun == min(point.fun for point in result.path if point.k == result.support.size)


@most_seeds
def test_cross_validation_from_values_alone_ends(seed):
    fun, _ = squares(seed, 1.0)
    result = minimize(fun, np.zeros(D), k="cv", n_samples=N, max_queries=10_000 * N, rng=seed)
    assert set(result.support) >= set(TRUE)
    assert result.nfev < 5_000 * N
    (cost,) = [line for line in result.explain if "a fold takes" in line]
    assert int(re.search(r"(\d+) in all", cost)[1]) < 4_000


@pytest.mark.parametrize("passes", [400, 800, 1_200])
def test_a_budget_that_ends_among_the_folds_answers_on_the_whole(passes):
    fun, _ = squares(1, 1.0)
    result = minimize(fun, np.zeros(D), k="cv", n_samples=N, max_queries=passes * N, rng=0)
    assert not result.success
    assert result.fun == fun(result.x, np.arange(N))
    for point in result.path:
        assert point.fun == fun(point.x, np.arange(N))


@most_seeds
def test_nothing_to_find(seed):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(N)
    design = rng.standard_normal((N, D))

    def fun(x, sample):
        return float(((design[sample] @ x - y[sample]) ** 2).mean())

    result = minimize(fun, np.zeros(D), k="ebic", n_samples=N, rng=seed)
    assert result.support.size == 0


@most_seeds
def test_coordinates_that_are_not_counted(seed):
    fun, gradient = squares(seed, 1.0)
    settings = {"k": "bic", "n_samples": N, "gradient": gradient, "rng": seed, "always": [0, 3]}
    result = minimize(fun, np.zeros(D), **settings)
    assert {8, 15} <= set(result.support)
    assert set(result.support) >= {0, 3}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"k": "bic"}, ParameterError, "got n_samples=None. Pass n_samples=n"),
        ({"k": "hqic", "n_samples": N}, ParameterError, "`k` must be one of"),
        ({"k": "bic", "n_samples": N, "method": "szoht"}, CapabilityError, "the default method"),
        (
            {"k": "bic", "n_samples": N, "constraint": Sparse(3)},
            ParameterError,
            "exclude each other",
        ),
    ],
)
def test_where_a_criterion_says_nothing(settings, error, message):
    with pytest.raises(error, match=message):
        minimize(lambda x, sample=None: float(x @ x), np.zeros(D), **settings)
