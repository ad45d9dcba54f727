"""Supports compared by expected misfit: against all supports, within bounds, on the grid."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.supports import MisfitModel, solve_in_box

C = 9


def model(*, seed=0, damping=0.0, center=None, width=np.inf, grid=0.0):
    generator = np.random.default_rng(seed)
    root = 0.2 * generator.standard_normal((C, C))
    return MisfitModel(
        residuals=generator.standard_normal(6),
        jacobian=generator.standard_normal((6, C)),
        uncertainty=root @ root.T,
        damping=damping,
        center=np.zeros(C) if center is None else center,
        low=np.full(C, -width),
        high=np.full(C, width),
        grid=np.full(C, grid),
        policy=CalibrationPolicy(),
    )


def expected_misfit(model, values):
    """The formula of the module, term by term."""
    step = values - model.center
    sizes = (model.jacobian**2).sum(axis=0)
    return (
        ((model.residuals + model.jacobian @ step) ** 2).sum()
        + step @ model.uncertainty @ step
        + model.damping * (sizes * step**4).sum()
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("moved", [False, True])
def test_the_best_support_is_found(seed, moved):
    center = np.zeros(C)
    center[[1, 4, 5]] = [0.5, -1.0, 0.2] if moved else 0.0
    subject = model(seed=seed, center=center)
    all_misfits = {support: subject.solve(support).misfit for support in combinations(range(C), 3)}
    best = min(all_misfits, key=all_misfits.get)
    found = subject.search(3, 5)
    assert found[0].support == best
    assert [one.misfit for one in found] == sorted(one.misfit for one in found)


def test_much_damping_keeps_near_the_center():
    center = np.zeros(C)
    center[[1, 4]] = 0.7, -0.5
    values = model(damping=1e6, center=center).solve((1, 4)).values
    np.testing.assert_allclose(values, center, atol=0.05)


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_the_misfit_of_a_candidate_is_the_formula(damping):
    center = np.zeros(C)
    center[2] = 0.7
    subject = model(damping=damping, center=center)
    for candidate in subject.search(2, 6):
        assert candidate.misfit == pytest.approx(expected_misfit(subject, candidate.values))


def test_a_solution_on_a_support_is_a_minimum():
    subject = model()
    candidate = subject.solve((0, 3))
    for i in (0, 3):
        for change in (-1e-3, 1e-3):
            values = candidate.values.copy()
            values[i] += change
            assert expected_misfit(subject, values) > candidate.misfit


def test_damping_shortens_moves():
    lengths = [np.linalg.norm(model(damping=mu).solve((0, 3)).values) for mu in (0.0, 0.1, 3.0)]
    assert lengths[0] > lengths[1] > lengths[2] > 0


def test_tabu_supports_are_left_out():
    subject = model()
    first = subject.search(2, 1)[0]
    assert subject.search(2, 1, {first.support})[0].support != first.support


def test_candidates_keep_within_bounds():
    subject = model(width=0.1)
    for candidate in subject.search(3, 10):
        assert np.abs(candidate.values).max() <= 0.1


def test_integers_are_on_the_grid():
    candidate = model(grid=0.25).solve((0, 1, 2))
    np.testing.assert_array_equal(candidate.values, np.rint(candidate.values / 0.25) * 0.25)
    assert candidate.values.any()


def test_a_box_that_binds_one_variable():
    generator = np.random.default_rng(5)
    matrix, target = generator.standard_normal((8, 3)), generator.standard_normal(8)
    free = np.linalg.lstsq(matrix, target, rcond=None)[0]
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    high[0] = free[0] - 0.1
    found = solve_in_box(matrix.T @ matrix, matrix.T @ target, low, high)
    np.testing.assert_allclose(found, lsq_linear(matrix, target, (low, high)).x, atol=1e-8)


def test_an_empty_center_has_no_support():
    assert model().on_current_support() is None


@pytest.fixture
def moved():
    """Return a model around a minimum on columns 1 and 4, without uncertainty."""
    start = replace(model(), uncertainty=np.zeros((C, C)))
    values = start.solve((1, 4)).values
    residuals = start.residuals + start.jacobian @ values
    return replace(start, residuals=residuals, center=values)


def test_the_gain_of_one_more_is_that_of_the_larger_support(moved):
    here = (moved.residuals**2).sum()
    gains = moved.gains_of_one_more()
    for i in set(range(C)) - {1, 4}:
        larger = moved.solve(tuple(sorted((1, 4, i))))
        assert gains[i] == pytest.approx(here - larger.misfit, rel=1e-6)
    assert gains[[1, 4]].tolist() == [0, 0]


def test_the_gain_of_one_more_keeps_within_bounds(moved):
    bounded = replace(moved, high=np.full(C, 0.01), low=np.full(C, -0.01))
    slope = 2 * np.abs(moved.jacobian.T @ moved.residuals)
    others = np.setdiff1d(np.arange(C), [1, 4])
    assert (bounded.gains_of_one_more()[others] <= 0.01 * slope[others] * (1 + 1e-9)).all()
    assert (bounded.gains_of_one_more() < moved.gains_of_one_more() + 1e-12).all()


def test_exchanges_replace_one_column_each(moved):
    found = moved.exchanges(2, 2)
    assert len(found) == 4
    assert all(len({1, 4} & set(one.support)) == 1 for one in found)
    pairs = [(kept, i) for kept in (1, 4) for i in range(C) if i not in (1, 4)]
    assert found[0].misfit == min(moved.solve(tuple(sorted(pair))).misfit for pair in pairs)
    assert all(len(one.support) == 3 for one in moved.exchanges(3, 2)), "there is room for one more"


def test_more_columns_than_outputs_take_the_shortest_move():
    weak = model()
    jacobian = weak.jacobian.copy()
    jacobian[:, 0] *= 1e-6
    weak = replace(weak, jacobian=jacobian, uncertainty=np.zeros((C, C)), damping=0.01)
    (found,) = weak.search(C, 1)
    assert found.support == tuple(range(C))
    assert ((weak.residuals + jacobian @ found.values) ** 2).sum() < 0.1 * (weak.residuals**2).sum()
    assert abs(found.values[0]) < 0.01, "a column that hardly matters does not move"
