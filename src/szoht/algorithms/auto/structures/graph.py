"""At most k coordinates that are connected in a graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

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

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return at most ``size`` coordinates, each next to those left out or to one before it."""
        if not without.size:
            return super().head(slopes, size, without)
        worth, seen = self.promise(slopes), set(without.tolist())
        seen.update(np.setdiff1d(np.arange(self.d), self.free).tolist())
        border: list[tuple[float, int]] = []
        found: list[int] = []
        pending = without.tolist()
        while len(found) < size:
            for node in pending:
                for other in self.neighbors(node):
                    if other not in seen:
                        seen.add(other)
                        heappush(border, (-float(worth[other]), other))
            if not border:
                break
            found.append(heappop(border)[1])
            pending = found[-1:]
        return np.array(sorted(found), dtype=np.intp)

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether few coordinates, these among them, are connected."""
        return self._connected(coordinates, self.size) is not None

    def whole(self, coordinates: Indices) -> Indices:
        """Return these and others that connect them, if there are such."""
        connected = self._connected(coordinates, self.d)
        return coordinates if connected is None else connected

    def _connected(self, coordinates: Indices, most: int) -> Indices | None:
        return self.operator.graph(self.d).connect(np.unique(coordinates), most, self.parts)
