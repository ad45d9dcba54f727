"""The iterates of a run with the directions that it really used, and what they should be."""

import numpy as np

from dense import dense
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


def log_cosh(d, *, normalized=False):
    """Return a function of d variables, not quadratic, with no symmetry to hide behind."""
    rng = np.random.default_rng(8)
    a = rng.standard_normal((d, d)) / (np.sqrt(d) if normalized else 1.0)
    b = rng.standard_normal(d)
    return lambda x: float(np.log(np.cosh(a @ x - b)).sum() + 0.1 * (x**4).sum())


def assert_close(ours, reference, *, atol=1e-8):
    """Check iterates against those of a transcription."""
    for mine, theirs in zip(ours, reference, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-6, atol=atol)


def assert_same(ours, reference):
    """Check iterates against those of a transcription, and that their supports are the same."""
    assert_close(ours, reference, atol=1e-9)
    for mine, theirs in zip(ours, reference, strict=True):
        assert np.array_equal(np.flatnonzero(mine), np.flatnonzero(theirs))


def least_squares(d):
    """Return f = |A x - b|^2 / 2, convex, with smoothness 1, and its gradient."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((30, d))
    a /= np.linalg.norm(a, 2)
    b = a @ rng.standard_normal(d)

    def f(x):
        return 0.5 * float(((a @ x - b) ** 2).sum())

    def gradient(x):
        return a.T @ (a @ x - b)

    return f, gradient
