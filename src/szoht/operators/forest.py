"""Rooted forests, and their best subtree with few nodes."""

from collections.abc import Sequence

import numpy as np

from szoht.errors import ParameterError
from szoht.types import Indices, Vector

__all__ = ["Forest", "heaviest_subtree"]


class Forest:
    """Nodes 0, ..., d - 1 with their parents, -1 for a root, listed in preorder.

    In preorder a node comes directly before its descendants, so that each subtree is a run of
    neighbors: ``order[i]`` is the i-th node, ``after[i]`` the place behind its last descendant.

    Parameters
    ----------
    parents : array of shape (d,) of int
        The parent of each node; -1 for a root, of which there may be several.
    """

    def __init__(self, parents: Sequence[int] | Indices) -> None:
        parent = np.asarray(parents, dtype=np.intp).tolist()
        children: list[list[int]] = [[] for _ in parent]
        pending: list[int] = []
        for node, above in enumerate(parent):
            (pending if above < 0 else children[above]).append(node)
        pending.reverse()
        order: list[int] = []
        while pending:
            node = pending.pop()
            order.append(node)
            pending.extend(reversed(children[node]))
        if len(order) < len(parent):
            lost = min(set(range(len(parent))).difference(order))
            raise ParameterError(
                "`parents` must lead from every node to a root, whose parent is -1; got a cycle "
                f"above node {lost}."
            )
        sizes = [1] * len(parent)
        for node in reversed(order):
            if parent[node] >= 0:
                sizes[parent[node]] += sizes[node]
        self.parent = parent
        self.order = np.array(order, dtype=np.intp)
        self.after = [place + sizes[node] for place, node in enumerate(order)]

    def best(self, weights: Vector, size: int) -> Indices:
        """Return the heaviest nodes, at most ``size``, that contain the parent of each of them.

        ``weights`` are not negative, and nodes that add nothing are left out. With V(i, j) the
        most weight of j nodes among those from place i on, a node is taken, and then its children
        may be, or its whole subtree is passed over:

        ``V(i, j) = max(w_i + V(i + 1, j - 1), V(after_i, j))``.

        Exact; O(d size) time, one byte of memory for each choice, and as many rows of V as subtrees
        lie within each other. Cartis and Thompson (2013), An exact tree projection
        algorithm for wavelets, solve binary trees in the same time; this recursion is for any.

        >>> Forest([-1, 0, 0, 1, 2]).best(np.array([1.0, 0.0, 2.0, 9.0, 3.0]), 3)
        array([0, 1, 3])
        """
        d, after = len(self.after), self.after
        size = min(size, d)
        ordered = weights[self.order].tolist()
        takes = np.zeros((d, size + 1), dtype=bool)
        last_use = dict(zip(reversed(after), range(d - 1, -1, -1), strict=True))
        rows = {d: np.zeros(size + 1)}
        for i in range(d - 1, -1, -1):
            passed, row = rows[after[i]], np.zeros(size + 1)
            np.add(rows[i + 1][:-1], ordered[i], out=row[1:])
            np.greater(row, passed, out=takes[i])
            np.maximum(row, passed, out=row)
            rows[i] = row
            if last_use.get(i + 1, i) >= i:
                del rows[i + 1]
            if after[i] > i + 1 and last_use[after[i]] == i:
                del rows[after[i]]
        taken, i, j = [], 0, size
        while i < d and j > 0:
            if takes[i, j]:
                taken.append(i)
                i, j = i + 1, j - 1
            else:
                i = after[i]
        return np.sort(self.order[taken])

    def best_apart(self, weights: Vector, size: int) -> Indices:
        """Return the heaviest nodes, at most ``size``, none of which is above another.

        ``V(i, j) = max(w_i + V(after_i, j - 1), V(i + 1, j))``: a node is taken, and its subtree
        passed over, or one looks inside.

        >>> Forest([-1, 0, 0, 1, 2]).best_apart(np.array([9.0, 2.0, 8.0, 3.0, 7.0]), 2)
        array([2, 3])
        """
        d, after = len(self.after), self.after
        ordered = weights[self.order].tolist()
        most = np.zeros((d + 1, size + 1))
        for i in range(d - 1, -1, -1):
            most[i] = most[i + 1]
            np.maximum(most[i, 1:], ordered[i] + most[after[i], :-1], out=most[i, 1:])
        taken, i, j = [], 0, size
        while i < d and j > 0:
            if most[i, j] > most[i + 1, j]:
                taken.append(i)
                i, j = after[i], j - 1
            else:
                i += 1
        return np.sort(self.order[taken])

    def closure(self, nodes: Indices) -> Indices:
        """Return these nodes and all above them, sorted.

        >>> Forest([-1, 0, 0, 1, 2]).closure(np.array([3]))
        array([0, 1, 3])
        """
        found: set[int] = set()
        for start in nodes.tolist():
            node = start
            while node >= 0 and node not in found:
                found.add(node)
                node = self.parent[node]
        return np.array(sorted(found), dtype=np.intp)


def heaviest_subtree(edges: Indices, weights: Vector, size: int) -> Indices:
    """Return the nodes of the heaviest subtree of a tree with at most ``size`` nodes.

    It contains the centroid, and is then found by `Forest.best`, or is in one of the parts, of at
    most half as many nodes, that are left without the centroid: O(d size log d), and less where
    parts are too light. Nodes are 0, ..., d - 1; ``weights`` are not negative.

    >>> path = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    >>> heaviest_subtree(path, np.array([3.0, 3.0, 0.0, 1.0, 4.0]), 2)
    array([0, 1])
    """
    neighbors: list[list[int]] = [[] for _ in weights]
    for one, other in edges.tolist():
        neighbors[one].append(other)
        neighbors[other].append(one)
    best, most = np.array([int(np.argmax(weights))]), float(weights.max())
    parts = [0]
    outside = [False] * len(weights)
    while parts:
        order, above = _walk(parts.pop(), neighbors, outside)
        heaviest = np.sort(weights[order])[::-1]
        if heaviest[:size].sum() <= most:
            continue
        center = _centroid(order, above)
        order, above = _walk(center, neighbors, outside)
        place = {node: i for i, node in enumerate(order)}
        parents = [place.get(node, -1) for node in above]
        local = weights[order]
        taken = Forest(parents).best(local, size)
        if local[taken].sum() > most:
            best, most = np.sort(np.array(order)[taken]), float(local[taken].sum())
        outside[center] = True
        parts.extend(node for node in neighbors[center] if not outside[node])
    return best


def _walk(
    start: int, neighbors: list[list[int]], outside: list[bool]
) -> tuple[list[int], list[int]]:
    """Return the nodes of a tree from ``start`` on, and the one before each, -1 for the first."""
    order, above = [start], [-1]
    for node, before in zip(order, above, strict=False):
        for other in neighbors[node]:
            if other != before and not outside[other]:
                order.append(other)
                above.append(node)
    return order, above


def _centroid(order: list[int], above: list[int]) -> int:
    """Return the node without which no part of a tree has more than half of its nodes."""
    sizes = dict.fromkeys(order, 1)
    for node, before in zip(reversed(order), reversed(above), strict=True):
        if 2 * sizes[node] >= len(order):  # the first from below whose subtree is half of all
            return node
        sizes[before] += sizes[node]
    return order[0]
