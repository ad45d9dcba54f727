"""The heaviest subtree anywhere in a tree, against brute force."""

import numpy as np
import pytest

from operators.graphs import connected_sets, random_graph
from szoht.operators.forest import heaviest_subtree


@pytest.mark.parametrize("seed", range(40))
def test_heaviest_subtree(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 13))
    edges = random_graph(d, d - 1, rng)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0, 7.0], d) + rng.random(d) * (seed % 2)
    for size in range(1, d + 1):
        nodes = heaviest_subtree(edges, weights, size)
        assert nodes.size <= size
        best = max((connected_sets(edges, d, s) @ weights).max() for s in range(1, size + 1))
        assert weights[nodes].sum() == pytest.approx(best, rel=1e-12)
        row = np.zeros(d)
        row[nodes] = 1
        assert (connected_sets(edges, d, nodes.size) == row).all(axis=1).any()
