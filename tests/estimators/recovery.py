"""Sparse slopes, and what an estimator makes of a linear function."""

import numpy as np

from szoht.core.query import Answer
from szoht.core.random import Key


def sparse_vector(rng, d, s):
    """Return a vector with s normal entries at random places."""
    vector = np.zeros(d)
    vector[rng.choice(d, size=s, replace=False)] = rng.standard_normal(s)
    return vector


def linear(slope, plan):
    """Return the answers of a linear function to a plan."""
    return [Answer(values=query.points() @ slope) for query in plan.queries]


def estimate(estimator, slope, *, seed=0, memory=None, x=None):
    """Return the estimate for a linear function, the memory after it, and the queries spent."""
    x = np.zeros(slope.size) if x is None else x
    memory = estimator.init(x) if memory is None else memory
    found, cost = None, 0
    for number in range(100):
        plan = estimator.plan(x, None, memory, Key(seed=seed, round=number))
        cost += plan.cost
        found, memory = estimator.combine(plan, linear(slope, plan), memory)
        if found is not None:
            break
    return found, memory, cost
