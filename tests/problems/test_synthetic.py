"""The paper's quadratics and the sparse models: known numbers, powers that agree, bad input."""

import pickle

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht import problems
from szoht.errors import ParameterError, ParameterTypeError
from szoht.problems.recovery import LOSSES

EVERY = [
    problems.quadratic(60, 4, k=6),
    problems.quadratic(60, 4, version="paper"),
    problems.sensitivity(60, 2, k=9),
    problems.sensitivity(400, 2, version="paper"),
    *(problems.recovery(40, 30, 3, loss=loss, rng=3) for loss in LOSSES),
    problems.recovery(40, 30, 3, correlation=0.6, ridge=0.2, rng=3),
    problems.recovery(40, 30, 3, loss="logistic", finite_sum=True, rng=3),
]


@pytest.mark.parametrize("problem", EVERY, ids=lambda problem: problem.name)
def test_powers_agree_and_facts_hold(problem):
    rng = np.random.default_rng(0)
    f, d = problem.objective, problem.dimension
    sample = None if f.n_samples is None else rng.integers(f.n_samples, size=7)
    x = rng.standard_normal(d)
    points = x + rng.standard_normal((5, d))
    one_by_one = [f.value(point, sample) for point in points]
    assert np.allclose(f.values(points, sample), one_by_one, rtol=1e-12)
    if f.along is not None:
        indices = np.array([rng.choice(d, 4, replace=False) for _ in range(5)])
        offsets = rng.standard_normal((5, 4))
        moved = np.tile(x, (5, 1))
        np.put_along_axis(moved, indices, np.take_along_axis(moved, indices, 1) + offsets, 1)
        assert np.allclose(f.along(x, indices, offsets, sample), f.values(moved, sample))
    if f.gradient is not None:
        step = 1e-6 * np.eye(d)
        slopes = (f.values(x + step, sample) - f.values(x - step, sample)) / 2e-6
        assert np.allclose(f.gradient(x, sample), slopes, atol=1e-5 * (1 + np.abs(slopes).max()))
    assert f.value(problem.best_x, None) == pytest.approx(problem.best, abs=1e-15)
    assert problem.constraint.contains(problem.best_x)
    assert problem.best <= f.value(problem.constraint.prox(problem.x0, 1.0), None)
    assert problem.citation
    pickle.dumps(f)


@pytest.mark.parametrize(
    ("version", "value", "distance"), [("corrected", 1.10, 1.483), ("paper", 0.732, 1.210)]
)
def test_dimension_experiment(version, value, distance):
    problem = problems.quadratic(5000, 5, version=version)
    assert problem.objective.value(problem.x0, None) == pytest.approx(value, abs=1e-3)
    assert np.linalg.norm(problem.x0 - problem.best_x) == pytest.approx(distance, abs=1e-3)
    assert problem.settings["q"] == 2014
    assert problem.k == 500
    assert (problem.best_support == np.arange(4995, 5000)).all()


def test_sensitivity_experiment():
    problem = problems.sensitivity()
    assert problem.objective.value(problem.x0, None) == pytest.approx(0.01631, abs=5e-6)
    assert np.linalg.norm(problem.reference) == pytest.approx(2.2352, abs=5e-5)
    # where f ends: every entry of b is found
    assert np.linalg.norm(problem.best_x - problem.reference) == pytest.approx(2.2201, abs=5e-4)
    assert problem.best == 0
    assert problem.k == 370
    steps = {q: problems.sensitivity(q=q).settings["step_size"] for q in (1, 200, 5000)}
    assert steps == pytest.approx({1: 0.00017, 200: 0.02573, 5000: 0.09809}, abs=5e-6)


def test_the_printed_sensitivity_objective_cannot_reach_zero():
    problem = problems.sensitivity(version="paper")
    relevant = problem.objective.gradient(np.zeros(5000), None)
    assert np.count_nonzero(relevant) == 396  # more than k
    assert 9e-4 < problem.best < 1.04e-3


@most_seeds
def test_minimize_takes_a_problem_apart(seed):
    problem = problems.quadratic(200, 3)
    result = szoht.minimize(
        problem.objective, problem.x0, k=problem.k, method="auto", max_queries=500, rng=seed
    )
    assert result.support.tolist() == problem.best_support.tolist()


def test_recovery_is_decided_by_its_seed():
    one, same, other = (problems.recovery(20, 30, 3, rng=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.reference, same.reference)
    assert one.best == same.best != other.best


def test_recovery_refits_the_model():
    """On the support of the truth nothing is better, up to second order."""
    for loss in ("squares", "logistic", "poisson"):
        problem = problems.recovery(80, 20, 3, loss=loss, ridge=0.01, rng=1)
        slopes = problem.objective.gradient(problem.best_x, None)[problem.best_support]
        assert np.abs(slopes).max() < 1e-6
        assert problem.best < problem.objective.value(problem.reference, None)


def test_smoothness_bounds_the_curvature():
    rng = np.random.default_rng(0)
    for loss in ("squares", "logistic"):
        problem = problems.recovery(30, 10, 3, loss=loss, ridge=0.1, rng=2)
        a, b = rng.standard_normal((2, 50, 10))
        f = problem.objective
        change = [f.gradient(x, None) - f.gradient(y, None) for x, y in zip(a, b, strict=True)]
        ratio = np.linalg.norm(change, axis=1) / np.linalg.norm(a - b, axis=1)
        assert ratio.max() <= problem.constants["smoothness"] * (1 + 1e-12)


def test_problems_are_read_only():
    problem = problems.quadratic(60, 4)
    with pytest.raises(TypeError):
        problem.constants["smoothness"] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        problem.x0[0] = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: problems.quadratic(1, 1), "`d` must be an integer in"),
        (lambda: problems.quadratic(10, 10), "`k_star` must be an integer in [1, d - 1]"),
        (lambda: problems.quadratic(10, 4, k=3), "`k` must be an integer in [4, d]"),
        (lambda: problems.quadratic(10, 4, version="printed"), "`version` must be one of"),
        (lambda: problems.sensitivity(100, 5), "`k` must be an integer in [5, 49]"),
        (lambda: problems.recovery(loss="hinge"), "`loss` must be one of"),
        (lambda: problems.recovery(correlation=1.0), "`correlation` must be"),
        (lambda: problems.recovery(noise=-1.0), "`noise` must be"),
        (lambda: problems.recovery(d=5, k_star=6), "`k_star` must be an integer in [1, d]"),
        (lambda: problems.recovery(20, 5, 2, loss="auc", finite_sum=True), "`finite_sum` needs"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)


def test_wrong_kinds():
    with pytest.raises(ParameterTypeError, match="`d` must be an integer"):
        problems.quadratic(10.0, 4)
