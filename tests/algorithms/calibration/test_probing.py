"""Probes: all variables at once, never outside the bounds, integers by whole steps."""

import numpy as np
import pytest

from szoht.algorithms.calibration.probing import Domain
from szoht.operators import Sparse, SparseBox

D = 40


def domain(low=-np.inf, high=np.inf, grid=None):
    return Domain.of(SparseBox(3, low=np.full(D, low), high=np.full(D, high)), D, grid)


def draw(subject, center, count=50, length=0.05):
    generator = np.random.default_rng(0)
    return [subject.sign_probe(generator, center, length) for _ in range(count)]


def test_units_are_quarters_of_a_box_or_natural_changes():
    assert Domain.of(Sparse(2), D, None).unit.tolist() == [1.0] * D
    assert domain(-0.5, 0.5).unit.tolist() == [0.25] * D
    assert domain(-4.0, 4.0).unit.tolist() == [1.0] * D
    subject = domain(-0.5, 0.5)
    point = np.linspace(-2, 2, D)
    np.testing.assert_allclose(subject.from_z(subject.to_z(point)), point)
    assert subject.to_z(np.full(D, 9.0)).tolist() == [0.5] * D, "never outside the bounds"
    assert subject.to_z(np.full(D, -9.0)).tolist() == [-0.5] * D


@pytest.mark.parametrize("where", ["low", "inside", "high", "near"])
def test_probes_keep_within_bounds(where):
    subject = domain(0.0, 1.0)
    center = {
        "low": subject.low,
        "inside": 0.5 * (subject.low + subject.high),
        "high": subject.high,
        "near": subject.low + 0.03,
    }[where]
    probes = draw(subject, center)
    for probe in probes:
        z = subject.to_z(center + probe.step)
        assert (z >= 0).all()
        assert (z <= 1).all()
        np.testing.assert_allclose(subject.to_z(center + probe.step), (center + probe.step) / 4)
    rows = np.array([probe.row for probe in probes])
    np.testing.assert_allclose(np.abs(rows), np.abs(rows[0, 0]))
    assert (np.abs(rows.mean(axis=0)) < 0.5 * np.abs(rows[0, 0])).all(), "both ways"


def test_a_row_is_the_step_apart_from_its_mean():
    subject = domain(0.0, 1.0)
    steps, rows = map(np.array, zip(*draw(subject, subject.low), strict=True))
    assert set(np.unique(steps)) == {0.0, 0.1}
    np.testing.assert_allclose(steps - rows, 0.05)


def test_integers_move_by_whole_steps():
    grid = np.where(np.arange(D) < 10, 1 / 12, 0.0)
    subject = domain(0.0, 1.0, grid)
    for probe in draw(subject, subject.from_z(np.full(D, 0.5))):
        steps = subject.unit * probe.step * 12
        np.testing.assert_allclose(np.abs(steps[:10]), 1.0)
        np.testing.assert_allclose(np.abs(probe.step[10:]), 0.05)


def test_fixed_variables_stay():
    low, high = np.zeros(D), np.zeros(D)
    high[1:] = 1.0
    subject = Domain.of(SparseBox(3, low=low, high=high), D, None)
    for probe in draw(subject, np.zeros(D)):
        assert probe.step[0] == probe.row[0] == 0


def test_a_share_of_the_variables_takes_part():
    generator = np.random.default_rng(0)
    subject = domain()
    moved = [
        np.count_nonzero(subject.sign_probe(generator, np.zeros(D), 0.1, share=0.25).step)
        for _ in range(50)
    ]
    assert 5 < np.mean(moved) < 15


def test_shorter_steps_of_integers_are_whole():
    grid = np.where(np.arange(D) < 10, 1 / 12, 0.0)
    subject = domain(0.0, 1.0, grid)
    step = subject.toward_zero(np.linspace(-1, 1, D))
    whole = subject.unit * step * 12
    np.testing.assert_allclose(whole[:10], np.rint(whole[:10]))
    assert (np.abs(step) <= np.abs(np.linspace(-1, 1, D)) + 1e-12).all()
    np.testing.assert_array_equal(step[10:], np.linspace(-1, 1, D)[10:])


def test_steps_turn_back_at_bounds():
    subject = domain(0.0, 1.0)
    step = subject.within(subject.high, np.full(D, 0.1))
    np.testing.assert_allclose(step, -0.1)
    step = subject.within(subject.high, np.full(D, 5.0))
    assert not step.any(), "more than the box"
