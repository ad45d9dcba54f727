"""At most k coordinates that are connected in a graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.structures.connected import Connected
from szoht.operators.graph_sparse import GraphSparse
from szoht.types import Indices, Vector

__all__ = ["ConnectedInGraph"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConnectedInGraph(Connected):
    """The points whose non-zeros are at most ``size`` nodes of a graph in few components."""

    operator: GraphSparse

    @property
    def parts(self) -> int:
        """How many components there may be."""
        return self.operator.components

    def neighbors(self, node: int) -> Sequence[int]:
        """Return the coordinates that share an edge with one."""
        return self.operator.graph(self.d).neighbors[node]

    def best(self, worth: Vector, size: int) -> Indices:
        """Return at most ``size`` connected coordinates that are worth much."""
        return self.operator.select(worth, size) if worth.any() else np.empty(0, dtype=np.intp)

    def contains(self, z: Vector) -> bool:
        """Tell whether the non-zeros are not too many, and connected; bounds are kept by `to_x`."""
        support = np.flatnonzero(z)
        return support.size <= self.size and self._components(support).size <= self.parts

    def whole(self, coordinates: Indices) -> Indices:
        """Return these and others that connect them, along shortest ways from one to the next."""
        inside = set(coordinates.tolist())
        while (starts := self._components(np.array(sorted(inside), dtype=np.intp))).size > self.parts:
            way = self._way(inside, int(starts[-1]))
            if not way:  # there is none
                break
            inside.update(way)
        return np.array(sorted(inside), dtype=np.intp)

    def _components(self, nodes: Indices) -> Indices:
        """Return one node of each component of some nodes."""
        labels = self.operator.graph(self.d).components(nodes)
        return nodes[np.unique(labels, return_index=True)[1]] if nodes.size else nodes

    def _way(self, inside: set[int], start: int) -> list[int]:
        """Return a shortest way from the component of ``start`` to another one."""
        before = {start: -1}
        own, border = {start}, [start]
        for node in border:  # the component itself
            for other in self.neighbors(node):
                if other in inside and other not in own:
                    own.add(other)
                    before[other] = -1
                    border.append(other)
        for node in border:  # which grows
            for other in self.neighbors(node):
                if other in before:
                    continue
                if other in inside:
                    way = []
                    while node >= 0 and node not in own:
                        way.append(node)
                        node = before[node]  # noqa: PLW2901
                    return way
                before[other] = node
                border.append(other)
        return []
