r"""Portfolio objectives in a convex form that is finite everywhere.

A portfolio is a vector of weights w with sum(w) = 1. Written as w = x / sum(x), every criterion
becomes a function of x that is undefined where sum(x) = 0 and constant along each ray, and a
solver that crosses sum(x) = 0 gets infinite values. All criteria here avoid this alike: on the
plane sum(w) = 1 each of them equals, up to a constant, a function G that is convex,
positive and homogeneous of degree 2, because constants may be multiplied by sum(w) = 1:

- variance w'Cw, already homogeneous;
- a return that falls short of r: :math:`\min(m'w - r, 0)^2 = \min((m - r 1)'w, 0)^2`;
- mean-variance :math:`\gamma/2\, w'Cw - m'w = w'(\gamma C - m1' - 1m')w / 2`;
- tracking error :math:`|Rw - b|^2 = |(R - b1')w|^2`;
- the square of CVaR, which is homogeneous of degree 1, where it is positive;
- and c (sum w)^2 = c, which may be added to make G positive.

**Proposition.** Let G be homogeneous of degree 2 and positive on a cone K except at 0, and
:math:`F(x) = G(x)/(2 g) - 1'x` with g > 0. Then F < 0 only where sum(x) > 0; and x minimizes F
over K if and only if w = x / sum(x) minimizes G over the portfolios in K and
sum(x) = g / G(w), where :math:`F(x) = -g / (2 G(w))`.

*Proof.* Where sum(x) <= 0, F(x) >= G(x)/(2g) >= 0. Elsewhere x = t w with t = sum(x) > 0, and
:math:`F(tw) = t^2 G(w)/(2g) - t` is least at t = g / G(w), where it is -g / (2 G(w)); this
increases with G(w). The set of k-sparse points is a cone, and so is its part with x >= 0. []

F is finite and convex on all of R^d, and smooth where G is; a descent from a start with F < 0 never
sees sum(x) <= 0. With g = G(w0) the start is x0 = w0, where F = -1/2.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from szoht.core.objective import Objective
from szoht.core.validation import frozen
from szoht.types import Sample, Vector

__all__ = ["ConvexForm", "Criterion", "QuadraticRisk", "RawForm", "Risk"]


class Risk(Protocol):
    """A function of positions that is convex and homogeneous of degree 2."""

    def squared_risk(self, points: Vector) -> Vector:
        """Return G at each row."""
        ...

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient of G, or a subgradient."""
        ...


@dataclass(frozen=True, eq=False)
class QuadraticRisk:
    """G(x) = x'Qx for a symmetric matrix Q."""

    matrix: Vector

    def squared_risk(self, points: Vector) -> Vector:
        """Return x'Qx at each row."""
        values: Vector = ((points @ self.matrix) * points).sum(axis=-1)
        return values

    def gradient(self, x: Vector) -> Vector:
        """Return 2 Qx."""
        return 2.0 * (self.matrix @ x)


@dataclass(frozen=True, kw_only=True, eq=False)
class Criterion:
    r"""G(x) = risk(x) + c (1'x)^2 + weight * min((m - r 1)'x, 0)^2.

    Parameters
    ----------
    risk : Risk
        Homogeneous of degree 2.
    constant : float
        c, which only shifts the values on the plane sum(w) = 1.
    excess : array of shape (d,)
        m - r 1, the mean returns in excess of the target.
    weight : float >= 0
        Penalty weight of a squared shortfall.
    """

    risk: Risk
    constant: float
    excess: Vector
    weight: float

    def squared_risk(self, points: Vector) -> Vector:
        """Return G at each row."""
        values = self.risk.squared_risk(points)
        if self.weight:
            values = values + self.weight * np.minimum(points @ self.excess, 0.0) ** 2
        if self.constant:
            values = values + self.constant * points.sum(axis=-1) ** 2
        return values

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient of G."""
        shortfall = min(float(x @ self.excess), 0.0)
        flat = 2.0 * self.constant * float(x.sum())
        return self.risk.gradient(x) + 2.0 * self.weight * shortfall * self.excess + flat

    def value_at(self, weights: Vector) -> Vector:
        """Return the criterion itself at weights that sum to 1: G - c."""
        return self.squared_risk(weights) - self.constant


@dataclass(frozen=True, kw_only=True, eq=False)
class RawForm:
    """x -> criterion(x / sum x): constant along rays, infinite at sum x = 0; as in the paper."""

    criterion: Criterion

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return the criterion of the portfolio x / sum x."""
        del sample
        total = float(x.sum())
        return float(self.criterion.value_at(x / total)) if total != 0.0 else np.inf

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return the criterion at each row."""
        del sample
        total = points.sum(axis=1)
        defined = total != 0.0
        weights = points / np.where(defined, total, 1.0)[:, None]
        values: Vector = np.where(defined, self.criterion.value_at(weights), np.inf)
        return values

    @property
    def objective(self) -> Objective:
        """The function with its capabilities."""
        return Objective(value=self.value, values=self.values)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvexForm:
    """x -> G(x) / (2 unit) - sum x: convex and finite everywhere; see the proposition above."""

    criterion: Criterion
    unit: float

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return F(x)."""
        del sample
        return 0.5 * float(self.criterion.squared_risk(x)) / self.unit - float(x.sum())

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return F at each row."""
        del sample
        values: Vector = 0.5 * self.criterion.squared_risk(points) / self.unit - points.sum(axis=1)
        return values

    def gradient(self, x: Vector, sample: Sample = None) -> Vector:
        """Return the gradient of F, or a subgradient."""
        del sample
        return 0.5 * self.criterion.gradient(x) / self.unit - 1.0

    def scale_to_minimum(self, weights: Vector) -> Vector:
        """Return the multiple of ``weights`` where F is least, t = unit / G(w)."""
        return frozen(weights * (self.unit / float(self.criterion.squared_risk(weights))))

    @property
    def objective(self) -> Objective:
        """The function with its capabilities."""
        return Objective(value=self.value, values=self.values, gradient=self.gradient)
