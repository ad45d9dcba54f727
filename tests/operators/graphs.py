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
