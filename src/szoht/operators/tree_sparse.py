"""At most k non-zeros that form a subtree from the root, such as coefficients of wavelets."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.validation import as_integers, check_integer
from szoht.errors import ParameterError
from szoht.operators.box import Bound, as_bounds, check_bounds, clip_with_gains
from szoht.operators.forest import Forest
from szoht.types import Indices, Vector

__all__ = ["TreeSparse"]


@dataclass(frozen=True, eq=False)
class TreeSparse:
    """The set of x that are zero outside a rooted subtree of k nodes, with low <= x <= high.

    Coordinates are the nodes of a tree. A rooted subtree contains the parent of each of its nodes;
    an entry inside it may be zero. The projection keeps the subtree of largest gain (its squared
    norm if there are no bounds) and clips. It is exact, for trees of any shape.

    Parameters
    ----------
    k : int
        How many nodes the subtree may have, in [1, d].
    parents : array of shape (d,) of int
        The parent of each coordinate; -1 for a root. There may be several roots.
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; by default none.

    Examples
    --------
    A binary tree: the large entry at node 6 is kept only together with 2 and 0.

    >>> import numpy as np
    >>> tree = TreeSparse(3, parents=[-1, 0, 0, 1, 1, 2, 2])
    >>> tree.prox(np.array([1.0, 3.0, 0.0, 2.0, 1.0, 0.0, 5.0]), 1.0)
    array([1., 0., 0., 0., 0., 0., 5.])

    Notes
    -----
    O(d k) time and memory: 3 ms for d = 1,023 and k = 50. Reference: Baraniuk, Cevher, Duarte and
    Hegde (2010), Model-based compressive sensing, section V, for the set; see `Forest.best` for the
    projection. `szoht.theory.union_expansivity` bounds how far it can lead away from a target.
    """

    k: int
    parents: Indices
    low: Bound = -np.inf
    high: Bound = np.inf

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        object.__setattr__(self, "parents", _as_parents(self.parents))
        _ = self.forest  # which refuses cycles
        as_bounds(self, around_zero=True)

    @cached_property
    def forest(self) -> Forest:
        """The tree in preorder."""
        return Forest(self.parents)

    def check(self, d: int) -> None:
        """Raise unless the tree has d nodes, k is in [1, d] and the bounds fit."""
        if self.parents.shape != (d,):
            raise ParameterError(
                f"`parents` must have shape (d,); got {self.parents.shape} with d={d}."
            )
        check_integer("k", self.k, low=1, high=d, high_name="d")
        check_bounds(self.low, self.high, d)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        return self.weighted_prox(y, step, np.ones_like(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the nearest point in the weighted norm: weights multiply the gains."""
        del step
        clipped, gains = clip_with_gains(y, weights, self.low, self.high)
        kept = self.forest.best(gains, self.k)
        x = np.zeros_like(y)
        x[kept] = clipped[kept]
        return x

    def contains(self, x: Vector) -> bool:
        """Tell whether the non-zeros and all nodes above them are at most k, within the bounds."""
        inside = bool(np.all((x >= self.low) & (x <= self.high)))
        return inside and self.forest.closure(np.flatnonzero(x)).size <= self.k


def _as_parents(value: object) -> Indices:
    """Return parents as a read-only integer array, or raise."""
    parents = as_integers("parents", value)
    outside = (parents < -1) | (parents >= parents.size)
    if outside.any():
        i = int(np.argmax(outside))
        raise ParameterError(
            f"`parents` must be in [-1, d - 1], -1 for a root; got parents[{i}]={parents[i]} with "
            f"d={parents.size}."
        )
    return parents
