"""Prize-collecting Steiner forests on graphs whose edges all cost one."""

from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from szoht.types import Indices, Mask, Vector

__all__ = ["Graph"]

TIGHT = 1e-9
"""An edge of which less than this is left is paid for."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with nodes 0, ..., d - 1 and edges of cost one.

    Parameters
    ----------
    d : int
        The number of nodes.
    edges : array of shape (m, 2) of int
        The ends of each edge.
    """

    d: int
    edges: Indices

    @cached_property
    def neighbors(self) -> list[list[int]]:
        """The neighbors of each node."""
        found: list[list[int]] = [[] for _ in range(self.d)]
        for one, other in self.edges.tolist():
            found[one].append(other)
            found[other].append(one)
        return found

    def matrix(self, edges: Indices, costs: Vector) -> csr_array:
        """Return some of the edges, with their costs, as a sparse matrix."""
        return csr_array((costs, (edges[:, 0], edges[:, 1])), shape=(self.d, self.d))

    def within(self, inside: Mask) -> Indices:
        """Return the edges both of whose ends are ``inside``."""
        kept: Indices = self.edges[inside[self.edges[:, 0]] & inside[self.edges[:, 1]]]
        return kept

    def components(self, nodes: Indices) -> Indices:
        """Return to which component of the subgraph induced by ``nodes`` each of them belongs."""
        inside = np.zeros(self.d, dtype=bool)
        inside[nodes] = True
        edges = self.within(inside)
        labels = connected_components(self.matrix(edges, np.ones(len(edges))), directed=False)[1]
        numbers: Indices = np.unique(labels[nodes], return_inverse=True)[1]
        return numbers

    def steiner_forest(self, prizes: Vector, components: int) -> Indices:
        """Return nodes of at most ``components`` trees F with few edges and large prizes.

        ``edges(F) + 2 prizes(outside F) <= 2 edges(T) + 2 prizes(outside T)`` for every forest T of
        as many trees: the growth of clusters of Goemans and Williamson (1995), A general
        approximation technique for constrained forest problems, stopped when as many are active
        (Hegde, Indyk and Schmidt, 2015, A nearly-linear time framework for graph-structured
        sparsity, section 5), then the best part of each tree (strong pruning of Johnson, Minkoff
        and Phillips, 2000, for doubled prizes: no other part has less on the left side).
        """
        joined = _Growth(self, prizes, components).run()
        if not len(joined):
            return np.argsort(-prizes, kind="stable")[:components]
        return self._best_parts(joined, prizes, components)

    def _best_parts(self, tree_edges: Indices, prizes: Vector, components: int) -> Indices:
        """Return the best part of each tree of a forest, of the ``components`` best of them."""
        above, order = self.rooted(tree_edges, np.unique(tree_edges))
        worth = (2 * prizes).tolist()
        for node in reversed(order):
            if above[node] >= 0 and worth[node] > 1:
                worth[above[node]] += worth[node] - 1
        top = dict.fromkeys(order, -1)  # the root of each node's tree
        best: dict[int, int] = {}
        for node in order:
            root = top[node] = node if above[node] < 0 else top[above[node]]
            if worth[node] > worth[best.setdefault(root, node)]:
                best[root] = node
        starts = set(sorted(best.values(), key=lambda node: -worth[node])[:components])
        inside: set[int] = set()
        for node in order:
            if node in starts or (above[node] in inside and worth[node] > 1):
                inside.add(node)
        return np.array(sorted(inside), dtype=np.intp)

    def rooted(self, tree_edges: Indices, nodes: Indices) -> tuple[dict[int, int], list[int]]:
        """Return the parent of each node of a forest, -1 for roots, and its nodes from the top."""
        labels = connected_components(
            self.matrix(tree_edges, np.ones(len(tree_edges))), directed=False
        )[1]
        roots = nodes[np.unique(labels[nodes], return_index=True)[1]]
        # one more node, above all roots, makes one tree of them
        ends = np.vstack([tree_edges, np.column_stack([np.full(roots.size, self.d), roots])])
        joined = csr_array(
            (np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(self.d + 1, self.d + 1)
        )
        order, above = breadth_first_order(joined, self.d, directed=False)
        above = np.where(above == self.d, -1, above)
        down = order[1:].tolist()
        return dict(zip(down, above[order[1:]].tolist(), strict=True)), down

    def spanning_forest(self, nodes: Indices, costs: Vector) -> Indices:
        """Return the edges of a spanning forest of least cost of an induced subgraph.

        An edge costs the larger of its ends' positive ``costs``.
        """
        inside = np.zeros(self.d, dtype=bool)
        inside[nodes] = True
        edges = self.within(inside)
        found = minimum_spanning_tree(self.matrix(edges, costs[edges].max(axis=1))).tocoo()
        return np.column_stack([found.coords[0], found.coords[1]]).astype(np.intp)


@dataclass
class _Growth:
    """Clusters that grow as long as their prizes pay for it, and merge where they meet.

    The growth of node u, in all clusters that it was part of, until t is
    ``within[u] + offset[c] + min(t, end[c])`` for its cluster c, which is active until ``end[c]``.
    A cluster has the number of one of its nodes.
    """

    graph: Graph
    prizes: Vector
    components: int
    cluster: list[int] = field(default_factory=list)
    members: dict[int, list[int]] = field(default_factory=dict)
    end: list[float] = field(default_factory=list)
    queue: list[tuple[float, int, int]] = field(default_factory=list)
    ends: list[tuple[float, int]] = field(default_factory=list)
    joined: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> Indices:
        """Return the edges along which clusters merged."""
        first = self._merge_large()
        self.within = [0.0] * self.graph.d
        self.offset = [0.0] * self.graph.d
        cluster, end, queue = self.cluster, self.end, self.queue
        active = len(self.ends)
        while queue and active > self.components:
            now, one, other = heappop(queue)
            while self.ends and self.ends[0][0] <= now:
                until, a = heappop(self.ends)
                active -= end[a] == until
            a, b = cluster[one], cluster[other]
            if a == b or active <= self.components:
                continue
            left = self._left(now, one, other)
            rate = (end[a] > now) + (end[b] > now)
            if left <= TIGHT:
                self.joined.append((one, other))
                self._merge(now, a, b)
                active -= rate == 2  # noqa: PLR2004
            elif rate:
                heappush(queue, (now + left / rate, one, other))
        later = np.array(self.joined, dtype=np.intp).reshape(-1, 2)
        return np.vstack([first, later])

    def _left(self, now: float, one: int, other: int) -> float:
        """Return how much of an edge has not been paid for."""
        a, b = self.cluster[one], self.cluster[other]
        grown = self.within[one] + self.offset[a] + min(now, self.end[a])
        return 1.0 - grown - self.within[other] - self.offset[b] - min(now, self.end[b])

    def _merge_large(self) -> Indices:
        """Start at time 1/2, before which no two nodes meet: return the edges paid for by then.

        Each node has grown by 1/2, or by its prize if that is less. Edges between two large nodes
        are paid for; those between a large and a small one can be when the large one has grown by
        the rest; small nodes are no longer active.
        """
        graph, prizes = self.graph, self.prizes
        large = prizes >= 0.5  # noqa: PLR2004
        edges = graph.spanning_forest(np.flatnonzero(large), np.ones(graph.d))
        labels = connected_components(graph.matrix(edges, np.ones(len(edges))), directed=False)[1]
        _, first, number = np.unique(labels, return_index=True, return_inverse=True)
        rest = np.bincount(number, np.maximum(prizes - 0.5, 0.0))
        self.cluster = first[number].tolist()
        end = prizes.copy()
        heads = np.unique(first[number[large]])
        end[heads] = 0.5 + rest[number[heads]]
        self.end = end.tolist()
        for node in np.flatnonzero(large).tolist():
            self.members.setdefault(self.cluster[node], []).append(node)
        self.ends = [(self.end[a], a) for a in heads.tolist() if self.end[a] > 0.5]  # noqa: PLR2004
        heapify(self.ends)
        mixed = graph.edges[large[graph.edges[:, 0]] != large[graph.edges[:, 1]]]
        times = 1.0 - prizes[mixed].min(axis=1)
        one, other = mixed.T.tolist()
        self.queue = list(zip(times.tolist(), one, other, strict=True))
        heapify(self.queue)
        return edges

    def _merge(self, now: float, a: int, b: int) -> None:
        """Merge two clusters; edges of one that was not active are looked at again."""
        end, members = self.end, self.members
        of_a, of_b = members.get(a, [a]), members.get(b, [b])
        if len(of_a) < len(of_b):
            a, b, of_a, of_b = b, a, of_b, of_a
        idle = [nodes for c, nodes in ((a, of_a), (b, of_b)) if end[c] <= now]
        grown_a = self.offset[a] + min(now, end[a])
        shift = self.offset[b] + min(now, end[b]) - grown_a
        idle_nodes = [node for nodes in idle for node in nodes]
        for node in of_b:
            self.within[node] += shift
            self.cluster[node] = a
        of_a.extend(of_b)
        members[a] = of_a
        self.offset[a] = grown_a - now
        before, both = end[a], end[a] > now < end[b]
        end[a] = end[a] + end[b] - now if both else max(end[a], end[b])
        end[b] = -1.0
        if end[a] != before:
            heappush(self.ends, (end[a], a))
        if end[a] > now:
            self._watch(now, a, idle_nodes)

    def _watch(self, now: float, a: int, nodes: list[int]) -> None:
        """Queue the edges that lead from some nodes of cluster ``a`` to others."""
        for node in nodes:
            for other in self.graph.neighbors[node]:
                b = self.cluster[other]
                if b != a:
                    rate = 1 + (self.end[b] > now)
                    heappush(self.queue, (now + self._left(now, node, other) / rate, node, other))
