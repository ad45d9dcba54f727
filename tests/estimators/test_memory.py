"""The table of past gradients."""

import numpy as np

from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import MemoryTable, Sphere


def answers(plan, values):
    return [Answer(values=values(query.points(), query.sample)) for query in plan.queries]


def test_the_table_is_sparse():
    estimator = MemoryTable(estimator=Sphere(q=4, mu=1e-3), initial=Sphere(q=4, mu=1e-3))
    d = 5_000
    x = np.zeros(d)
    x[:3] = 1.0
    plan = estimator.plan(x, np.arange(7), None, Key(seed=0))
    estimate, table = estimator.combine(plan, answers(plan, lambda p, s: p.sum(axis=1)), None)
    numbers = sum(
        entry.values.size + entry.weights.size + len(entry.directions.__dict__["_cache"])
        for entry in table.entries
    )
    assert numbers == 7 * (3 + 4)
    gradients = [entry.gradient for entry in table.entries]
    assert np.allclose(np.mean(gradients, axis=0), table.mean)
    assert np.allclose(estimate.gradient, table.mean)
    assert all(np.array_equal(entry.point, x) for entry in table.entries)
