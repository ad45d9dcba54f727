"""Sparse points of a convex set: hard thresholding, then the convex projection."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from szoht.core.operator import Operator, declared_bounds
from szoht.core.validation import shown
from szoht.errors import CapabilityError, ParameterTypeError
from szoht.operators.base import SET_TOLERANCE
from szoht.types import Vector

__all__ = ["TwoStep"]

CONVEXITY_PROBES = 20
"""Random points on which the conditions on the convex set are tested."""


@dataclass(frozen=True, kw_only=True)
class TwoStep:
    """The points of a sparse set that lie in a convex set, by two projections in a row.

    ``prox(y) = P_convex(P_sparse(y))``. This is in both sets if the convex set preserves supports:
    projecting a sparse point onto it makes no zero non-zero, as for balls of the l_p norms and
    for boxes around zero. It is the nearest point for sets that are symmetric in signs and
    coordinates, such as balls, and not in general: use `SparseBox` for a box.

    Parameters
    ----------
    sparse : Operator
        `Sparse`, or groups, trees, graphs; without bounds.
    convex : Operator
        A convex set that contains zero and preserves supports, such as `L1Ball` or `Box`.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht.operators import L1Ball, Sparse
    >>> both = TwoStep(sparse=Sparse(2), convex=L1Ball(3.0))
    >>> both.prox(np.array([3.0, -1.0, 2.0, 0.5]), 1.0)
    array([2., 0., 1., 0.])

    Notes
    -----
    The projection onto a convex set does not expand, so the result is at most
    `szoht.theory.expansivity` times as far from a k_star-sparse point of the convex set as y is, as
    after hard thresholding alone. With v = H_k(y) and x = P(v), and any such point a,

    ``|x - y|^2 <= |y - a|^2 - |x - a|^2 + sqrt(k_star / k) |v - a|^2``:

    add the three-point inequalities of both steps (`szoht.theory.three_point_factor`); x - v and
    v - y are orthogonal, as x is zero where v is. On this rest the guarantees of
    `szoht.theory.two_step_sparsity` and `two_step_share`: the more coordinates are kept, the nearer
    to the best value. Conditions are tested on 20 random points by `check`. Reference: de
    Vazelhes, Yuan and Gu (ICML 2025), Optimization over sparse support-preserving sets: two-step
    projection with global optimality guarantees.
    """

    sparse: Operator
    convex: Operator

    def __post_init__(self) -> None:
        for name in ("sparse", "convex"):
            operator = getattr(self, name)
            if not isinstance(operator, Operator) or not hasattr(operator, "contains"):
                raise ParameterTypeError(
                    f"`{name}` must be a set with `prox` and `contains`; got {shown(operator)}."
                )
        if declared_bounds(self.sparse) is not None:
            raise CapabilityError(
                f"`sparse` must have no bounds; got {self.sparse!r}. Put them into `convex`, as a "
                "Box."
            )

    is_exact = False

    @property
    def k(self) -> int:
        """What the sparse set counts to."""
        return int(self.sparse.k)  # type: ignore[attr-defined]

    def check(self, d: int) -> None:
        """Raise unless both sets fit d and the convex one meets its conditions."""
        self.sparse.check(d)
        self.convex.check(d)
        rng = np.random.default_rng(0)
        scales = np.logspace(-2, 2, CONVEXITY_PROBES)
        dense = [scale * rng.standard_normal(d) for scale in scales]
        points = [self.convex.prox(y, 1.0) for y in dense]
        if not self._holds(np.zeros(d)):
            self._refuse("it does not contain zero")
        for one, other in pairwise(points):
            if not self._holds((one + other) / 2):
                self._refuse("it is not convex: the middle between two of its points is outside")
        for y in dense:
            v = self.sparse.prox(y, 1.0)
            if np.abs(self.convex.prox(v, 1.0)[v == 0]).max(initial=0.0) > 0:
                self._refuse("its projection makes zeros non-zero")

    def prox(self, y: Vector, step: float) -> Vector:
        """Return a point of both sets near y; ``step`` does not matter."""
        return self.convex.prox(self.sparse.prox(y, step), step)

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is in both sets."""
        return bool(self.sparse.contains(x)) and self._holds(x)  # type: ignore[attr-defined]

    def _holds(self, x: Vector) -> bool:
        """Tell whether the convex set contains a point, up to rounding."""
        if self.convex.contains(x):  # type: ignore[attr-defined]
            return True
        moved = float(np.abs(self.convex.prox(x, 1.0) - x).max())
        return moved <= SET_TOLERANCE * float(np.abs(x).max())

    def _refuse(self, reason: str) -> None:
        raise CapabilityError(
            f"`convex` must be convex, contain zero and preserve supports; got {self.convex!r}: "
            f"{reason}. Use a ball or a Box around zero, or a set of its own such as SparseSimplex."
        )
