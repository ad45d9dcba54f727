"""Weights of which none is negative: what one of them promises, and what it is worth."""

import numpy as np

from szoht.algorithms.auto.records import Curvature
from szoht.algorithms.auto.restricted.simplex_model import worth
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["LongOnly"]


class LongOnly:
    """How structures rank atoms that are weights with a given sum, none of them negative."""

    def promise(self, slopes: Vector) -> Vector:
        """Return the slopes downhill: there is no way back from zero."""
        return np.maximum(-slopes, 0.0)

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the ``size`` weights of steepest descent, some of them left out."""
        score = self.promise(slopes)
        score[without] = 0.0
        return largest(score, size)

    def importance(self, z: Vector, atoms: list[Indices], curvature: Curvature | None) -> Vector:
        """Return what dropping each of some weights would cost, the others following."""
        support = np.concatenate(atoms)
        if curvature is None or not np.isin(support, curvature.support).all():
            return np.asarray(z[support] ** 2)
        place = np.searchsorted(curvature.support, support)
        return worth(z[support], curvature.inverse[np.ix_(place, place)])
