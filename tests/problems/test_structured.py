"""Structured problems: facts that hold, and answers that `szoht` finds."""

import pickle
from typing import get_args

import numpy as np
import pytest

import szoht
from outcomes import always, most_seeds
from szoht import problems
from szoht.errors import ParameterError
from szoht.problems.structured import StructureName

NAMES = get_args(StructureName)


@pytest.mark.parametrize("loss", ["squares", "log_cosh"])
@pytest.mark.parametrize("name", NAMES)
def test_facts_hold(name, loss):
    problem = problems.structured(name, loss=loss, rng=3)
    f, d = problem.objective, problem.dimension
    rng = np.random.default_rng(0)
    points = rng.standard_normal((3, d))
    assert f.values(points, None) == pytest.approx([f.value(x, None) for x in points])
    u = rng.standard_normal(d)
    slope = (f.value(points[0] + 1e-6 * u, None) - f.value(points[0] - 1e-6 * u, None)) / 2e-6
    assert f.gradient(points[0], None) @ u == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert problem.constraint.contains(problem.x0)
    assert problem.constraint.contains(problem.best_x)
    assert f.value(problem.best_x, None) == pytest.approx(0.0, abs=1e-12) == problem.best
    assert f.value(problem.x0, None) > 0.01
    again = problems.structured(name, loss=loss, rng=3)
    assert np.array_equal(again.best_x, problem.best_x)
    pickle.dumps(f)


@pytest.mark.parametrize("name", NAMES)
@most_seeds
def test_szoht_solves_them_within_the_set(seed, name):
    problem = problems.structured(name, rng=5)
    start = problem.objective.value(problem.x0, None)
    result = szoht.minimize(
        problem.objective,
        problem.x0,
        constraint=problem.constraint,
        method="szoht",
        target=1e-2 * start,
        max_queries=6_000,
        rng=seed,
    )
    always(problem.constraint.contains(result.x))
    assert result.status is szoht.Status.TARGET


def test_unknown_structures_and_losses():
    with pytest.raises(ParameterError, match="`structure` must be one of 'groups'"):
        problems.structured("ring")
    with pytest.raises(ParameterError, match="`loss` must be one of"):
        problems.structured("tree", loss="absolute")


def test_neighbors_of_a_grid():
    edges = problems.grid_edges(3, 4)
    assert len(edges) == 3 * 3 + 2 * 4
    assert {tuple(edge) for edge in edges.tolist()} >= {(0, 1), (0, 4), (10, 11), (7, 11)}
