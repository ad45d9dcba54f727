"""Sketches and hard thresholding: ten coordinates of up to a trillion from values."""

import numpy as np
import pytest

from outcomes import always, most_seeds
from sparse_runs import Quadratic, assert_same_run
from szoht import AskTell, SparseVector, Status, algorithms, minimize
from szoht.core.implicit import ImplicitSigns
from szoht.errors import ParameterError
from szoht.operators import Box
from szoht.samplers import Minibatch

PROBLEMS = {
    "plain": {},
    "other": {"seed": 1},
    "neighbours": {"support": 123_456 + np.arange(10)},
    "equal magnitudes": {"wanted": np.array([1.0, -1.0] * 5)},
    "four orders of magnitude": {"wanted": np.geomspace(1e-3, 10, 10)},
    "the ends": {"support": np.array([0, 10**6 - 1]), "wanted": np.array([1.0, 2.0])},
}


@pytest.mark.parametrize(
    ("d", "name"),
    [(10**6, "plain"), (10**6, "the ends"), (10**12, "plain"), (10**12, "neighbours")]
    + [(10**9, name) for name in PROBLEMS],
)
@most_seeds
def test_sketch_recovers_ten_coordinates_from_values(seed, d, name):
    problem = Quadratic(d, **PROBLEMS[name])
    queries = []

    def fun(x):
        queries.append(x)
        return problem.value(x)

    settings = {"k": 10, "method": "sketch_ht", "target": 1e-10, "max_queries": 6_000, "rng": seed}
    result = minimize(fun, SparseVector(d), **settings)
    always(len(queries) == result.nfev)
    assert result.status is Status.TARGET
    assert result.support.tolist() == problem.support.tolist()
    assert np.abs(result.x[problem.support] - problem.wanted).max() < 2e-5


@pytest.mark.parametrize("d", [30, 5_000])
def test_sketch_is_the_same_run_dense_and_sparse(d):
    problem = Quadratic(d, k=3)
    settings = {"k": 3, "method": "sketch_ht", "max_iterations": 8, "rng": 5}
    settings["options"] = {"mu": 1e-4}  # a sparse start is not tested for noise
    dense = minimize(problem.value, np.zeros(d), **settings)
    assert_same_run(dense, minimize(problem.value, SparseVector(d), **settings))
    # the same again; and with `along` for the axes beside lookups for the buckets, up to rounding
    again = minimize(problem.value, SparseVector(d), **settings)
    assert np.array_equal(again.x.toarray(), dense.x)
    widths = set()

    def along(x, indices, offsets):
        widths.add(indices.shape[1])
        return problem.along(x, indices, offsets)

    mixed = minimize(problem.value, SparseVector(d), along=along, **settings)
    assert np.array_equal(mixed.support, dense.support)
    assert widths == {1}


@most_seeds
def test_sketch_under_noise(seed):
    d = 10**9
    signs = np.array([1.0, -1.5, 2.0, -0.5, 1.0])
    problem = Quadratic(d, k=5, wanted=signs)
    noise = np.random.default_rng(seed)
    result = minimize(
        lambda x: problem.value(x) + 1e-3 * noise.standard_normal(),
        SparseVector(d),
        k=5,
        method="sketch_ht",
        options={"mu": 0.1},
        max_queries=3_000,
        rng=seed,
    )
    assert result.support.tolist() == problem.support.tolist()
    assert problem.value(result.x) < 1e-2


@most_seeds
def test_sketch_on_logistic_regression_with_hashed_features(seed):
    """Three hundred slots of a billion occur in the data, and the label depends on five."""
    d, n, active, k = 10**9, 300, 300, 5
    generator = np.random.default_rng(4)
    slots = np.sort(generator.choice(d, active, replace=False))
    features = generator.standard_normal((n, active)) * (generator.random((n, active)) < 0.1)
    relevant = np.sort(generator.choice(active, k, replace=False))
    features[:, relevant] = generator.standard_normal((n, k))
    labels = np.sign(features[:, relevant] @ np.array([1.5, -2.0, 1.0, -1.0, 2.0]))

    def fun(x):
        return float(np.logaddexp(0, -labels * (features @ x[slots])).mean())

    result = minimize(fun, SparseVector(d), k=k, method="sketch_ht", max_queries=3_000, rng=seed)
    assert result.support.tolist() == slots[relevant].tolist()
    assert result.fun < 0.3 * np.log(2)


@most_seeds
def test_sketch_survives_failures(seed):
    d, problem = 10**9, Quadratic(10**9, k=3)
    calls = []

    def fragile(x):
        calls.append(1)
        return float("nan") if len(calls) % 17 == 5 else problem.value(x)

    settings = {"k": 3, "method": "sketch_ht", "max_queries": 4_000, "rng": seed}
    result = minimize(fragile, SparseVector(d), on_error="skip", target=1e-8, **settings)
    assert result.status is Status.TARGET
    assert result.counts.failures > 3
    calls.clear()
    result = minimize(fragile, SparseVector(d), on_error="stop", **settings)
    assert result.status is Status.FAILED
    assert "one bucket of the others moved" in result.message


def test_rounds_of_an_iteration_share_a_hash_and_iterations_do_not():
    problem = Quadratic(10**9)
    run = AskTell(SparseVector(10**9), k=10, method="sketch_ht", max_queries=3_000, rng=0)
    seeds = {}
    while not run.done:
        plan = run.ask()
        for query in plan.queries:
            if isinstance(query.directions, ImplicitSigns):
                seeds.setdefault(run.state.iteration, set()).add(query.directions.seed)
        run.tell([problem.value(x) for x in plan.points()])
    assert all(len(of_iteration) == 1 for of_iteration in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) > 3
    other = AskTell(SparseVector(10**9), k=10, method="sketch_ht", max_queries=3_000, rng=1)
    assert other.ask().queries[-1].directions.seed not in set.union(*seeds.values())


def test_sketch_ht_hands_on_what_it_is_given():
    given = {"sampler": Minibatch(size=3), "iterate": "average", "step_size": 0.25}
    method = algorithms.sketch_ht(k=2, buckets=7, mu=0.5, **given)
    assert (method.sampler, method.iterate) == (given["sampler"], "average")
    assert method.update.step_size == 0.25
    assert (method.estimator.count, method.estimator.buckets, method.estimator.mu) == (2, 7, 0.5)
    with pytest.raises(ParameterError, match="must be a sparse set, with a `k`"):
        algorithms.sketch_ht(constraint=Box(low=-1.0, high=1.0))
