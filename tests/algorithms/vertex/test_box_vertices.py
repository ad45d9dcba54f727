"""The vertices of a box, in groups of coordinates or groups."""

import numpy as np

from szoht import GroupSparse
from szoht.algorithms.vertex.box_vertices import BoxVertices


def test_vertices_of_groups():
    operator = GroupSparse(k=1, groups=[0, 1, 0, 1], low=[-1.0, 0, -0.2, -3], high=[0.5, 2, 0.7, 1])
    vertices = BoxVertices.of(operator, 4)
    assert vertices.coordinates(np.array([1])).tolist() == [1, 3]
    assert vertices.sum_per_group(np.array([1.0, 2, 3, 4])).tolist() == [4, 6]
    assert vertices.far.tolist() == [-1, 2, 0.7, -3]
    moved = vertices.swapped(np.array([1.0, 0, 1, 0]), np.array([0]), np.array([1]), vertices.far)
    assert moved.tolist() == [0, 2, 0, -3]
