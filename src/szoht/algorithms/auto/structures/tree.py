"""At most k coordinates that form a subtree from the root."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from szoht.algorithms.auto.structures.connected import Connected
from szoht.operators.forest import Forest
from szoht.types import Indices, Vector

__all__ = ["Tree"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree(Connected):
    """The points whose non-zeros, with all coordinates above them, are at most ``size``."""

    forest: Forest

    @cached_property
    def roots(self) -> Sequence[int]:
        """The coordinates that nothing is above."""
        return [i for i, parent in enumerate(self.forest.parent) if parent < 0]

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in range(self.d)]
        for i, parent in enumerate(self.forest.parent):
            if parent >= 0:
                children[parent].append(i)
        return children

    def neighbors(self, node: int) -> Sequence[int]:
        """Return the children of a coordinate."""
        return self._children[node]

    def best(self, worth: Vector, size: int) -> Indices:
        """Return the subtree of at most ``size`` coordinates that is worth most."""
        return self.forest.best(worth, size)

    def whole(self, coordinates: Indices) -> Indices:
        """Return these coordinates and all above them."""
        return self.forest.closure(coordinates)
