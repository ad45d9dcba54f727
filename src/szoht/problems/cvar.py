"""Conditional value at risk (expected shortfall), squared to be homogeneous of degree 2."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from szoht.types import Vector

__all__ = ["CVaR", "HistoricalCVaR", "NormalCVaR", "SquaredCVaR"]


class CVaR(Protocol):
    """A convex risk measure that is homogeneous of degree 1."""

    def value(self, points: Vector) -> Vector:
        """Return the risk at each row."""
        ...

    def gradient(self, x: Vector) -> Vector:
        """Return a subgradient."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class HistoricalCVaR:
    r"""CVaR over observed returns: the mean of the worst fraction 1 - level of all losses.

    .. math:: CVaR(x) = \min_\tau \tau + \frac{1}{(1 - level) T} \sum_t \max(-r_t'x - \tau, 0)

    If (1 - level) T is not an integer, the next loss has a fractional weight (Rockafellar and
    Uryasev, 2002, Conditional value-at-risk for general loss distributions, proposition 8).
    """

    returns: Vector
    level: float

    def value(self, points: Vector) -> Vector:
        """Return CVaR at each row."""
        losses = -(points @ self.returns.T)
        return self._mean(np.partition(losses, losses.shape[-1] - self._count, axis=-1))

    def gradient(self, x: Vector) -> Vector:
        """Return minus the mean of the worst rows, a subgradient."""
        losses = -(self.returns @ x)
        order = np.argpartition(losses, losses.size - self._count)
        gradient: Vector = self._mean(-self.returns[order].T)
        return gradient

    @property
    def _count(self) -> int:
        """The number of losses in the mean."""
        return min(math.ceil(self._size), len(self.returns))

    @property
    def _size(self) -> float:
        # 0.05 * 100 is 5.000000000000004: not a sixth loss
        return max(round((1.0 - self.level) * len(self.returns), 9), 1e-9)

    def _mean(self, partitioned: Vector) -> Vector:
        """Average the last entries; the first of them has the remaining fractional weight."""
        count = self._count
        edge = partitioned[..., -count]
        full = partitioned[..., partitioned.shape[-1] - count + 1 :].sum(axis=-1)
        mean: Vector = (full + (self._size - (count - 1)) * edge) / self._size
        return mean


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalCVaR:
    r"""CVaR of normal returns: :math:`-m'x + \varphi(z)/(1 - level) \sqrt{x'Cx}`.

    z is the quantile of the standard normal distribution at the level, phi its density there.
    """

    mean: Vector
    covariance: Vector
    level: float

    def value(self, points: Vector) -> Vector:
        """Return CVaR at each row."""
        variance = ((points @ self.covariance) * points).sum(axis=-1)
        values: Vector = self._factor * np.sqrt(np.maximum(variance, 0.0)) - points @ self.mean
        return values

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient; at 0, that of the mean."""
        product = self.covariance @ x
        volatility = math.sqrt(max(float(x @ product), 0.0))
        return (self._factor / volatility if volatility else 0.0) * product - self.mean

    @property
    def _factor(self) -> float:
        from scipy.special import ndtri  # noqa: PLC0415  (slow to import)

        density = math.exp(-0.5 * float(ndtri(self.level)) ** 2) / math.sqrt(2.0 * math.pi)
        return density / (1.0 - self.level)


@dataclass(frozen=True, eq=False)
class SquaredCVaR:
    """G(x) = max(CVaR(x), 0)^2, convex and homogeneous of degree 2."""

    cvar: CVaR

    def squared_risk(self, points: Vector) -> Vector:
        """Return G at each row."""
        values: Vector = np.maximum(self.cvar.value(points), 0.0) ** 2
        return values

    def gradient(self, x: Vector) -> Vector:
        """Return a subgradient of G."""
        return 2.0 * max(float(self.cvar.value(x)), 0.0) * self.cvar.gradient(x)
