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
        labels = self.operator.graph(self.d).components(support)
        return support.size <= self.size and labels.max(initial=-1) < self.parts

    def whole(self, coordinates: Indices) -> Indices:
        """Return these and others that connect them, along shortest ways from one to the next."""
        nodes = np.unique(coordinates)
        while (labels := self.operator.graph(self.d).components(nodes)).max(
            initial=-1
        ) >= self.parts:
            way = self._way(nodes[labels == labels.max()].tolist(), set(nodes.tolist()))
            if not way:  # there is none
                break
            nodes = np.union1d(nodes, way)
        return nodes

    def _way(self, component: list[int], inside: set[int]) -> list[int]:
        """Return what is on a shortest way from a component to others."""
        before = dict.fromkeys(component, -1)
        border = list(component)
        for node in border:  # which grows
            for other in self.neighbors(node):
                if other in before:
                    continue
                if other in inside:
                    return _back(before, node)
                before[other] = node
                border.append(other)
        return []


def _back(before: dict[int, int], node: int) -> list[int]:
    """Return the nodes on the way back from one to where it began, which is left out."""
    way = []
    while before[node] >= 0:
        way.append(node)
        node = before[node]
    return way
