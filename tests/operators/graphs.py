"""Small graphs, and all of their connected sets of nodes."""

import numpy as np


def grid(rows, columns):
    """Return the edges between neighbors of a grid."""
    node = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    down = np.column_stack([node[:-1].ravel(), node[1:].ravel()])
    return np.vstack([across, down])


def random_graph(d, m, rng):
    """Return m edges, the first of which connect all nodes."""
    tree = [(i, int(rng.integers(i))) for i in range(1, d)]
    more = [rng.choice(d, 2, replace=False) for _ in range(m - len(tree))]
    return np.array([*tree, *more])


def connected_sets(edges, d, size):
    """Return all connected sets of so many nodes, as rows of zeros and ones."""
    neighbors = [0] * d
    for one, other in np.asarray(edges).tolist():
        neighbors[one] |= 1 << other
        neighbors[other] |= 1 << one
    found = {1 << i for i in range(d)}
    for _ in range(size - 1):
        larger = set()
        for nodes in found:
            around = 0
            for i in range(d):
                around |= neighbors[i] if nodes >> i & 1 else 0
            larger |= {nodes | 1 << i for i in range(d) if (around & ~nodes) >> i & 1}
        found = larger
    return np.array([[nodes >> i & 1 for i in range(d)] for nodes in sorted(found)], dtype=float)


def grown_clusters(edges, prizes, components):
    """Return the clusters of Goemans and Williamson when so many are active: naively."""
    clusters = [{i} for i in range(len(prizes))]
    left = {frozenset(cluster): prizes[next(iter(cluster))] for cluster in clusters}
    grown = np.zeros(len(prizes))
    pairs = np.asarray(edges).tolist()
    while True:
        active = [cluster for cluster in clusters if left[frozenset(cluster)] > 1e-12]
        if not active:
            return clusters
        of = {i: cluster for cluster in clusters for i in cluster}
        rates = {i: int(of[i] in active) for i in of}
        events = [(left[frozenset(cluster)], 1, cluster, None) for cluster in active]
        for u, v in pairs:
            rate = rates[u] + rates[v]
            if of[u] is not of[v] and rate:
                events.append(((1 - grown[u] - grown[v]) / rate, 0, of[u], of[v]))
        step, _, one, other = min(events, key=lambda event: event[:2])
        # until 1/2 the number of active ones does not matter: then all large neighbors meet
        if len(active) <= components and grown.max() + step > 0.5 + 1e-12:
            return clusters
        for cluster in active:
            left[frozenset(cluster)] -= step
            grown[list(cluster)] += step
        if other is None:
            left[frozenset(one)] = 0.0
        else:
            clusters = [c for c in clusters if c is not one and c is not other] + [one | other]
            left[frozenset(one | other)] = left[frozenset(one)] + left[frozenset(other)]
