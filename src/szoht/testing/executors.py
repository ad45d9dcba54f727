"""`check_executor`: what every executor must satisfy."""

import math
from concurrent import futures
from typing import Any

import numpy as np

from szoht.errors import AnswerShapeError
from szoht.evaluation.executors.base import Executor
from szoht.result import Faults, Result, Status
from szoht.run.minimize import minimize
from szoht.types import Sample, Vector

__all__ = ["check_executor"]

D = 20
CENTRE = np.zeros(D)
CENTRE[[1, 10, 19]] = [1.0, -0.7, 0.4]
MIX = np.random.default_rng(5).standard_normal((30, D)) / 5


def check_executor(executor: Executor | futures.Executor) -> None:
    """Raise AssertionError unless ``executor`` computes what the calling thread computes.

    Checked on a small problem, with a plain, a vectorised and a stochastic function: the same bits
    and counts as without it; work that raises is tried again and counted, then left to
    ``on_error``, with the function's own exception; a wrong shape is reported at once; and nothing
    is closed that was not opened, so that all this can be done with one executor.

    >>> from szoht.executors import Threads
    >>> check_executor(Threads(2))
    """
    cases: tuple[tuple[Any, dict[str, Any]], ...] = (
        (_plain, {}),
        (_stacked, {"vectorized": True, "chunk_size": 3}),
        (_seeded, {"stochastic": True}),
    )
    for function, options in cases:
        expected = _run(function, None, **options)
        _check_equal(expected, _run(function, executor, **options))
    _check_exceptions(executor)


def _check_equal(expected: Result, result: Result) -> None:
    assert np.array_equal(expected.x, result.x), "an executor must not change a bit"
    assert expected.fun == result.fun, "an executor must not change a bit"
    assert expected.counts == result.counts, "an executor must not change what is counted"
    assert result.faults == Faults(), "nothing went wrong, so there is nothing to count"


def _check_exceptions(executor: Executor | futures.Executor) -> None:
    skipping = _run(_fragile, executor, on_error="skip", retries=1)
    assert skipping.status is Status.QUERIES, "with on_error='skip' the run goes on"
    assert skipping.counts.failures > 0, "points that fail are counted"
    assert skipping.faults.raised == 2 * skipping.counts.failures, (
        "a piece is tried again as often as `retries` says, and every fault is counted"
    )
    stopping = _run(_fragile, executor, retries=0)
    assert stopping.status is Status.FAILED, "with on_error='stop' the run ends"
    assert stopping.failure is not None
    assert isinstance(stopping.failure.exception, ArithmeticError), (
        "the exception of the function must come back as it is"
    )
    try:
        _run(_wrong, executor, vectorized=True, chunk_size=3)
    except AnswerShapeError:
        return
    raise AssertionError("an answer of the wrong shape must be reported at once")


def _run(function: Any, executor: Executor | futures.Executor | None, **options: Any) -> Result:
    return minimize(
        function,
        np.zeros(D),
        k=3,
        method="szoht",
        options={"q": 8, "step_size": 0.02},
        executor=executor,
        max_queries=60,
        rng=3,
        **options,
    )


def _plain(x: Vector) -> float:
    return float(np.square(MIX @ (x - CENTRE)).sum())


def _stacked(points: Vector) -> Vector:
    answer: Vector = np.square((points - CENTRE) @ MIX.T).sum(axis=1)
    return answer


def _seeded(x: Vector, sample: Sample) -> float:
    return _plain(x) + 1e-3 * float(np.random.default_rng(sample).standard_normal())


def _fragile(x: Vector) -> float:
    # along some directions and not along others, never at a base point
    if math.fmod(abs(x[4]) * 1e9, 2.0) > 1.0:
        raise ArithmeticError("x[4] is odd")
    return _plain(x)


def _wrong(points: Vector) -> Vector:
    return points
