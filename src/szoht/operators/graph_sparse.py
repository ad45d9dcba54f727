"""At most k non-zeros that are connected in a graph, such as a region of an image."""

from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush

import numpy as np

from szoht.core.validation import check_integer, frozen
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators.box import Bound, as_bounds, check_bounds, clip_with_gains
from szoht.operators.forest import Forest, heaviest_subtree
from szoht.operators.steiner import Graph
from szoht.types import Indices, Vector

__all__ = ["GraphSparse"]

SEARCHES = 8
"""Steiner forests that are computed at most, each for another price of an edge."""

IMPROVEMENTS = 4
"""Rounds in which a support is extended to twice its size and cut again, at most."""


@dataclass(frozen=True, eq=False)
class GraphSparse:
    """The set of x that are zero outside k nodes of a graph in few components, low <= x <= high.

    Coordinates are the nodes. The projection onto this set is NP-hard; `prox` approximates it.
    Its result is in the set always, and a point of the set whose non-zeros are connected is not
    changed.

    Parameters
    ----------
    k : int
        How many nodes may be non-zero, in [1, d].
    edges : array of shape (m, 2) of int
        The ends of each edge, numbers of coordinates.
    components : int
        How many connected components the nodes may have, in [1, k].
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; by default none.
    """

    k: int
    edges: Indices
    components: int = 1
    low: Bound = -np.inf
    high: Bound = np.inf

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        check_integer("components", self.components, low=1, high=self.k, high_name="k")
        object.__setattr__(self, "edges", _as_edges(self.edges))
        as_bounds(self, around_zero=True)

    def check(self, d: int) -> None:
        """Raise unless all edges lead to coordinates, k is in [1, d] and the bounds fit."""
        if int(self.edges.max(initial=-1)) >= d:
            raise ParameterError(
                f"`edges` must hold numbers in [0, d - 1]; got {self.edges.max()} with d={d}."
            )
        check_integer("k", self.k, low=1, high=d, high_name="d")
        check_bounds(self.low, self.high, d)

    def graph(self, d: int) -> Graph:
        """Return the graph with ``d`` nodes."""
        return _graph(self, d)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return a near point of the set; ``step`` does not matter."""
        return self.weighted_prox(y, step, np.ones_like(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return a near point in the weighted norm: weights multiply the gains."""
        del step
        clipped, gains = clip_with_gains(y, weights, self.low, self.high)
        kept = self.select(gains, self.k)
        x = np.zeros_like(y)
        x[kept] = clipped[kept]
        return x

    def select(self, gains: Vector, size: int) -> Indices:
        """Return at most ``size`` connected nodes with a large sum of ``gains``, sorted."""
        graph = self.graph(gains.size)
        active = np.flatnonzero(gains)
        if active.size <= size and self._count(active, gains.size) <= self.components:
            return active
        kept = self._cut(graph, self._steiner(graph, gains, size), gains, size)
        for _ in range(IMPROVEMENTS):
            wider = _extend(graph, kept, gains, 2 * size)
            cut = self._cut(graph, wider, gains, size, kept)
            if gains[cut].sum() <= gains[kept].sum():
                break
            kept = cut
        return kept

    def contains(self, x: Vector) -> bool:
        """Tell whether the non-zeros are at most k, connected and within the bounds."""
        inside = bool(np.all((x >= self.low) & (x <= self.high)))
        active = np.flatnonzero(x)
        return inside and active.size <= self.k and self._count(active, x.size) <= self.components

    def _count(self, nodes: Indices, d: int) -> int:
        """Return how many components some nodes have."""
        return int(self.graph(d).components(nodes).max(initial=-1)) + 1

    def _steiner(self, graph: Graph, gains: Vector, size: int) -> Indices:
        """Return connected nodes of which there are from 2 size - 1 to 4 size, if this can be."""
        least, most = 2 * size - 1, 4 * size
        scale = 1.0 / float(np.partition(gains, -size)[-size] or gains.max())
        low, high = 0.0, np.inf
        found = np.array([int(np.argmax(gains))])
        for _ in range(SEARCHES):
            nodes = graph.steiner_forest(scale * gains, self.components)
            if nodes.size > most:
                high = scale
                if found.size < least:
                    found = nodes
            else:
                low = scale
                found = nodes
                if nodes.size >= least:
                    break
            if low == 0.0 or high == np.inf:
                scale *= 0.5 if high < np.inf else 2.0
            else:
                scale = float(np.sqrt(low * high))
        return found

    def _cut(
        self, graph: Graph, nodes: Indices, gains: Vector, size: int, keep: Indices | None = None
    ) -> Indices:
        """Return the best part of ``nodes`` of at most ``size``, along a spanning forest.

        The forest prefers edges between nodes of large gain, and spans ``keep`` by itself.
        """
        costs = 3.0 - gains / gains.max()
        if keep is not None:
            costs[keep] = 1.0
        edges = graph.spanning_forest(nodes, costs)
        place = np.full(graph.d, -1)
        place[nodes] = np.arange(nodes.size)
        if self.components == 1:
            return nodes[heaviest_subtree(place[edges], gains[nodes], size)]
        above, _ = graph.rooted(edges, nodes[np.argsort(-gains[nodes], kind="stable")])
        parents = [place[above[node]] if above[node] >= 0 else -1 for node in nodes.tolist()]
        return nodes[Forest(parents).best(gains[nodes], size)]


@lru_cache(maxsize=8)
def _graph(operator: GraphSparse, d: int) -> Graph:
    return Graph(d, operator.edges)


def _extend(graph: Graph, nodes: Indices, gains: Vector, size: int) -> Indices:
    """Return ``nodes`` and neighbors of theirs, those of largest gain first, ``size`` at most."""
    inside = set(nodes.tolist())
    weights = gains.tolist()
    seen = set(inside)
    border: list[tuple[float, int]] = []

    def look(node: int) -> None:
        for other in graph.neighbors[node]:
            if other not in seen:
                seen.add(other)
                heappush(border, (-weights[other], other))

    for node in nodes.tolist():
        look(node)
    while border and len(inside) < size:
        _, node = heappop(border)
        inside.add(node)
        look(node)
    return np.array(sorted(inside), dtype=np.intp)


def _as_edges(value: object) -> Indices:
    """Return edges as a read-only integer array, or raise."""
    edges = np.array(value)
    if edges.size == 0:
        edges = np.zeros((0, 2), dtype=np.intp)
    if edges.dtype.kind not in "iu":
        raise ParameterTypeError(f"`edges` must hold integers; got an array of {edges.dtype}.")
    if edges.ndim != 2 or edges.shape[1] != 2:  # noqa: PLR2004
        raise ParameterError(f"`edges` must have shape (m, 2); got {edges.shape}.")
    if edges.min(initial=0) < 0:
        raise ParameterError(f"`edges` must not be negative; got {edges.min()}.")
    edges = np.sort(edges.astype(np.intp), axis=1)
    return frozen(np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0))
