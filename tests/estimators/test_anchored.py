"""SVRG and SARAH: the variance that they remove, and failures."""

import numpy as np

from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import SARAH, SVRG, Sphere
from szoht.estimators.anchored import Anchor


def answers(plan, values):
    return [Answer(values=values(query.points(), query.sample)) for query in plan.queries]


def least_squares(n=50, d=100, seed=0):
    """The problem of the variance table: f = mean of n squares in d dimensions."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((n, d)), rng.standard_normal(n)

    def values(points, sample):
        residuals = points @ a[sample].T - b[sample]
        return 0.5 * (residuals**2).mean(axis=1)

    def gradient(x):
        return a.T @ (a @ x - b) / n

    return values, gradient


def test_variance_table():
    """E||v - grad f||^2 near a snapshot: shared directions help, independent ones hurt."""
    n, d, q, distance, trials = 50, 100, 10, 0.1, 600
    values, gradient = least_squares(n, d)
    rng = np.random.default_rng(3)
    anchor = rng.standard_normal(d)
    sphere = Sphere(q=q, mu=1e-6)
    errors_ = {"plain": [], "shared": [], "independent": []}
    for t in range(trials):
        step = rng.standard_normal(d)
        x = anchor + distance * step / np.linalg.norm(step)
        sample = rng.integers(n, size=1)
        everything = np.arange(n)

        def estimate(point, members, seed):
            plan = sphere.plan(point, members, None, Key(seed=seed, iteration=t))  # noqa: B023
            return sphere.combine(plan, answers(plan, values), None)[0].gradient

        full = estimate(anchor, everything, 99)
        here = estimate(x, sample, 1)
        exact = gradient(x)
        errors_["plain"].append(((here - exact) ** 2).sum())
        errors_["independent"].append(
            ((here - estimate(anchor, sample, 2) + full - exact) ** 2).sum()
        )
        svrg = SVRG(estimator=sphere, snapshot=sphere, every=5)
        memory = Anchor(anchor, full)
        plan = svrg.plan(x, sample, memory, Key(seed=1, iteration=5 * t + 1))
        corrected, _ = svrg.combine(plan, answers(plan, values), memory)
        errors_["shared"].append(((corrected.gradient - exact) ** 2).sum())
    plain, shared, independent = (np.mean(errors_[name]) for name in errors_)
    spread = {name: np.std(e) / np.sqrt(trials) for name, e in errors_.items()}
    assert shared + 3 * spread["shared"] < 0.2 * (plain - 3 * spread["plain"])
    assert independent - 3 * spread["independent"] > plain + 3 * spread["plain"]


def test_a_failed_anchor_costs_the_correction_only():
    svrg = SVRG(estimator=Sphere(q=4, mu=1e-3), snapshot=Sphere(q=4, mu=1e-3), every=5)
    memory = Anchor(np.zeros(6), np.ones(6))
    plan = svrg.plan(np.ones(6), np.array([0]), memory, Key(seed=0, iteration=1))
    told = answers(plan, lambda p, s: p.sum(axis=1))
    told[1].values[0] = np.nan
    estimate, after = svrg.combine(plan, told, memory)
    plain, _ = svrg.estimator.combine(type(plan)(queries=plan.queries[:1]), told[:1], None)
    assert np.array_equal(estimate.gradient, plain.gradient)
    assert after is memory


def test_a_failed_snapshot_is_not_remembered():
    for kind in (SVRG, SARAH):
        estimator = kind(estimator=Sphere(q=4, mu=1e-3), snapshot=Sphere(q=4, mu=1e-3), every=5)
        plan = estimator.plan(np.ones(6), np.arange(3), None, Key(seed=0))
        told = answers(plan, lambda p, s: p.sum(axis=1))
        told[0].values[:] = np.nan
        estimate, memory = estimator.combine(plan, told, None)
        assert np.isnan(estimate.value)
        assert memory is None
