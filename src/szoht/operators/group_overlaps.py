"""Groups that overlap: which few of them keep most."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from szoht.operators.forest import Forest
from szoht.types import Indices, Mask, Vector

__all__ = ["Overlap", "Overlaps"]

Overlap: TypeAlias = Literal["latent", "explicit"]
"""What it means that few groups are non-zero, see `GroupSparse`."""

COVERS = 20_000
"""Partial covers that `Overlaps.covered` looks at, at most."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Groups of the coordinates 0, ..., d - 1, each of which is in one group at least.

    Parameters
    ----------
    groups : tuple of arrays of int
        The coordinates of each group.
    overlap : {"latent", "explicit"}
        Whether a coordinate may be non-zero if one of its groups may, or if all of them may.
    """

    groups: tuple[Indices, ...]
    overlap: Overlap

    @cached_property
    def groups_of(self) -> list[tuple[int, ...]]:
        """The groups of each coordinate."""
        d = 1 + max(int(group.max()) for group in self.groups)
        found: list[list[int]] = [[] for _ in range(d)]
        for number, group in enumerate(self.groups):
            for i in group.tolist():
                found[i].append(number)
        return [tuple(numbers) for numbers in found]

    @cached_property
    def hierarchy(self) -> tuple[Forest, Indices] | None:
        """Groups as a forest, the smallest one around each as its parent, and that of coordinates.

        None if groups overlap otherwise.
        """
        sets = [frozenset(group.tolist()) for group in self.groups]
        order = sorted(range(len(sets)), key=lambda g: -len(sets[g]))
        around = [-1] * len(self.groups_of)
        parents = [-1] * len(sets)
        for g in order:
            above = {around[i] for i in sets[g]}
            if len(above) > 1:
                return None
            parents[g] = above.pop()
            for i in sets[g]:
                around[i] = g
        return Forest(parents), np.array(around)

    @cached_property
    def chain(self) -> tuple[list[int], Forest] | None:
        """Groups as a forest whose edges are overlaps; None if overlaps make a circle."""
        pairs = {numbers for numbers in self.groups_of if len(numbers) > 1}
        if any(len(numbers) > 2 for numbers in pairs):  # noqa: PLR2004
            return None
        neighbors: list[list[int]] = [[] for _ in self.groups]
        for one, other in pairs:
            neighbors[one].append(other)
            neighbors[other].append(one)
        parents: dict[int, int] = {}
        roots = 0
        for root in range(len(self.groups)):
            if root not in parents:
                roots += 1
                pending = {root: -1}
                while pending:
                    g, above = pending.popitem()
                    parents[g] = above
                    pending |= {other: g for other in neighbors[g] if other not in parents}
        if len(pairs) != len(self.groups) - roots:
            return None  # a forest has as many edges
        listed = [parents[g] for g in range(len(self.groups))]
        return listed, Forest(listed)

    @property
    def is_exact(self) -> bool:
        """Whether `select` finds the best groups."""
        return self.hierarchy is not None or self.chain is not None

    def select(self, gains: Vector, k: int) -> Mask:
        """Return which coordinates may be non-zero, of at most ``k`` groups of largest gain."""
        chosen = np.zeros(len(self.groups), dtype=bool)
        if self.hierarchy is not None:
            chosen[self._nested(gains, k)] = True
        elif self.chain is not None:
            chosen[self._chained(gains, k)] = True
        else:
            chosen[self._greedy(gains, k)] = True
        enough = any if self.overlap == "latent" else all
        return np.array([enough(chosen[g] for g in numbers) for numbers in self.groups_of])

    def _nested(self, gains: Vector, k: int) -> Indices:
        """Return the best of groups within each other: a knapsack over their hierarchy."""
        assert self.hierarchy is not None, "groups are nested"  # noqa: S101
        forest, innermost = self.hierarchy
        if self.overlap == "latent":
            return forest.best_apart(np.array([gains[g].sum() for g in self.groups]), k)
        return forest.best(np.bincount(innermost, gains, len(self.groups)).astype(np.float64), k)

    def _chained(self, gains: Vector, k: int) -> Indices:
        """Return the best groups where each overlap is one of two groups, without circles.

        Baldassarre, Bhan, Cevher, Kyrillidis and Satpathi (2016), Group-sparse model selection:
        hardness and relaxations, section 5: dynamic programming from the leaves, in O(groups k^2).
        """
        assert self.chain is not None, "overlaps make no circle"  # noqa: S101
        parents, forest = self.chain
        own = np.zeros(len(self.groups))
        shared = np.zeros(len(self.groups))  # with the parent
        for i, numbers in enumerate(self.groups_of):
            if len(numbers) == 1:
                own[numbers[0]] += gains[i]
            else:
                one, other = numbers
                shared[one if parents[one] == other else other] += gains[i]
        return _Chain(
            own, shared, parents, order=forest.order, k=k, latent=self.overlap == "latent"
        ).best()

    def _greedy(self, gains: Vector, k: int) -> Indices:
        """Return groups, each of which adds most to those before.

        They keep at least 1 - 1/e of the best gain (Nemhauser, Wolsey and Fisher, 1978, An
        analysis of approximations for maximizing submodular set functions).
        """
        left = gains.copy()
        chosen = []
        for _ in range(k):
            added = [float(left[group].sum()) for group in self.groups]
            best = int(np.argmax(added))
            if added[best] <= 0:
                break
            chosen.append(best)
            left[self.groups[best]] = 0.0
        return np.array(chosen, dtype=np.intp)

    def covered(self, support: Indices, k: int) -> bool:
        """Tell whether ``support`` is that of at most ``k`` groups.

        For latent groups, covers are tried coordinate by coordinate, the one in fewest groups
        first; after 20,000 partial covers the answer is no.
        """
        touched = [self.groups_of[i] for i in support.tolist()]
        if self.overlap == "explicit":
            return len({g for numbers in touched for g in numbers}) <= k
        pending: list[tuple[frozenset[int], list[tuple[int, ...]]]] = [(frozenset(), touched)]
        for _ in range(COVERS):
            if not pending:
                return False
            chosen, rest = pending.pop()
            if not rest:
                return True
            if len(chosen) < k:
                pending.extend(
                    (chosen | {g}, [n for n in rest if g not in n]) for g in min(rest, key=len)
                )
        return False


class _Chain:
    """Dynamic programming over a forest of groups; see `Overlaps._chained`.

    ``off[g][j]`` and ``on[g][j]`` are the most that j groups in the subtree of g gain, without and
    with g itself.
    """

    def __init__(
        self,
        own: Vector,
        shared: Vector,
        parents: list[int],
        *,
        order: Indices,
        k: int,
        latent: bool,
    ) -> None:
        self.shared, self.latent = shared, latent
        self.width = min(k, len(parents)) + 1
        lag = np.subtract.outer(np.arange(self.width), np.arange(self.width))
        self.lag = np.where(lag < 0, self.width, lag)  # beyond the end, where -inf is put
        root = len(parents)  # one more, never chosen, above all roots
        self.children: list[list[int]] = [[] for _ in range(root + 1)]
        for g in order.tolist():
            self.children[parents[g]].append(g)
        self.splits: dict[tuple[int, bool], list[tuple[int, Indices]]] = {}
        self.tables: dict[tuple[int, bool], Vector] = {}
        nothing = np.zeros(self.width)
        first = np.concatenate([[-np.inf], nothing[1:]])
        for g in [*reversed(order.tolist()), root]:
            self._combine(g, on=False, start=nothing)
            if g != root:
                inside = sum(shared[c] for c in self.children[g]) if self.latent else 0.0
                self._combine(g, on=True, start=first + own[g] + inside)
        self.root = root

    def _choices(self, child: int, *, parent_on: bool) -> tuple[Vector, Vector]:
        """Return what a child gains without and with itself, what it shares included."""
        counts = parent_on != self.latent
        bonus = self.shared[child] if counts else 0.0
        return self.tables[child, False], self.tables[child, True] + bonus

    def _combine(self, g: int, *, on: bool, start: Vector) -> None:
        table, splits = start, []
        for child in self.children[g]:
            best = np.maximum(*self._choices(child, parent_on=on))
            sums = np.append(table, -np.inf)[self.lag] + best
            split = np.argmax(sums, axis=1)
            table = sums[np.arange(self.width), split]
            splits.append((child, split))
        self.tables[g, on], self.splits[g, on] = table, splits

    def best(self) -> Indices:
        """Return the chosen groups."""
        chosen = []
        pending = [(self.root, False, self.width - 1)]
        while pending:
            g, on, j = pending.pop()
            if on:
                chosen.append(g)
            for child, split in reversed(self.splits[g, on]):
                count = int(split[j])
                without, with_it = self._choices(child, parent_on=on)
                pending.append((child, bool(with_it[count] > without[count]), count))
                j -= count
        return np.array(sorted(chosen), dtype=np.intp)
