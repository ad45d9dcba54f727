"""What both searches among the vertices of a box promise."""

import numpy as np
import pytest

from algorithms.vertex.problem import HIGH, LOW, SLOPES, bent
from outcomes import most_seeds
from szoht import GroupSparse, SparseBox, algorithms, minimize
from szoht.errors import ParameterError


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
@most_seeds
def test_all_units_in_use(seed, method):
    """With k = d only vertices can change."""
    result = minimize(
        bent,
        np.zeros(12),
        constraint=SparseBox(12, low=LOW, high=HIGH),
        method=method,
        max_queries=400,
        rng=seed,
    )
    assert result.fun < 0.7 * sum(
        min(bent(np.eye(12)[i] * b[i]) for b in (LOW, HIGH)) for i in range(12)
    )


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_a_constant_added_to_f_changes_nothing(method):
    """What counts is how values differ from each other, and from the value at zero."""
    asked = {0.0: [], 64.0: []}
    for constant, points in asked.items():

        def fun(x, constant=constant, points=points):
            points.append(x.copy())
            return constant + bent(x)

        box = SparseBox(4, low=LOW, high=HIGH)
        minimize(fun, np.zeros(12), constraint=box, method=method, max_queries=60, rng=3)
    assert np.array_equal(asked[0.0], asked[64.0])


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_a_finite_sum_is_taken_as_a_whole(method):
    """Values of different samples could not be compared."""
    seen = []

    def fun(x, sample):
        seen.append(sample)
        return bent(x) + float(np.sum(sample))

    minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        n_samples=5,
        max_queries=100,
        rng=3,
    )
    assert all(np.array_equal(sample, np.arange(5)) for sample in seen)


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_failed_points_are_never_kept(method):
    def fun(x):
        return bent(x) if x[3] == 0 else float("nan")

    result = minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        max_queries=200,
        on_error="skip",
        rng=3,
    )
    assert result.x[3] == 0
    assert np.isfinite(result.fun)
    assert result.counts.failures > 0


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
@most_seeds
def test_a_failure_at_the_first_point_is_no_obstacle(seed, method):
    calls = []

    def fun(x):
        calls.append(x.any())
        return bent(x) if sum(calls) > 1 else float("nan")

    result = minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        max_queries=150,
        on_error="skip",
        rng=seed,
    )
    assert result.fun < 0.9 * sum(np.sort(np.minimum(SLOPES * LOW, SLOPES * HIGH))[:4])


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"k": 3}, "needs a sparse set within bounds"),
        ({"constraint": SparseBox(3, low=0.0, high=np.inf)}, "needs finite bounds"),
        ({"constraint": GroupSparse(k=3, size=2)}, "needs finite bounds"),
    ],
)
def test_searches_need_a_box(method, given, complaint):
    with pytest.raises(ParameterError, match=complaint):
        algorithms.METHODS[method](**given)
