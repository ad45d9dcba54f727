"""Gradients recovered from random signs: the rows, their memory, and curvature."""

import pickle

import numpy as np
import pytest

from estimators.recovery import estimate, sparse_vector
from szoht.core.directions import CACHE_BYTES
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.errors import ParameterError
from szoht.estimators.sparse_recovery import SparseRecovery


def test_the_memory_is_a_cache_only():
    rng = np.random.default_rng(0)
    slopes = [sparse_vector(rng, 300, 5) + 0.01 * rng.standard_normal(300) for _ in range(3)]
    for estimator in (SparseRecovery(sparsity=5, mu=1e-3), SparseRecovery(mu=1e-3, centered=False)):
        memory = None
        for slope in slopes:
            warm, memory, _ = estimate(estimator, slope, memory=memory)
            cold, _, _ = estimate(estimator, slope)
            assert np.array_equal(warm.gradient, cold.gradient)
        assert len(pickle.dumps(memory)) < 1000
        assert memory.rows.count * 300 * 8 < CACHE_BYTES
        copy = pickle.loads(pickle.dumps(memory))  # noqa: S301
        again, _, _ = estimate(estimator, slopes[2], memory=copy)
        assert np.array_equal(again.gradient, cold.gradient)


def test_rows_are_drawn_once(monkeypatch):
    estimator = SparseRecovery(sparsity=5, mu=1e-3)
    slope = sparse_vector(np.random.default_rng(0), 300, 5)
    _, memory, _ = estimate(estimator, slope)
    drawn = []
    monkeypatch.setattr(Key, "generator", lambda *address: drawn.append(address))
    estimate(estimator, slope, memory=memory)
    assert not drawn


def test_failures_do_not_meet_products_of_other_rows():
    rng = np.random.default_rng(0)
    slope = sparse_vector(rng, 100, 5) + 0.2 * rng.standard_normal(100)
    estimator = SparseRecovery(sparsity=5, mu=1e-3)
    _, warm, _ = estimate(estimator, slope)
    plan = estimator.plan(np.ones(100), None, warm, Key(seed=0))
    values = plan.points() @ slope
    values[1:9] = np.nan
    ours, _ = estimator.combine(plan, [Answer(values=values)], warm)
    cold, _ = estimator.combine(plan, [Answer(values=values)], None)
    assert np.array_equal(ours.gradient, cold.gradient)
    whole, _, _ = estimate(estimator, slope, memory=warm, x=np.ones(100))
    assert not np.allclose(whole.gradient, ours.gradient)


def test_centring_removes_the_curvature_that_all_probes_share():
    d = 10_000
    y = np.zeros(d)
    y[[5, 900]] = [1.0, -0.5]
    x = np.zeros(d)
    errors = {}
    for centered in (False, True):
        estimator = SparseRecovery(sparsity=2, mu=1e-3, centered=centered)
        plan = estimator.plan(x, None, None, Key(seed=0))
        answer = Answer(values=0.5 * ((plan.points() - y) ** 2).sum(axis=1))
        found, _ = estimator.combine(plan, [answer], None)
        errors[centered] = np.linalg.norm(found.gradient + y) / np.linalg.norm(y)
    assert errors[True] < 1e-6
    assert errors[False] > 0.3


def test_bad_number_of_measurements_is_refused():
    with pytest.raises(ParameterError, match="`n_measurements`"):
        SparseRecovery(n_measurements=0)
