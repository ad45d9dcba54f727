"""Whoever evaluates, and however many they are: not a bit changes."""

import numpy as np
import pytest

import workloads
from szoht import minimize
from szoht.executors import Dask, Processes, Ray, Threads

D = workloads.D

# function, parameters of the run
CASES = {
    "szoht": (workloads.residual, {"method": "szoht", "options": {"q": 9, "support_size": 5}}),
    "central": (
        workloads.residual,
        {"method": "szoht", "options": {"q": 6, "central": True, "orthogonal": True}},
    ),
    "vectorised": (
        workloads.residuals,
        {"method": "szoht", "options": {"q": 9}, "vectorized": True, "chunk_size": 4},
    ),
    "sparse-aware": (
        workloads.residual,
        {
            "method": "szoht",
            "options": {"q": 9, "support_size": 5},
            "along": workloads.residual_along,
            "chunk_size": 4,
        },
    ),
    "zoro": (workloads.residual, {"method": "zoro"}),
    "ada_zoro": (workloads.residual, {"method": "ada_zoro"}),
    "auto": (workloads.residual, {"method": "auto"}),
    "auto, vectorised": (
        workloads.residuals,
        {"method": "auto", "vectorized": True, "chunk_size": 3},
    ),
    "finite sum": (
        workloads.finite_sum,
        {"method": "vr_szht", "options": {"q": 5, "step_size": 0.02}, "n_samples": 40},
    ),
    "memory": (
        workloads.finite_sum,
        {
            "method": "saga_szht",
            "options": {"q": 3, "step_size": 0.02, "initial_q": 4},
            "n_samples": 40,
        },
    ),
    "seeds": (workloads.simulation, {"method": "szoht", "stochastic": True}),
    "gradient": (workloads.quadratic, {"method": "iht", "gradient": workloads.slope}),
}

# threads cover all of them at no cost; what crosses to other processes is shown on these
FEW = ["sparse-aware", "zoro", "auto, vectorised", "finite sum", "seeds"]


def run(name, **who):
    fun, parameters = CASES[name]
    queries = 2_500 if "n_samples" in parameters else 120
    return minimize(fun, np.zeros(D), k=3, max_queries=queries, rng=7, **parameters, **who)


def assert_equal(one, other):
    assert one.x.tobytes() == other.x.tobytes()
    assert one.fun == other.fun
    assert one.counts == other.counts
    assert one.history["value"].tolist() == other.history["value"].tolist()
    assert not other.faults


@pytest.fixture(scope="module")
def alone():
    return {name: run(name) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_threads(name, alone):
    for n in (1, 3):
        assert_equal(alone[name], run(name, executor=Threads(n)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_processes(n, alone):
    for name in FEW if n == 2 else FEW[:1]:
        assert_equal(alone[name], run(name, executor=Processes(n)))


@pytest.mark.parametrize("name", FEW)
def test_dask(name, alone, dask_client):
    assert_equal(alone[name], run(name, executor=Dask(dask_client)))


@pytest.mark.parametrize("name", FEW)
def test_ray(name, alone, ray_cluster):
    assert_equal(alone[name], run(name, executor=Ray()))


def test_all_processors(alone):
    assert_equal(alone["szoht"], run("szoht", workers=-1))
