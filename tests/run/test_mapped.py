"""The user's function as a function of z."""

import numpy as np

import szoht
from szoht.core.objective import Objective
from szoht.run.mapped import map_objective


def test_offsets_stay_inside_after_rounding():
    """``x + offset``, which the function adds up itself, is rounded, too."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        width = 10.0 ** rng.uniform(-9, 9, 5)
        low = rng.normal(size=5) * 10.0 ** rng.uniform(-3, 3, 5)
        high = low + width
        nominal = np.clip(low + rng.random(5) * width, low, high)
        v = szoht.Variables(nominal, low=low, high=high)
        points = []

        def along(x, indices, offsets, sample, points=points):
            points.append(x[indices] + offsets)
            return np.zeros(len(indices))

        mapped = map_objective(Objective(value=lambda x, sample: 0.0, along=along), v)
        z = v.to_z(low + rng.random(5) * width)
        indices = np.tile(np.arange(5), (8, 1))
        mapped.along(z, indices, rng.normal(size=(8, 5)) * 2, None)
        assert (points[0] >= v.low).all()
        assert (points[0] <= v.high).all()


def test_without_variables_nothing_is_wrapped():
    objective = Objective(value=lambda x, sample: 0.0)
    assert map_objective(objective, None) is objective
