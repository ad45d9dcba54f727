"""The vertices of a box, in units of coordinates or groups."""

import numpy as np

from szoht import GroupSparse
from szoht.algorithms.vertex.box_vertices import BoxVertices


def test_corners_of_groups():
    operator = GroupSparse(k=1, groups=[0, 1, 0, 1], low=[-1.0, 0, -0.2, -3], high=[0.5, 2, 0.7, 1])
    corners = BoxVertices.of(operator, 4)
    assert corners.coordinates(np.array([1])).tolist() == [1, 3]
    assert corners.per_unit(np.array([1.0, 2, 3, 4])).tolist() == [4, 6]
    assert corners.far.tolist() == [-1, 2, 0.7, -3]
    moved = corners.exchanged(np.array([1.0, 0, 1, 0]), np.array([0]), np.array([1]), corners.far)
    assert moved.tolist() == [0, 2, 0, -3]
