"""Matrices of low rank: queries to a target, the geometry, honest endings."""

import numpy as np
import pytest

from interrupts import interrupted
from outcomes import always, most_seeds
from szoht import LowRank, minimize, resume
from szoht.algorithms.auto.low_rank.tangent import OuterProducts, TangentSpace


def matrix(seed, shape, r):
    rng = np.random.default_rng(seed)
    p, q = shape
    return rng.standard_normal((p, r)) @ rng.standard_normal((r, q)) / np.sqrt(r)


def problem(kind, seed, shape=(30, 30), r=2):
    best = matrix(seed, shape, r).ravel()
    if kind == "quadratic":
        return lambda x: 0.5 * float(((x - best) ** 2).sum())
    if kind == "log-cosh":
        return lambda x: float((np.logaddexp(x - best, best - x) - np.log(2)).sum())
    seen = np.random.default_rng(seed + 100).random(best.size) < 0.5
    return lambda x: 0.5 * float(((x - best)[seen] ** 2).sum())


@pytest.mark.parametrize(
    ("kind", "most"), [("quadratic", 135), ("log-cosh", 700), ("completion", 2500)]
)
@most_seeds
def test_a_matrix_of_rank_two_is_found(kind, most, seed):
    fun, zero = problem(kind, seed), np.zeros(900)
    constraint = LowRank(2, (30, 30))
    result = minimize(
        fun, zero, constraint=constraint, target=1e-3 * fun(zero), max_queries=most, rng=seed
    )
    always(constraint.contains(result.x))
    assert result.status.name == "TARGET"


@pytest.mark.parametrize(("shape", "r"), [((4, 7), 2), ((7, 4), 3), ((1, 6), 1), ((5, 5), 5)])
def test_tangent_spaces(shape, r):
    rng = np.random.default_rng(0)
    here, gradient = matrix(0, shape, r), rng.standard_normal(shape)
    space = TangentSpace(here, r)
    ((_, rows),) = space.probes().slices(0, space.probes().count)
    p, q = shape
    assert len(rows) == r * (p + q - r)
    np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)
    tangent = space.gradient(rows @ gradient.ravel())
    np.testing.assert_allclose(tangent, space.project(gradient), atol=1e-12)
    np.testing.assert_allclose(space.project(tangent), tangent, atol=1e-12)
    np.testing.assert_allclose(tangent.ravel(), rows.T @ (rows @ gradient.ravel()), atol=1e-12)
    # a short step on the manifold is the tangent step, up to the square of its length
    end = space.retract(1e-5 * tangent)
    assert np.linalg.matrix_rank(end, tol=1e-9) <= r
    np.testing.assert_allclose(end, here + 1e-5 * tangent, atol=1e-8)


def test_products_come_in_slices():
    rng = np.random.default_rng(0)
    products = OuterProducts(left=rng.standard_normal((9, 3)), right=rng.standard_normal((9, 4)))
    whole = np.concatenate([values for _, values in products.slices(2, 8)])
    expected = [np.outer(a, b).ravel() for a, b in zip(products.left, products.right, strict=True)]
    np.testing.assert_array_equal(whole, expected[2:8])


@most_seeds
def test_a_minimum_is_proved_by_restarts(seed):
    result = minimize(
        problem("quadratic", 0, (8, 6)), np.zeros(48), constraint=LowRank(2, (8, 6)), rng=seed
    )
    assert result.status.name == "CONVERGED"
    assert result.fun < 1e-10
    assert result.nfev < 1500


@pytest.mark.parametrize(
    ("fun", "status"),
    [
        (lambda x: 1.0, {"NO_PROGRESS"}),
        (lambda x: -float((x**2).sum()), {"UNBOUNDED"}),
        (lambda x: float(np.abs(x - 0.1).sum()), {"QUERIES", "EXHAUSTED", "CONVERGED"}),
    ],
    ids=["flat", "unbounded", "kinks"],
)
@most_seeds
def test_endings(seed, fun, status):
    constraint = LowRank(2, (6, 5))
    result = minimize(fun, np.zeros(30), constraint=constraint, max_queries=1500, rng=seed)
    always(constraint.contains(result.x))
    assert result.status.name in status


@pytest.mark.parametrize("budget", [1, 12, 40, 90])
def test_small_budgets_are_spent(budget):
    fun, constraint = problem("log-cosh", 1, (8, 6)), LowRank(2, (8, 6))
    result = minimize(fun, np.zeros(48), constraint=constraint, max_queries=budget, rng=0)
    assert result.nfev == budget
    assert constraint.contains(result.x)


@most_seeds
def test_noise_is_handed_over_and_said(seed):
    fun, rng = problem("quadratic", 0, (8, 6)), np.random.default_rng(seed)
    constraint = LowRank(2, (8, 6))
    result = minimize(
        lambda x: fun(x) + 0.01 * rng.standard_normal(),
        np.zeros(48),
        constraint=constraint,
        max_queries=1500,
        rng=seed,
    )
    always(constraint.contains(result.x))
    assert any("handed to `szoht`" in line for line in result.explain)
    assert fun(result.x) < 0.2 * fun(np.zeros(48))


class Stopped:
    """A function that is interrupted at some call."""

    def __init__(self, at=None):
        self.at, self.calls, self.fun = at, 0, problem("log-cosh", 2, (8, 6))

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.fun(x)


def test_a_stored_run_goes_on_as_if_it_had_not_stopped(tmp_path):
    settings = {"constraint": LowRank(2, (8, 6)), "max_queries": 200, "rng": 0}
    whole = minimize(Stopped(), np.zeros(48), **settings)
    interrupted(minimize, Stopped(at=120), np.zeros(48), store=tmp_path / "run", **settings)
    rest = resume(tmp_path / "run", Stopped())
    assert (rest.nfev, rest.fun) == (whole.nfev, whole.fun)
