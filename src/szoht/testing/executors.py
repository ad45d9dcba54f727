"""`check_executor`: the contract of executors."""

import math
from concurrent import futures
from typing import Any

import numpy as np

from szoht.core.objective import Objective
from szoht.errors import AnswerShapeError
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.config import resolve_executor
from szoht.evaluation.oracle import Oracle
from szoht.result import Faults, Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.minimize import minimize
from szoht.types import Sample, Vector

__all__ = ["check_executor"]

D = 20
CENTER = np.zeros(D)
CENTER[[1, 10, 19]] = [1.0, -0.7, 0.4]
MIX = np.random.default_rng(5).standard_normal((30, D)) / 5


def check_executor(executor: Executor | futures.Executor) -> None:
    """Raise AssertionError unless ``executor`` gives the same results as the calling thread.

    Checked on a small problem, with a plain, a vectorized and a stochastic function: the same bits
    and counts as without it; several outputs come back in their shape; work that raises is retried
    and counted, then left to ``on_error``, with the function's own exception; a wrong shape is
    reported at once; and nothing is closed that was not opened, so that all this can be done with
    one executor.

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
    _check_outputs(executor)
    _check_exceptions(executor)


def _check_equal(expected: Result, result: Result) -> None:
    assert np.array_equal(expected.x, result.x), "an executor must give bit-identical results"
    assert expected.fun == result.fun, "an executor must give bit-identical results"
    assert expected.counts == result.counts, "an executor must not change what is counted"
    assert result.faults == Faults(), "no fault must be counted if none occurred"


def _check_outputs(executor: Executor | futures.Executor) -> None:
    plan = AskTell(
        np.zeros(D), k=3, method="szoht", options={"mu": 1e-6}, max_queries=60, rng=3
    ).ask()
    config = resolve_executor(
        workers=None, executor=executor, timeout=None, retries=None, min_fraction=None
    )
    assert config is not None
    objective = Objective(value=_outputs, n_outputs=3)
    with config.open(objective) as scheduler:
        (answer,) = Oracle(objective=objective, scheduler=scheduler)(plan)
    (expected,) = Oracle(objective=objective)(plan)
    assert answer.outputs is not None, "several outputs must come back"
    assert expected.outputs is not None
    assert np.array_equal(answer.outputs, expected.outputs, equal_nan=True), (
        "an executor must not change a bit of several outputs"
    )
    assert np.isnan(answer.outputs[:, 2]).any(), "single outputs may be NaN"


def _check_exceptions(executor: Executor | futures.Executor) -> None:
    skipping = _run(_fragile, executor, on_error="skip", retries=1)
    assert skipping.status is Status.QUERIES, "with on_error='skip' the run continues"
    assert skipping.counts.failures > 0, "points that fail are counted"
    assert skipping.faults.raised == 2 * skipping.counts.failures, (
        "a chunk is retried as often as `retries` says, and every fault is counted"
    )
    stopping = _run(_fragile, executor, on_error="stop", retries=0)
    assert stopping.status is Status.FAILED, "with on_error='stop' the run ends"
    assert stopping.failure is not None
    assert isinstance(stopping.failure.exception, ArithmeticError), (
        "the exception of the function must be returned unchanged"
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
    return float(np.square(MIX @ (x - CENTER)).sum())


def _stacked(points: Vector) -> Vector:
    answer: Vector = np.square((points - CENTER) @ MIX.T).sum(axis=1)
    return answer


def _outputs(x: Vector, sample: Sample) -> Vector:
    del sample
    return np.array([_plain(x), float(x[1]), math.nan if x[4] > 0 else 1.0])


def _seeded(x: Vector, sample: Sample) -> float:
    return _plain(x) + 1e-3 * float(np.random.default_rng(sample).standard_normal())


def _fragile(x: Vector) -> float:
    # along some directions and not along others, never at a base point
    if math.fmod(abs(x[4]) * 1e9, 2.0) > 1.0:
        raise ArithmeticError("x[4] is odd")
    return _plain(x)


def _wrong(points: Vector) -> Vector:
    return points
