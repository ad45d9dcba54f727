"""Prize-collecting Steiner trees against all connected sets of small graphs."""

import numpy as np
import pytest

from operators.graphs import connected_sets, grid, grown_clusters, random_graph
from szoht.operators.steiner import Graph, _Growth


@pytest.mark.parametrize("seed", range(30))
def test_no_tree_has_half_the_edges_and_larger_prizes(seed):
    """The inequality of Goemans and Williamson, for all connected sets of nodes."""
    rng = np.random.default_rng(seed)
    d = 9
    edges = grid(3, 3) if seed % 2 else random_graph(d, 12, rng)
    trees = np.vstack([connected_sets(edges, d, size) for size in range(1, d + 1)])
    for scale in (0.2, 0.5, 1.0, 2.0, 5.0):
        prizes = scale * rng.standard_normal(d) ** 2
        nodes = Graph(d, edges).steiner_forest(prizes, 1)
        assert Graph(d, edges).labels(nodes).max() == 0
        ours = nodes.size - 1 + 2 * (prizes.sum() - prizes[nodes].sum())
        others = 2 * (trees.sum(axis=1) - 1) + 2 * (prizes.sum() - trees @ prizes)
        assert ours <= others.min() + 1e-9


def test_a_forest_has_as_many_trees_as_allowed():
    rng = np.random.default_rng(0)
    graph = Graph(100, grid(10, 10))
    for components in (1, 2, 5):
        for scale in (0.1, 0.3, 1.0):
            nodes = graph.steiner_forest(scale * rng.standard_normal(100) ** 2, components)
            assert 1 <= graph.labels(nodes).max() + 1 <= components


def test_a_path_between_two_prizes_is_worth_its_edges():
    path = Graph(5, np.array([[0, 1], [1, 2], [2, 3], [3, 4]]))
    assert path.steiner_forest(np.array([3.0, 0, 0, 0, 3.0]), 1).tolist() == [0, 1, 2, 3, 4]
    assert path.steiner_forest(np.array([1.5, 0, 0, 0, 1.0]), 1).tolist() == [0]
    assert path.steiner_forest(np.array([1.5, 0, 0, 0, 1.0]), 2).tolist() == [0, 4]


def test_zeros_connect():
    graph = Graph(6, np.array([[0, 1], [1, 2], [2, 3], [4, 5]]))
    assert graph.connect(np.array([0, 2]), 3, 1).tolist() == [0, 1, 2]
    assert graph.connect(np.array([0, 2]), 2, 1) is None
    assert graph.connect(np.array([0, 2]), 2, 2).tolist() == [0, 2]
    assert graph.connect(np.array([0, 4]), 6, 1) is None


@pytest.mark.parametrize("seed", range(40))
def test_clusters_grow_and_merge_as_in_the_paper(seed):
    """Against a simulation that looks at all edges and clusters at each event."""
    rng = np.random.default_rng(seed)
    d = 16
    edges = np.unique(np.sort(grid(4, 4) if seed % 2 else random_graph(d, 22, rng), axis=1), axis=0)
    for scale in (0.3, 0.6, 1.0, 2.0):
        prizes = scale * rng.standard_normal(d) ** 2
        for components in (1, 2, 3):
            joined = _Growth(Graph(d, edges), prizes).run(components)
            # which of several that meet at one time merge, is not determined; how many is
            assert len(joined) == d - len(grown_clusters(edges, prizes, components))


def test_of_two_shortest_paths_the_one_that_touches_more():
    graph = Graph(5, np.array([[0, 3], [3, 1], [0, 4], [4, 1], [4, 2]]))
    assert graph.connect(np.array([0, 1, 2]), 4, 1).tolist() == [0, 1, 2, 4]
