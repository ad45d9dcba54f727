"""Helpers: the iterates of a run, and the directions that it really used."""

import numpy as np

from szoht import AskTell
from szoht.core.query import Stage


def run(algorithm, f, x0, iterations):
    """Return the iterates and, for each of them, the directions as dense rows."""
    asked = AskTell(x0, method=algorithm, max_iterations=iterations, rng=4)
    iterates, directions = [], []
    while not asked.done:
        plan = asked.ask()
        if plan.stage is Stage.ESTIMATE:
            directions.append(dense(plan.queries[0].directions))
        asked.tell([f(point) for point in plan.points()])
        if asked.state.iteration > len(iterates):
            iterates.append(np.array(asked.state.x))
    return iterates, directions


def dense(directions):
    """Return directions as a list of dense vectors."""
    rows = []
    for indices, values in directions.slices(0, directions.count):
        for i, value in enumerate(values):
            row = np.zeros(directions.d)
            row[slice(None) if indices is None else indices[i]] = value
            rows.append(row)
    return rows
