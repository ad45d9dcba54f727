"""The best k coordinates of a quadratic: exchanges, each worked out by one rank-one update."""

from typing import NamedTuple

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["Quadratic", "best_subset", "exchanged", "ranked_exchanges"]

CURVATURE_FLOOR = 1e-10
"""Curvatures below this share of the largest one are raised to it: a minimum must exist."""

NEGLIGIBLE_EXCHANGE = 1e-9
"""An exchange that gains less than this share of what the support gains is rounding."""

STIFF = 1e4
"""Curvature along a direction that is held, in largest curvatures."""


class Quadratic(NamedTuple):
    """``z -> b' z + z' H z / 2``; coordinates in ``kept`` are in every support."""

    hessian: Vector
    linear: Vector
    kept: Indices

    @classmethod
    def around(
        cls,
        z: Vector,
        slopes: Vector,
        hessian: Vector,
        kept: Indices,
        held: Vector | None = None,
    ) -> "Quadratic":
        """Return the model with these slopes and a Hessian that is made positive definite.

        Steps do not lead along the direction ``held``. One along a direction of negative curvature
        is as long as if it were positive.
        """
        hessian = 0.5 * (hessian + hessian.T)
        if held is not None:
            along = held / np.linalg.norm(held)
            hessian = hessian + STIFF * np.abs(np.diag(hessian)).max() * np.outer(along, along)
        values, vectors = np.linalg.eigh(hessian)
        values = np.abs(values)
        values = np.maximum(values, CURVATURE_FLOOR * max(float(values.max()), 1e-200))
        hessian = (vectors * values) @ vectors.T
        return cls(hessian, slopes - hessian @ z, kept)

    def __call__(self, z: Vector) -> float:
        """Return the value of the model."""
        return float(z @ self.linear) + 0.5 * float(z @ self.hessian @ z)

    def minimum(self, support: Indices) -> tuple[Vector, Vector, float]:
        """Return where the model is least on a support, its inverse Hessian, and its gain there."""
        block = self.hessian[np.ix_(support, support)]
        inverse = np.asarray(np.linalg.inv(block), dtype=np.float64)
        z = -inverse @ self.linear[support]
        return z, inverse, -0.5 * float(self.linear[support] @ z)


def best_subset(
    model: Quadratic, start: Indices, *, restarts: int, generator: np.random.Generator
) -> tuple[Indices, float]:
    """Return the best support found that is as large as ``start``, and what the model gains there.

    Exchanges of one coordinate for another lead to a local optimum; from there a third is replaced
    at random, again and again.
    """
    best, gain = _exchange(model, start)
    movable = np.setdiff1d(np.arange(model.linear.size), model.kept)
    for _ in range(restarts):
        inside = np.intersect1d(best, movable)
        outside = np.setdiff1d(movable, best)
        count = min(max(1, inside.size // 3), outside.size)
        if count == 0 or inside.size == 0:
            break
        out = generator.choice(inside, count, replace=False)
        new = generator.choice(outside, count, replace=False)
        other, other_gain = _exchange(model, np.union1d(np.setdiff1d(best, out), new))
        if other_gain > gain * (1 + NEGLIGIBLE_EXCHANGE):
            best, gain = other, other_gain
    return best, gain


def _exchange(model: Quadratic, support: Indices) -> tuple[Indices, float]:
    """Exchange the pair that gains most until none does."""
    gain = model.minimum(support)[2]
    for _ in range(model.linear.size):
        pairs, net = ranked_exchanges(model, support, 1)
        if not (net.size and net[0] > NEGLIGIBLE_EXCHANGE * gain):
            break
        support, gain = exchanged(support, pairs[0]), gain + float(net[0])
    return support, model.minimum(support)[2]


def exchanged(support: Indices, pair: Indices) -> Indices:
    """Return the support without the first coordinate of the pair and with the second."""
    return np.union1d(np.setdiff1d(support, pair[:1]), pair[1:])


def ranked_exchanges(model: Quadratic, support: Indices, count: int) -> tuple[Indices, Vector]:
    """Return the pairs (out, in) that gain most in the model, the best first, and what each gains.

    With P the inverse Hessian on the support T and u the minimum there, dropping i costs
    u_i^2 / (2 P_ii), and then adding j gains r^2 / (2 s), where r is the slope of j and s its
    curvature once the others follow.
    """
    hessian, linear = model.hessian, model.linear
    movable = ~np.isin(np.arange(linear.size), model.kept)
    z, inverse, _ = model.minimum(support)
    inside = np.flatnonzero(movable[support])
    outside = np.setdiff1d(np.flatnonzero(movable), support)
    across = hessian[np.ix_(outside, support)]
    follow = across @ inverse
    slopes = linear[outside] + across @ z
    curved = np.diag(hessian)[outside] - np.einsum("ij,ij->i", follow, across)
    own, follow = np.diag(inverse)[inside], follow[:, inside]
    slopes = slopes[:, np.newaxis] - follow * (z[inside] / own)
    curved = curved[:, np.newaxis] + follow**2 / own
    net = slopes**2 / (2 * np.maximum(curved, 1e-300)) - z[inside] ** 2 / (2 * own)
    best = np.argsort(-net, axis=None, kind="stable")[:count]
    j, i = np.unravel_index(best, net.shape)
    return np.column_stack([support[inside[i]], outside[j]]), net.ravel()[best]
