"""What dropping a coordinate costs."""

import numpy as np

from szoht.algorithms.auto.records import Curvature
from szoht.types import Indices, Vector

__all__ = ["MOST_WORTH", "importance"]

MOST_WORTH = 1e100
"""What an atom is worth without which f fails."""

SPREAD = 100.0
"""Curvatures closer than this factor are taken to be equal when coordinates are dropped."""


def importance(z: Vector, support: Indices, curvature: Curvature | None) -> Vector:
    """Return what dropping each coordinate costs by the quadratic model, z_i^2 H_ii / 2.

    Without curvature, or where curvatures are alike, only the size counts. That the others may
    follow, z_i^2 / (2 [H^-1]_ii) (Hassibi and Stork 1993), ranks worse here: a quasi-Newton inverse
    after a few steps does not know how they would, and where f does not depend on the
    length of z (portfolios) they all would follow to zero.
    """
    values = z[support]
    if curvature is None or not np.isin(support, curvature.support).all():
        return np.asarray(values**2)
    place = np.searchsorted(curvature.support, support)
    try:
        own = np.abs(np.diag(np.linalg.inv(curvature.inverse))[place])
    except np.linalg.LinAlgError:
        return np.asarray(values**2)
    if not own.max() > SPREAD * own.min():
        return np.asarray(values**2)
    return np.asarray(0.5 * values**2 * own)
