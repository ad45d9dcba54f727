"""Where runs start: outside the set, from other libraries, and from sparse vectors."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

from outcomes import most_seeds
from sparse_runs import Quadratic, assert_same_run
from szoht import (
    AskTell,
    Objective,
    Sparse,
    SparseBox,
    SparseSimplex,
    SparseSum,
    SparseVector,
    Status,
    SzohtWarning,
    algorithms,
    errors,
    minimize,
)
from szoht.errors import CapabilityError, StartWarning
from szoht.schedules import Polynomial

D = 40
TARGET = np.zeros(D)
TARGET[[3, 17, 29]] = [1.0, -2.0, 0.5]
SETTINGS = [
    {"step_size": 0.01},
    {},
    {"step_size": Polynomial(start=0.02), "central": True},
    {"orthogonal": True, "iterate": "last"},
    {"step_size": 0.01, "iterate": "average"},
]


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def test_an_infeasible_start_is_projected_with_a_warning():
    with pytest.warns(SzohtWarning, match="`x0` lies outside"):
        result = minimize(quadratic, np.ones(D), k=3, max_queries=200, rng=0, method="szoht")
    assert len(result.support) <= 3


def test_the_start_is_not_changed():
    x0 = np.zeros(D)
    minimize(quadratic, x0, k=3, max_queries=200, rng=0, method="szoht")
    assert x0.flags.writeable
    assert np.array_equal(x0, np.zeros(D))


def test_the_run_starts_from_the_projection():
    with pytest.warns(StartWarning):
        run = AskTell(np.array([1.0, 3, 2]), k=1, options={"q": 2}, rng=0, method="szoht")
    assert np.array_equal(run.ask().queries[0].base, [0, 3, 0])


def test_a_start_from_torch_is_read_without_a_warning():
    torch = pytest.importorskip("torch")
    for start in (torch.zeros(10), torch.zeros(10, requires_grad=True)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = minimize(lambda x: float(x @ x), start, k=3, max_queries=50, rng=0)
        assert result.x.size == 10


def never(*_):
    pytest.fail("a query was spent")


@pytest.mark.parametrize("kind", ["bfloat16", "complex64"])
def test_a_start_from_torch_that_numpy_cannot_hold(kind):
    torch = pytest.importorskip("torch")
    start = torch.zeros(10, dtype=getattr(torch, kind))
    with pytest.raises(errors.ParameterTypeError, match="`x0` must be a 1-d array of real numbers"):
        minimize(never, start, k=3)


@pytest.mark.parametrize(
    ("d", "method", "options"),
    [(d, "szoht", options) for options in SETTINGS for d in (2_000, 50_000)]
    + [(2_000, "hzo_ht", SETTINGS[0]), (2_000, "hzo_ht", SETTINGS[1])],
    ids=str,
)
def test_sparse_iterates_are_the_dense_ones_bit_for_bit(d, method, options):
    settings = {
        "k": 10,
        "method": method,
        "options": {"q": 100, "mu": 1e-6, "support_size": 50, **options},
        "max_iterations": 12,
        "rng": 3,
    }
    problem = Quadratic(d)
    start = np.zeros(d)
    start[[5, 17]] = [1.0, -0.3]
    thin_start = sparse.coo_array(start)
    assert_same_run(minimize(problem, start, **settings), minimize(problem, thin_start, **settings))
    # and for a plain function, which is handed sparse points one at a time
    fun, settings = problem.value, settings | {"max_iterations": 3}
    assert_same_run(minimize(fun, start, **settings), minimize(fun, thin_start, **settings))


def test_ask_tell_gives_the_same_run():
    d, problem = 2_000, Quadratic(2_000)
    settings = {"k": 3, "method": "szoht", "options": {"q": 40, "support_size": 30}, "rng": 0}
    run = AskTell(SparseVector(d), max_queries=600, **settings)
    while not run.done:
        run.tell([problem.value(x) for x in run.ask().points()])
    twin = minimize(problem.value, np.zeros(d), max_queries=600, **settings)
    assert np.array_equal(run.result.x.toarray(), twin.x)
    base, offsets = AskTell(SparseVector(d), max_queries=600, **settings).ask().sparse_points()[0]
    assert isinstance(base, SparseVector)
    assert offsets.shape == (41, d)


def test_a_billion_coordinates_leave_no_trace():
    d = 10**9
    result = minimize(
        Quadratic(d),
        SparseVector(d, [3, 4], [1.0, 1.0]),
        k=10,
        method="szoht",
        options={"q": 30, "support_size": 20},
        max_iterations=3,
        callback=lambda progress: len(pickle.dumps(progress.x)) > 1000,
        rng=0,
    )
    assert result.status is Status.ITERATIONS
    assert isinstance(result.x, SparseVector)
    assert "(d = 1000000000)" in str(result)


def test_a_start_with_too_many_entries_is_projected():
    with pytest.warns(StartWarning, match="3 non-zeros"):
        run = AskTell(
            SparseVector(10**9, [1, 2, 3], [3.0, 1.0, 2.0]),
            method=algorithms.szoht(k=2, q=5, support_size=5),
            max_iterations=1,
        )
    assert run.state.x.indices.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"k": 2, "method": "szoht", "options": {"q": 5, "support_size": 100}}, "Sphere"),
        ({"k": 2, "method": "szoht"}, "Sphere"),
        ({"k": 2, "method": "truncated_zsgd"}, "Gaussian"),
        ({"k": 2, "method": "momentum_szoht", "options": {"support_size": 9}}, "Momentum"),
        ({"method": algorithms.auto(k=2)}, "Auto"),
        (
            {
                "constraint": SparseBox(2, low=-1.0, high=1.0),
                "method": "szoht",
                "options": {"support_size": 9},
            },
            "SparseBox",
        ),
    ],
)
def test_dense_parts_are_named(settings, part):
    with pytest.raises(CapabilityError, match=rf"{part}.*Pass `x0` as an array"):
        minimize(lambda x: 0.0, SparseVector(100), **settings)


def test_dense_functions_are_told_the_remedy():
    method = algorithms.szoht(k=2, q=5, support_size=5)
    with pytest.raises(CapabilityError, match=r"vectorized.*Pass `x0` as an array"):
        minimize(lambda x: x.sum(axis=1), SparseVector(100), method=method, vectorized=True)
    with pytest.raises(TypeError, match="pass `x0` as an array"):
        minimize(lambda x: float(np.sum(x**2)), SparseVector(100), method=method)


def test_objectives_with_every_power_keep_their_choice():
    problem = Quadratic(1_000, k=2)
    both = Objective(
        value=problem.value, along=problem.along, values=lambda points, _: points[:, 0]
    )
    with pytest.raises(CapabilityError, match="`values`"):
        minimize(both, SparseVector(1_000), k=2, method="szoht", options={"support_size": 5})


@most_seeds
def test_the_default_method_takes_a_sparse_start(seed):
    relevant = np.array([3, 10**8])
    settings = {"k": 2, "max_queries": 400, "rng": seed}

    def fun(x):
        return float(((x[relevant] - 1.0) ** 2).sum())

    default = minimize(fun, SparseVector(10**9), **settings)
    named = minimize(fun, SparseVector(10**9), method="sketch_ht", **settings)
    assert default.support.tolist() == relevant.tolist()
    assert (default.fun, default.nfev) == (named.fun, named.nfev)


@pytest.mark.parametrize(
    ("constraint", "remedy"), [(Sparse(2), True), (SparseSimplex(2), False), (SparseSum(2), False)]
)
def test_changes_are_counted_only_by_sets_that_count(constraint, remedy):
    with pytest.warns(StartWarning) as caught:
        AskTell(np.ones(5), constraint=constraint, max_queries=9)
    assert ("reference=x0" in str(caught[0].message)) is remedy
