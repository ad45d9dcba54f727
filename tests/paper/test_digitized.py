"""Points read off the paper's figures: keyed as the experiments are, from left to right."""

import numpy as np
import pytest

from szoht.paper import experiment_names
from szoht.paper.digitized import _file, digitized_curves
from szoht.paper.methods import PAPER_METHODS


def test_every_entry_belongs_to_an_experiment():
    assert set(_file()) <= set(experiment_names())


@pytest.mark.parametrize("experiment", sorted(_file()))
def test_points_go_from_left_to_right(experiment):
    for curves in digitized_curves(experiment).values():
        for points in curves.values():
            assert points.shape == (len(points), 2)
            assert (np.diff(points[:, 0]) > 0).all()
            assert (points >= 0).all()


@pytest.mark.parametrize("experiment", ["assets", "attacks"])
def test_comparisons_have_all_four_methods(experiment):
    panels = digitized_curves(experiment)
    assert len(panels) == 3
    assert all(tuple(curves) == PAPER_METHODS for curves in panels.values())


def test_values_are_in_full_units():
    """The paper's f on port5 is drawn in 1e-4; the file has it in full."""
    place, value = digitized_curves("assets")["port5"]["szoht"].T
    assert value[list(place).index(10_000)] == 2.7e-4
