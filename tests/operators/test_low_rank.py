"""Matrices of low rank: the nearest one, and which belong to the set."""

import numpy as np
import pytest

from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import LowRank


def test_what_is_lost_are_the_smallest_singular_values():
    rng = np.random.default_rng(0)
    for rows, columns in ((4, 7), (7, 4), (5, 5)):
        y = rng.standard_normal((rows, columns))
        values = np.linalg.svd(y, compute_uv=False)
        for r in range(1, 5):
            operator = LowRank(r, shape=(rows, columns))
            x = operator.prox(y.ravel(), 1.0)
            assert operator.contains(x)
            assert ((x - y.ravel()) ** 2).sum() == pytest.approx((values[r:] ** 2).sum())
            # at least as near as alternating least squares from other starts
            u = rng.standard_normal((rows, r))
            for _ in range(200):
                v = np.linalg.lstsq(u, y, rcond=None)[0]
                u = np.linalg.lstsq(v.T, y.T, rcond=None)[0].T
            assert ((x - y.ravel()) ** 2).sum() <= ((u @ v - y) ** 2).sum() * (1 + 1e-9)


def test_rank_is_counted_up_to_rounding():
    operator = LowRank(1, shape=(2, 3))
    one = np.outer([1.0, 2.0], [1.0, 3.0, -1.0])
    assert operator.contains(one.ravel())
    assert operator.contains(np.zeros(6))
    assert operator.contains((one + 1e-14).ravel())
    assert not operator.contains((one + np.eye(2, 3)).ravel())
    assert operator.degrees_of_freedom == 4


@pytest.mark.parametrize(
    ("r", "shape", "complaint"),
    [
        (0, (2, 3), "`r` must be an integer in"),
        (3, (2, 3), r"got r=3 with min\(shape\)=2"),
        (1, 6, r"`shape` must be \(rows, columns\)"),
        (1, (2, 2), "got 2 x 2 = 4 with d=6"),
    ],
)
def test_matrices_that_make_no_sense(r, shape, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        LowRank(r, shape).check(6)
