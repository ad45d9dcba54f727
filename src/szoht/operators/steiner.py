"""Prize-collecting Steiner forests on graphs whose edges all cost one."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    dijkstra,
    minimum_spanning_tree,
)

from szoht.types import Indices, Mask, Vector

__all__ = ["Graph"]

TIGHT = 1e-9
"""An edge of which less than this is left is paid for."""


HALF = 0.5
"""When two neighbors meet that both grow from the start."""


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

    def labels(self, nodes: Indices) -> Indices:
        """Return to which component of the subgraph induced by ``nodes`` each of them belongs."""
        inside = np.zeros(self.d, dtype=bool)
        inside[nodes] = True
        edges = self.within(inside)
        labels = connected_components(self.matrix(edges, np.ones(len(edges))), directed=False)[1]
        numbers: Indices = np.unique(labels[nodes], return_inverse=True)[1]
        return numbers

    def connect(self, nodes: Indices, size: int, components: int) -> Indices | None:
        """Return ``nodes`` and others that connect them, ``size`` at most, or None if not found.

        While there are too many components, the smallest is joined to the nearest other one; of
        paths of the same length, by nodes that touch many of ``nodes``.
        """
        while nodes.size <= size:
            labels = self.labels(nodes)
            counts = np.bincount(labels)
            if counts.size <= components:
                return nodes
            start = labels == np.argmin(counts)
            path = self._shortest_path(nodes[start], nodes[~start], size)
            if path is None:
                return None
            nodes = np.union1d(nodes, path)
        return None

    def _shortest_path(self, starts: Indices, ends: Indices, longest: int) -> Indices | None:
        """Return the nodes of a shortest path from any start to any end, if there is one."""
        touched = np.zeros(self.d)
        for nodes in (starts, ends):
            np.add.at(touched, [other for node in nodes for other in self.neighbors[node]], 1.0)
        # less than one for all nodes of a path together: lengths are compared first
        costs = 1.0 - touched / (2.0 * longest * max(1.0, float(touched.max())))
        both = np.vstack([self.edges, self.edges[:, ::-1]])
        distances, above, _ = dijkstra(
            self.matrix(both, costs[both[:, 1]]),
            indices=starts,
            return_predecessors=True,
            limit=longest,
            min_only=True,
        )
        node = int(ends[np.argmin(distances[ends])])
        if np.isinf(distances[node]):
            return None
        path = [node]
        while above[path[-1]] >= 0:
            path.append(int(above[path[-1]]))
        return np.array(path, dtype=np.intp)

    def steiner_forest(self, prizes: Vector, components: int) -> Indices:
        """Return nodes of at most ``components`` trees F with few edges and large prizes.

        ``edges(F) + 2 prizes(outside F) <= 2 edges(T) + 2 prizes(outside T)`` for every forest T of
        as many trees: the growth of clusters of Goemans and Williamson (1995), A general
        approximation technique for constrained forest problems, stopped when as many are active
        (Hegde, Indyk and Schmidt, 2015, A nearly-linear time framework for graph-structured
        sparsity, section 5), then the best part of each tree (strong pruning of Johnson, Minkoff
        and Phillips, 2000, for doubled prizes: no other part has less on the left side).
        """
        joined = _Growth(self, prizes).run(components)
        return self._best_parts(joined, prizes, components)

    def _best_parts(self, tree_edges: Indices, prizes: Vector, components: int) -> Indices:
        """Return the best part of each tree of a forest, of the ``components`` best of them."""
        heaviest = np.argsort(-prizes, kind="stable")[:components]  # perhaps trees by themselves
        above, order = self.rooted(tree_edges, np.union1d(tree_edges, heaviest))
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


class _Growth:
    """Clusters that grow as long as their prizes pay for it, and merge where they meet.

    The growth of node u, in all clusters that it was part of, until t is
    ``grown[u] + offset[c] + min(t, end[c])`` for its cluster c, which is active until ``end[c]``.
    A cluster has the number of one of its nodes. The queue holds edges, each with a time before
    which it is not paid for.
    """

    def __init__(self, graph: Graph, prizes: Vector) -> None:
        """Start at time 1/2, before which no two nodes meet.

        Each node has grown by 1/2, or by its prize if that is less. Edges between two large nodes
        are paid for; those between a large and a small one can be when the large one has grown by
        the rest; small nodes are no longer active.
        """
        large = prizes >= HALF
        nodes = np.flatnonzero(large)
        self.first = graph.spanning_forest(nodes, np.ones(graph.d))
        labels = connected_components(
            graph.matrix(self.first, np.ones(len(self.first))), directed=False
        )[1]
        _, heads, number = np.unique(labels, return_index=True, return_inverse=True)
        end = prizes.copy()
        active = np.unique(heads[number[nodes]])
        end[active] = HALF + np.bincount(number, np.maximum(prizes - HALF, 0.0))[number[active]]
        self.neighbors = graph.neighbors
        self.cluster: list[int] = heads[number].tolist()
        self.end: list[float] = end.tolist()
        self.grown = [0.0] * graph.d
        self.offset = [0.0] * graph.d
        self.members: dict[int, list[int]] = {}
        for node in nodes.tolist():
            self.members.setdefault(self.cluster[node], []).append(node)
        self.ends = sorted((self.end[a], a) for a in active.tolist() if self.end[a] > HALF)
        mixed = graph.edges[large[graph.edges[:, 0]] != large[graph.edges[:, 1]]]
        self.queue = sorted(
            zip((1.0 - prizes[mixed].min(axis=1)).tolist(), *mixed.T.tolist(), strict=True)
        )
        self.joined: list[tuple[int, int]] = []

    def run(self, components: int) -> Indices:
        """Grow until so many clusters are active; return the edges along which some merged."""
        cluster, end, queue, ends = self.cluster, self.end, self.queue, self.ends
        grown, offset = self.grown, self.offset
        active = len(ends)
        while queue and active > components:
            now, one, other = heappop(queue)
            a, b = cluster[one], cluster[other]
            if a == b:
                continue
            while ends and ends[0][0] <= now:
                until, c = heappop(ends)
                active -= end[c] == until
            until_a, until_b = end[a], end[b]
            rate = (until_a > now) + (until_b > now)
            if not rate or active <= components:
                continue
            left = 1.0 - grown[one] - offset[a] - (now if until_a > now else until_a)
            left -= grown[other] + offset[b] + (now if until_b > now else until_b)
            if left > TIGHT:
                heappush(queue, (now + left / rate, one, other))
                continue
            self.joined.append((one, other))
            if until_a <= now and a not in self.members:
                self._absorb(now, b, a)
            elif until_b <= now and b not in self.members:
                self._absorb(now, a, b)
            else:
                self._merge(now, a, b)
                active -= rate - 1
        return np.vstack([self.first, np.array(self.joined, dtype=np.intp).reshape(-1, 2)])

    def _absorb(self, now: float, a: int, node: int) -> None:
        """Add a node by itself that is not active to an active cluster."""
        cluster, end, grown, offset = self.cluster, self.end, self.grown, self.offset
        paid = end[node]
        grown[node] = paid - offset[a] - now
        cluster[node] = a
        end[node] = -1.0
        self.members[a].append(node)
        for other in self.neighbors[node]:
            b = cluster[other]
            if b != a:
                until = end[b]
                left = 1.0 - paid - grown[other] - offset[b] - (now if until > now else until)
                rate = 2 if until > now else 1
                heappush(self.queue, (now + left / rate, node, other))

    def _merge(self, now: float, a: int, b: int) -> None:
        """Merge two clusters; edges of one that was not active are looked at again."""
        cluster, end, grown, offset, members = (
            self.cluster,
            self.end,
            self.grown,
            self.offset,
            self.members,
        )
        if len(members[a]) < len(members[b]):
            a, b = b, a
        idle = [node for c in (a, b) if end[c] <= now for node in members[c]]
        total = offset[a] + min(now, end[a])
        shift = offset[b] + min(now, end[b]) - total
        for node in members[b]:
            grown[node] += shift
            cluster[node] = a
        members[a].extend(members.pop(b))
        offset[a] = total - now
        before = end[a]
        end[a] = before + end[b] - now if not idle else max(before, end[b])
        end[b] = -1.0
        if end[a] != before:
            heappush(self.ends, (end[a], a))
        for node in idle:
            paid = grown[node] + offset[a] + now
            for other in self.neighbors[node]:
                b = cluster[other]
                if b != a:
                    left = 1.0 - paid - grown[other] - offset[b] - min(now, end[b])
                    rate = 1 + (end[b] > now)
                    heappush(self.queue, (now + left / rate, node, other))
