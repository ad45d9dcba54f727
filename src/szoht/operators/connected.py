"""The heaviest connected nodes of a graph, of a given number: approximately."""

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from szoht.operators.forest import Forest, heaviest_subtree
from szoht.operators.steiner import Graph
from szoht.types import Indices, Vector

__all__ = ["select_connected", "steiner_nodes"]

PRICES = 8
"""Steiner forests that are computed at most, each for another price of an edge."""

STEEPNESS = 6
"""The number of nodes of a forest rises about with this power of the prizes, or faster."""

REGION = 4
"""Nodes among which a better support is looked for, in multiples of its size."""

IMPROVEMENT_ROUNDS = 6
"""Rounds of improvement, at most."""

TREES = (1, 16)
"""Fewest and most shortest-path trees in a round."""

TREE_NODES = 4_000
"""Nodes of all trees of a round, about: 5 microseconds each."""


def select_connected(graph: Graph, gains: Vector, size: int, components: int) -> Indices:
    """Return at most ``size`` nodes in few components with a large sum of ``gains``, sorted.

    ``gains`` are not negative. A Steiner forest is cut to size along a spanning tree; the best of
    this and of trees of shortest paths around the heaviest nodes is improved by local search.
    `szoht.theory.graph_head_factor` says what the first step guarantees.
    """
    active = np.flatnonzero(gains)
    if graph.connect(active, size, components) is not None:
        return active
    nodes = steiner_nodes(graph, gains, components, least=(size + 1) // 2, most=8 * size)
    kept = _cut(graph, nodes, gains, size, components)
    kept = max([kept, *_starts(graph, gains, size)], key=lambda found: float(gains[found].sum()))
    for _ in range(IMPROVEMENT_ROUNDS):
        better = _improve(graph, kept, gains, size, components)
        if better is None:
            break
        kept = better
    return _without_zeros(graph, kept, gains, size, components)


def _starts(graph: Graph, gains: Vector, size: int) -> list[Indices]:
    """Return the best of trees around each of the heaviest nodes."""
    seeds = np.argsort(-gains, kind="stable")[: _trees(REGION * size)]
    if REGION * size >= graph.d:
        return [_best_on_paths(graph, np.arange(graph.d), seeds[:, None], gains, size)]
    return [
        _best_on_paths(graph, _extend(graph, seed, gains, REGION * size), seed[None], gains, size)
        for seed in seeds[:, None]
    ]


def steiner_nodes(
    graph: Graph, gains: Vector, components: int, *, least: int, most: int
) -> Indices:
    """Return the nodes of a Steiner forest, from ``least`` to ``most`` of them if that can be.

    The price of an edge falls until there are enough nodes, then is searched for between a price
    with too few and one with too many, as if the number were a power of the price. If the search
    fails there are too many, or all.
    """
    rank = min(least, gains.size)
    scale = 1.0 / (float(np.partition(gains, -rank)[-rank]) or float(gains.max()))
    few, many = (0.0, 1), (np.inf, gains.size)
    found = np.argsort(-gains, kind="stable")[:components]
    for _ in range(PRICES):
        nodes = graph.steiner_forest(scale * gains, components)
        if nodes.size <= most or found.size < least:
            found = nodes
        if least <= nodes.size <= most:
            break
        if nodes.size < least:
            few = scale, nodes.size
        else:
            many = scale, nodes.size
        if many[0] == np.inf:
            # forests with too many nodes take longest, and numbers rise steeply
            scale *= min(2**0.5, (1.5 * least / nodes.size) ** (1 / STEEPNESS))
        elif few[0] == 0.0:
            scale /= 2
        else:
            share = np.log(1.5 * least / few[1]) / np.log(many[1] / few[1])
            scale = few[0] * (many[0] / few[0]) ** float(np.clip(share, 0.2, 0.8))
    return found


def _trees(nodes: int) -> int:
    """Return how many trees of so many nodes to try."""
    return int(np.clip(TREE_NODES // nodes, *TREES))


def _cut(graph: Graph, nodes: Indices, gains: Vector, size: int, components: int) -> Indices:
    """Return the best part of ``nodes``, along a spanning forest of edges between large gains."""
    edges = graph.spanning_forest(nodes, 2.0 - gains / gains.max())
    place = np.full(graph.d, -1)
    place[nodes] = np.arange(nodes.size)
    if components == 1:
        return nodes[heaviest_subtree(place[edges], gains[nodes], size)]
    above, _ = graph.rooted(edges, nodes[np.argsort(-gains[nodes], kind="stable")])
    parents = [place[above[node]] if above[node] >= 0 else -1 for node in nodes.tolist()]
    return nodes[Forest(parents).best(gains[nodes], size)]


def _improve(
    graph: Graph, kept: Indices, gains: Vector, size: int, components: int
) -> Indices | None:
    """Return better nodes, or None: the best of trees of shortest paths from several roots.

    Trees are rooted at the heaviest node of each component, one of which is replaced in turn by
    each of the heaviest nodes around.
    """
    region = _extend(graph, kept, gains, REGION * size)
    if region.size == graph.d and components == 1:
        return None  # these trees were tried
    labels = graph.labels(kept)
    order = np.argsort(-gains[kept], kind="stable")
    roots = kept[order][np.unique(labels[order], return_index=True)[1]]
    label_of = dict(zip(kept.tolist(), labels.tolist(), strict=True))
    lightest = int(np.argmin(np.bincount(labels, gains[kept])))
    choices = []
    for seed in region[np.argsort(-gains[region], kind="stable")[: _trees(region.size)]].tolist():
        changed = roots.copy()
        if roots.size < components and seed not in label_of:
            changed = np.append(changed, seed)
        else:
            changed[label_of.get(seed, lightest)] = seed
        choices.append(changed)
    found = _best_on_paths(graph, region, choices, gains, size)
    return found if gains[found].sum() > gains[kept].sum() * (1 + 1e-12) else None


def _best_on_paths(
    graph: Graph, region: Indices, choices: Iterable[Indices], gains: Vector, size: int
) -> Indices:
    """Return the best part of forests of shortest paths in a region, one for each choice of roots.

    A path costs less the larger the gains of its nodes. The part contains the roots that it uses.
    """
    inside = np.zeros(graph.d, dtype=bool)
    inside[region] = True
    place = np.cumsum(inside) - 1
    ends = place[graph.within(inside)]
    weights = gains[region]
    scale = float(np.partition(weights, -size)[-size]) if region.size >= size else 0.0
    costs = np.maximum(1e-3, 1.0 - weights / (scale or float(weights.max()) or 1.0))
    one, other = np.vstack([ends, ends[:, ::-1]]).T
    paths = csr_array((costs[other], (one, other)), shape=(region.size, region.size))
    best, most = np.array([], dtype=np.intp), -1.0
    for roots in choices:
        distances, above, _ = dijkstra(
            paths, indices=place[roots], return_predecessors=True, min_only=True
        )
        reached = np.where(np.isinf(distances), 0.0, weights)  # what no path reaches adds nothing
        found = Forest(np.maximum(above, -1)).best(reached, size)
        if weights[found].sum() > most:
            best, most = region[found], float(weights[found].sum())
    return best


def _extend(graph: Graph, nodes: Indices, gains: Vector, size: int) -> Indices:
    """Return ``nodes`` and neighbors of theirs, those of largest gain first, ``size`` at most."""
    weights = gains.tolist()
    inside = set(nodes.tolist())
    seen = set(inside)
    border: list[tuple[float, int]] = []
    added = list(inside)
    while True:
        for node in added:
            for other in graph.neighbors[node]:
                if other not in seen:
                    seen.add(other)
                    heappush(border, (-weights[other], other))
        if not border or len(inside) >= size:
            return np.array(sorted(inside), dtype=np.intp)
        added = [heappop(border)[1]]
        inside.update(added)


def _without_zeros(
    graph: Graph, kept: Indices, gains: Vector, size: int, components: int
) -> Indices:
    """Return nodes whose positive gains are found to be connected, if need be fewer."""
    positive = kept[gains[kept] > 0]
    if positive.size == kept.size or graph.connect(positive, size, components) is not None:
        return kept
    labels = graph.labels(positive)
    heaviest = np.argsort(-np.bincount(labels, gains[positive]), kind="stable")[:components]
    return positive[np.isin(labels, heaviest)]
