"""The loop, interrupted."""

import numpy as np

from szoht import Status, minimize

TARGET = np.zeros(40)
TARGET[[3, 17, 29]] = [1.0, -2.0, 0.5]


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def interrupted_at(call):
    """Return a function that is interrupted in the call of that number."""
    calls = []

    def fun(x):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return quadratic(x)

    return fun


def test_ctrl_c_keeps_the_best_point():
    result = minimize(
        interrupted_at(301), np.zeros(40), k=3, max_queries=700, rng=0, method="szoht"
    )
    assert result.status is Status.INTERRUPTED
    assert not result.success
    assert result.fun < quadratic(np.zeros(40))
    assert len(result.history["value"]) > 0


def test_ctrl_c_counts_every_call():
    result = minimize(
        interrupted_at(57),
        np.zeros(40),
        k=2,
        options={"q": 10},
        max_queries=500,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.INTERRUPTED
    assert result.nfev == 57 == result.history["queries"][-1]
