"""Variables that are free and not counted, through every way to state and solve a problem."""

from itertools import combinations

import numpy as np
import pytest

import szoht
from outcomes import always, most_seeds
from szoht import AskTell, SparseBox, Variables, minimize
from szoht.errors import CapabilityError, ParameterError

D, ALWAYS = 14, (0, 13)


def regression(seed, d=D, n=30, noise=0.5):
    """Return least squares whose free coordinates matter, its design and its response."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((n, d))
    design[:, 0] = 1.0
    y = design @ np.r_[3.0, np.zeros(d - 2), -1.0] + design[:, [3, 7]] @ [1.0, -2.0]
    y += noise * rng.standard_normal(n)
    return (lambda x: float(((design @ x - y) ** 2).mean())), design, y


def least(design, y, k, always):
    """Return the least value over all supports."""
    others = [i for i in range(design.shape[1]) if i not in always]

    def value(chosen):
        columns = design[:, [*always, *chosen]]
        fit = np.linalg.lstsq(columns, y, rcond=None)[0]
        return float(((columns @ fit - y) ** 2).mean())

    return min(value(chosen) for chosen in combinations(others, k))


@pytest.mark.parametrize("k", [1, 3])
@most_seeds
def test_the_best_of_all_supports_is_found(k, seed):
    fun, design, y = regression(seed)
    result = minimize(fun, np.zeros(D), k=k, always=ALWAYS, max_queries=3_000, rng=seed)
    always(np.count_nonzero(np.delete(result.x, ALWAYS)) <= k)
    assert result.fun <= least(design, y, k, ALWAYS) * (1 + 1e-6)


def test_every_answer_counts_the_others_only():
    fun, *_ = regression(5)
    seen = []
    minimize(
        fun,
        np.zeros(D),
        k=2,
        always=ALWAYS,
        bounds=(-4.0, 4.0),
        max_queries=500,
        rng=0,
        callback=lambda progress: seen.append(progress.best_x.copy()),
    )
    assert max(np.count_nonzero(np.delete(x, ALWAYS)) for x in seen) == 2
    assert max(np.count_nonzero(x[list(ALWAYS)]) for x in seen) == 2


def test_names_and_numbers_say_the_same():
    fun, *_ = regression(1)
    names = ["intercept", *[f"x{i}" for i in range(1, D)]]
    variables = Variables(np.zeros(D), names=names)
    by_name = minimize(fun, variables, k=2, always=["intercept", "x13"], max_queries=300, rng=0)
    by_number = minimize(fun, variables, k=2, always=ALWAYS, max_queries=300, rng=0)
    assert np.array_equal(by_name.x, by_number.x)
    assert {"intercept", "x13"} <= {names[i] for i in by_name.support}


@most_seeds
def test_the_path_counts_the_others_only(seed):
    fun, design, y = regression(2, noise=0.1)
    result = minimize(fun, np.zeros(D), always=ALWAYS, max_queries=4_000, rng=seed)
    for point in result.path:
        always(np.count_nonzero(np.delete(point.x, ALWAYS)) <= point.k)
    assert set(result.support) == {0, 3, 7, 13}
    assert result.path[0].k == 0
    assert result.path[0].fun <= least(design, y, 0, ALWAYS) * (1 + 1e-3)


@pytest.mark.parametrize("method", ["szoht", "zoro", "iht", "sketch_ht", "zo_adamm"])
@most_seeds
def test_named_methods_keep_them_free(seed, method):
    target = np.zeros(40)
    target[[0, 5, 9, 39]] = [0.1, 1.0, -2.0, 0.2]
    result = minimize(
        lambda x: float(((x - target) ** 2).sum()),
        np.zeros(40),
        gradient=lambda x: 2 * (x - target),
        k=2,
        always=[0, 39],
        method=method,
        max_queries=3_000,
        rng=seed,
    )
    always(np.count_nonzero(result.x[1:-1]) <= 2)
    assert set(result.support) >= {0, 5, 9}


@most_seeds
def test_ask_tell_and_noise(seed):
    rng = np.random.default_rng(seed)
    target = np.zeros(30)
    target[[0, 5, 9]] = [2.0, 1.0, -2.0]
    run = AskTell(np.zeros(30), k=2, always=[0], max_queries=1_000, rng=seed)
    while not run.done:
        points = run.ask().points()
        run.tell(((points - target) ** 2).sum(axis=1) + 0.01 * rng.standard_normal(len(points)))
    assert set(run.result.support) == {0, 5, 9}


@most_seeds
def test_a_stored_run_knows_them(seed, tmp_path):
    fun, *_ = regression(3)
    whole = minimize(fun, np.zeros(D), k=2, always=ALWAYS, max_queries=200, rng=seed)
    store = tmp_path / f"runs{seed}"
    minimize(fun, np.zeros(D), k=2, always=ALWAYS, max_queries=100, rng=seed, store=store)
    resumed = szoht.resume(store, fun, max_queries=200)
    always(np.count_nonzero(np.delete(resumed.x, ALWAYS)) <= 2)
    assert resumed.fun <= whole.fun * (1 + 0.5)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"k": 2, "always": ["b"]}, ParameterError, "got 'b', and they have none"),
        ({"k": 2, "always": [5]}, ParameterError, "got always=5 with d - 1=4"),
        (
            {"constraint": szoht.SparseSimplex(2), "always": [0]},
            CapabilityError,
            "Sparse or SparseBox",
        ),
        ({"k": 2, "always": [0], "integer": [True] * 5}, CapabilityError, "raise `k` by 1"),
        ({"method": szoht.algorithms.szoht(k=2, d=5), "always": [0]}, ParameterError, "algorithm"),
        (
            {
                "constraint": SparseBox(2, low=-1.0, high=1.0),
                "always": [0],
                "method": "sparse_rs",
            },
            CapabilityError,
            "use method 'auto'",
        ),
    ],
)
def test_what_is_not_served_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        minimize(lambda x: float(x @ x), np.zeros(5), max_queries=10, **settings)


def test_many_outputs_count_all():
    with pytest.raises(CapabilityError, match="raise `k` by 1"):
        minimize(
            lambda x: x**2,
            np.zeros(5),
            constraint=szoht.Sparse(2, always=[0]),
            returns="components",
            max_queries=20,
        )
