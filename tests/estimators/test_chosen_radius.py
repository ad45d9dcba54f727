"""Where no radius is given, it is chosen by the noise of f."""

import functools
import hashlib
import inspect
from dataclasses import replace

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht import SparseVector, algorithms, minimize, resume
from szoht.algorithms.registry import METHODS, build
from szoht.estimators import Coordinate
from szoht.estimators.chosen_radius import ChosenRadius

D, K = 200, 5
RNG = np.random.default_rng(0)
TARGET = np.zeros(D)
TARGET[RNG.choice(D, K, replace=False)] = RNG.choice([-1, 1], K) * RNG.uniform(1, 3, K)
START_VALUE = float(TARGET @ TARGET)
N_TESTED = 7
WITH_RADIUS = [n for n, make in METHODS.items() if "mu" in inspect.signature(make).parameters]
FINITE_SUM = ("saga_szht", "sarah_szht", "vr_szht")


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def fixed_error(x, share=4.5e-8):
    """Return the same error for the same point, another for every other."""
    digest = hashlib.blake2b(x.tobytes(), digest_size=8).digest()
    uniform = 2 * int.from_bytes(digest, "little") / 2**64 - 1
    return quadratic(x) + np.sqrt(3) * share * START_VALUE * uniform


def gap(result):
    return quadratic(result.x) / START_VALUE


def algorithm(name, **options):
    given = {"step_size": 0.01, "q": 5} if name in FINITE_SUM else {}
    given |= {"radius": 20.0} if "radius" in inspect.signature(METHODS[name]).parameters else {}
    constraint = "constraint" in inspect.signature(METHODS[name]).parameters
    return build(
        name,
        x0=np.zeros(D),
        k=K if constraint else None,
        constraint=None,
        options=given | options,
        n_samples=3 if name in FINITE_SUM else None,
        stochastic=False,
    )


def run(fun, method, **settings):
    return minimize(fun, np.zeros(D), method=method, **{"max_queries": 3000, "rng": 0} | settings)


@pytest.mark.parametrize(("name", "untested"), [("zoro", 0.1), ("ada_zoro", 0.01)])
@most_seeds
def test_zoro_under_a_fixed_error(seed, name, untested):
    method = algorithm(name)
    assert gap(run(fixed_error, replace(method, choose_radius=False), rng=seed)) > untested
    result = run(fixed_error, method, rng=seed)
    assert gap(result) < 1e-6
    assert "fixed error" in result.explain[0]
    assert "mu = " in result.explain[0]


@pytest.mark.parametrize("options", [{}, {"central": True}, {"step_size": 0.05}])
@most_seeds
def test_szoht_under_fresh_noise(seed, options):
    rng, method = np.random.default_rng([seed, 1]), algorithm("szoht", **options)
    result = run(lambda x: quadratic(x) + 1e-6 * rng.standard_normal(), method, rng=seed)
    assert gap(result) < 1e-3 if "step_size" in options else gap(result) < 1e-6
    assert "fresh noise" in result.explain[0]


@pytest.mark.parametrize("name", WITH_RADIUS)
def test_exact_values_keep_the_default_radius(name):
    method, settings = algorithm(name), {"max_queries": None, "max_iterations": 3}
    fun = quadratic
    if name in FINITE_SUM:
        settings["n_samples"] = 3

        def fun(x, sample):
            return quadratic(x)

    assert method.choose_radius
    tested, plain = (
        run(fun, m, **settings) for m in (method, replace(method, choose_radius=False))
    )
    assert np.array_equal(tested.x, plain.x)
    assert tested.nfev - plain.nfev == N_TESTED * (3 if name in FINITE_SUM else 1)
    assert "the default radius is kept" in tested.explain[0]
    assert not algorithm(name, mu=1e-5).choose_radius


@most_seeds
def test_rounding_of_single_precision_is_a_fixed_error(seed):
    result = run(lambda x: float(np.float32(quadratic(x))), algorithm("szoht"), rng=seed)
    assert gap(result) < 1e-6


@pytest.mark.parametrize("fun", [fixed_error, quadratic])
def test_a_resumed_run_chooses_the_same(tmp_path, fun):
    whole = run(fun, algorithm("zoro"))
    path = tmp_path / "run.db"
    first = run(fun, algorithm("zoro"), max_queries=150, store=path)
    again = resume(path, fun, run=first.run, max_queries=3000)
    assert np.array_equal(again.x, whole.x)
    assert again.explain == whole.explain


def test_a_sparse_start_is_not_tested():
    options = {"q": 10, "support_size": 20, "step_size": 0.1}
    result = minimize(
        lambda x: float((x.values**2).sum()) if isinstance(x, SparseVector) else 0.0,
        SparseVector(D),
        k=K,
        method="szoht",
        options=options,
        max_iterations=2,
        rng=0,
    )
    assert result.explain == ()


@pytest.mark.parametrize("spoiled", [np.nan, 1e6], ids=["a point that fails", "an outlier"])
def test_single_bad_values_do_not_change_the_radius(spoiled):
    calls = []

    def fun(x):
        calls.append(1)
        return spoiled if len(calls) == 5 else quadratic(x)

    result = run(fun, algorithm("szoht"), on_error="skip")
    assert "the default radius is kept" in result.explain[0]


def test_a_snapshot_keeps_the_radius_that_it_was_given():
    method = algorithms.vr_szht(
        k=K, q=5, step_size=0.01, snapshot=Coordinate(mu=0.125), every=5, d=D
    )
    estimator = ChosenRadius(method.estimator)
    memory = estimator.init(np.zeros(D))
    key = szoht.core.random.Key(seed=0)
    rng = np.random.default_rng(0)
    while memory.estimator is None:
        plan = estimator.plan(np.zeros(D), np.arange(2), memory, key)
        values = np.array([quadratic(x) for x in plan.points()])
        answers = plan.answered(values + 1e-3 * rng.standard_normal(values.size))
        _, memory = estimator.combine(plan, answers, memory)
    assert memory.estimator.snapshot == method.estimator.snapshot
    assert memory.estimator.estimator.mu > 1e-3


def test_the_radius_grows_with_the_noise():
    lengths = []
    for share in (1e-9, 1e-6, 1e-3):
        fun = functools.partial(fixed_error, share=share)
        result = run(fun, algorithm("szoht"), max_iterations=1)
        lengths.append(float(result.explain[0].split("mu = ")[1].rstrip(".")))
    # sqrt(sigma / curvature)
    assert np.allclose(np.diff(np.log10(lengths)), 1.5, atol=0.5)
