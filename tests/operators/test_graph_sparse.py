"""Connected supports against brute force, and in the set always."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.graphs import connected_sets, grid, random_graph
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.operators import GraphSparse
from szoht.operators.connected import _without_zeros
from szoht.operators.steiner import Graph
from szoht.theory import graph_head_factor


@pytest.mark.parametrize(("k", "exact"), [(3, 40), (5, 39), (7, 37)])
def test_most_results_on_a_small_grid_are_the_projection(k, exact):
    edges = grid(4, 4)
    sets = connected_sets(edges, 16, k)
    operator = GraphSparse(k, edges)
    ratios = []
    for seed in range(40):
        y = np.random.default_rng(seed).standard_normal(16)
        x = operator.prox(y, 1.0)
        assert np.array_equal(x[x != 0], y[x != 0])
        ratios.append((x**2).sum() / (sets @ y**2).max())
    assert max(ratios) <= 1 + 1e-12
    assert min(ratios) > 0.96
    assert sum(ratio > 1 - 1e-12 for ratio in ratios) >= exact


@pytest.mark.parametrize("seed", range(10))
def test_no_part_smaller_than_guaranteed_is_kept(seed):
    rng = np.random.default_rng(seed)
    d, k = 12, 4
    edges = random_graph(d, 14, rng)
    y = rng.standard_normal(d) * rng.choice([0.1, 1.0, 10.0], d)
    best = (connected_sets(edges, d, k) @ y**2).max()
    x = GraphSparse(k, edges).prox(y, 1.0)
    assert graph_head_factor(k=k, nodes=2 * k - 1) * best <= (x**2).sum() <= best * (1 + 1e-12)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 3), st.booleans())
@settings(deadline=None, max_examples=60)
def test_results_are_connected_and_of_size_k(seed, k, components, bounded):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(12, 40))
    edges = random_graph(d, d + int(rng.integers(0, 20)), rng)[int(rng.integers(0, 4)) :]
    y = rng.standard_normal(d) * (rng.random(d) < rng.choice([0.2, 1.0]))
    low, high = (0.0, 0.7) if bounded else (-np.inf, np.inf)
    components = min(k, components)
    operator = GraphSparse(k, edges, components, low, high)
    operator.check(d)
    x = operator.prox(y, 1.0)
    assert operator.contains(x)
    assert np.count_nonzero(x) <= k
    assert np.array_equal(operator.prox(x, 1.0), x)
    if (x != 0).sum() == k:  # no zeros are needed to connect them
        assert operator.graph(d).labels(np.flatnonzero(x)).max() < components


def test_weights_multiply_the_gains():
    path = GraphSparse(2, [[0, 1], [1, 2], [2, 3]])
    y = np.array([2.0, 2.0, 1.0, 1.0])
    assert path.prox(y, 1.0).tolist() == [2, 2, 0, 0]
    assert path.weighted_prox(y, 1.0, np.array([1.0, 1.0, 9.0, 9.0])).tolist() == [0, 0, 1, 1]


def test_a_tail_is_at_least_as_near_as_any_k_nodes():
    edges = grid(4, 4)
    sets = connected_sets(edges, 16, 4)
    sizes = []
    for seed in range(20):
        y = np.random.default_rng(seed).standard_normal(16)
        x = GraphSparse(4, edges).tail(y)
        sizes.append(np.count_nonzero(x))
        assert GraphSparse(4, edges).graph(16).labels(np.flatnonzero(x)).max() == 0
        assert ((x - y) ** 2).sum() <= (y @ y - sets @ y**2).min() + 1e-12
    assert min(sizes) >= 7
    assert np.median(sizes) <= 12
    with pytest.raises(CapabilityError, match="one component"):
        GraphSparse(4, edges, components=2).tail(y)


def test_two_components_are_near_the_best():
    edges = grid(3, 4)
    operator = GraphSparse(5, edges, components=2)
    graph = operator.graph(12)
    sets = [
        nodes
        for nodes in map(np.array, combinations(range(12), 5))
        if graph.labels(nodes).max() < 2
    ]
    for seed in range(15):
        gains = np.random.default_rng(seed).standard_normal(12) ** 2
        kept = operator.select(gains, 5)
        best = max(gains[nodes].sum() for nodes in sets)
        assert 0.85 * best <= gains[kept].sum() <= best * (1 + 1e-12)


def test_several_regions():
    y = np.zeros(100)
    y[[11, 12, 22, 77, 78]] = [3.0, 2.0, 2.0, 4.0, 4.0]
    y += 0.1 * np.sin(np.arange(100))
    x = GraphSparse(5, grid(10, 10), components=2).prox(y, 1.0)
    assert np.flatnonzero(x).tolist() == [11, 12, 22, 77, 78]


def test_zeros_that_connect_nothing_are_not_relied_on():
    """Entries 0 and 2 need node 1, for which there is no room: the heavier one is left."""
    graph = Graph(3, np.array([[0, 1], [1, 2]]))
    gains = np.array([1.0, 0.0, 2.0])
    assert _without_zeros(graph, np.arange(3), gains, 2, 1).tolist() == [2]
    assert _without_zeros(graph, np.arange(3), gains, 3, 1).tolist() == [0, 1, 2]


def test_entries_in_between_may_be_zero():
    operator = GraphSparse(3, [[0, 1], [1, 2], [2, 3]])
    assert operator.contains(np.array([1.0, 0.0, 2.0, 0.0]))
    assert not operator.contains(np.array([1.0, 0.0, 0.0, 2.0]))
    assert not operator.contains(np.array([1.0, 1.0, 1.0, 2.0]))
    bounded = GraphSparse(3, [[0, 1], [1, 2], [2, 3]], low=0.0, high=1.0)
    assert not bounded.contains(np.array([2.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((0, [[0, 1]]), "`k` must be an integer"),
        ((2, [[0, 1]], 3), "`components` must be an integer in"),
        ((1, [0, 1]), r"`edges` must have shape \(m, 2\)"),
        ((1, [[0.0, 1.0]]), "`edges` must hold integers"),
        ((1, [[0, -1]]), "`edges` must not be negative"),
        ((1, [[0, 5]]), "numbers in \\[0, d - 1\\]; got 5 with d=4"),
        ((5, [[0, 1]]), "got k=5 with d=4"),
    ],
)
def test_graphs_that_make_no_sense(arguments, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        GraphSparse(*arguments).check(4)
