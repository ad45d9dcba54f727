"""The wire format: plans as base points, keys and scalars; objectives; tasks of workers."""

import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from szoht.core.memory import raise_mmap_threshold
from szoht.core.objective import Objective
from szoht.core.query import Plan, Query
from szoht.core.validation import frozen
from szoht.errors import AnswerShapeError, EvaluationError, ParameterTypeError
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.evaluation.evaluate import describe_exception, evaluate_chunk, failed_chunk
from szoht.evaluation.program_folders import TaskCancelled, task_scope
from szoht.types import Vector

__all__ = ["Task", "WorkerContext", "load_objective", "pack", "pack_objective", "unpack"]

Packed: TypeAlias = Vector | tuple[int, NDArray[np.signedinteger], Vector]


def pack(plan: Plan) -> bytes:
    """Return the plan as bytes, without cached directions and zeros of sparse base points.

    `unpack` returns the same bits. Base points, samples and directions that queries share are
    sent once.
    """
    bases = {id(query.base): _sparse(query.base) for query in plan.queries}
    rows = [
        (
            bases[id(query.base)],
            query.sample,
            query.directions,
            query.radius,
            query.with_base,
            query.mirrored,
            query.gradient,
        )
        for query in plan.queries
    ]
    return pickle.dumps((rows, plan.stage), protocol=pickle.HIGHEST_PROTOCOL)


def unpack(packed: bytes) -> Plan:
    """Return the plan that was packed."""
    rows, stage = pickle.loads(packed)  # noqa: S301  (from our own process, never from a file)
    bases: dict[int, Vector] = {}
    queries = []
    for point, sample, directions, radius, with_base, mirrored, gradient in rows:
        base = bases.setdefault(id(point), _dense(point))
        queries.append(
            Query(
                base=base,
                sample=sample,
                directions=directions,
                radius=radius,
                with_base=with_base,
                mirrored=mirrored,
                gradient=gradient,
            )
        )
    return Plan(queries=tuple(queries), stage=stage)


def pack_objective(objective: Objective) -> bytes:
    """Return the objective as bytes for another process, or raise if that is impossible."""
    by_value = _cloudpickle()
    try:
        if by_value is not None and _is_interactive():
            return bytes(by_value.dumps(objective))
        return pickle.dumps(objective, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        reason = error
    if by_value is not None:
        try:
            return bytes(by_value.dumps(objective))
        except Exception as error:
            reason = error
    otherwise = "" if by_value else "or install cloudpickle; "
    raise ParameterTypeError(
        f"`fun` must be picklable to be sent to worker processes: {reason}. Define it with `def` "
        "at the top level of a module, not as a lambda or inside a function, and let it hold no "
        f"locks, files or connections; {otherwise}or use threads, "
        "executor=szoht.executors.Threads(n)."
    ) from reason


def load_objective(packed: bytes) -> Objective:
    """Return the objective that was packed."""
    objective = pickle.loads(packed)  # noqa: S301  (from our own process, never from a file)
    assert isinstance(objective, Objective), "only objectives are packed"  # noqa: S101
    return objective


class WorkerContext:
    """What one worker keeps: the objective, and a plan of its own.

    Its own, because directions are sampled where they are used and cached for the next chunk.
    """

    def __init__(self, objective: Objective) -> None:
        raise_mmap_threshold()
        self.objective = objective
        self.plan_number = -1
        self._plan: Plan | None = None

    def set_plan(self, number: int, packed: bytes) -> None:
        """Make plan ``number`` the plan of the following chunks."""
        if number != self.plan_number:
            self._plan, self.plan_number = unpack(packed), number

    def evaluate(self, chunk: Chunk) -> ChunkValues:
        """Evaluate a chunk; failures are part of the values, which can be pickled."""
        assert self._plan is not None, "a worker has a plan before it gets chunks"  # noqa: S101
        try:
            part = evaluate_chunk(self.objective, self._plan, chunk)
        except AnswerShapeError as error:
            part = failed_chunk(chunk, self.objective, describe_exception(error), error)
        return part if part.cause is None else replace(part, cause=_portable(part.cause))


@dataclass(frozen=True, kw_only=True)
class Task:
    """Some chunks of a plan, and all that is needed to evaluate them: call it, anywhere.

    ``number`` tells the tasks of a run apart. ``after`` is the number of an earlier task that
    failed with these chunks, if there was one, for pools that can choose another worker.
    """

    run: str
    number: int
    chunks: tuple[Chunk, ...]
    after: int | None
    plan_number: int
    plan: bytes
    objective: Objective | bytes

    def __call__(self, is_cancelled: Callable[[], bool] | None = None) -> tuple[ChunkValues, ...]:
        """Return the values of the chunks; fewer, if the task was cancelled.

        ``is_cancelled`` is asked while a `Program` runs, where the task cannot be ended otherwise.
        """
        if isinstance(self.objective, Objective):
            context = WorkerContext(self.objective)
        else:
            context = _context_of_this_thread(self.run, self.objective)
        context.set_plan(self.plan_number, self.plan)
        parts: list[ChunkValues] = []
        with task_scope(self.run, self.number, is_cancelled), suppress(TaskCancelled):
            parts.extend(context.evaluate(chunk) for chunk in self.chunks)
        return tuple(parts)


_contexts = threading.local()


def _context_of_this_thread(run: str, objective: bytes) -> WorkerContext:
    """Return the context that a remote worker keeps from one task of a run to the next."""
    if getattr(_contexts, "run", None) != run:
        _contexts.context, _contexts.run = WorkerContext(load_objective(objective)), run
    context: WorkerContext = _contexts.context
    return context


def _sparse(base: Vector) -> Packed:
    # by bits, so that -0.0 stays what it is
    places = np.flatnonzero(base.view(np.int64))
    small = places.astype(np.int32) if base.size < 2**31 else places
    is_smaller = places.size * (small.itemsize + base.itemsize) < base.nbytes
    return (base.size, small, base[places]) if is_smaller else base


def _dense(packed: Packed) -> Vector:
    if isinstance(packed, np.ndarray):
        return frozen(packed)
    size, places, values = packed
    base = np.zeros(size)
    base[places] = values
    return frozen(base)


def _portable(error: Exception) -> Exception:
    """Return an exception that can be pickled, with the worker's traceback as a note."""
    trace = "".join(traceback.format_exception(error))
    try:
        copy: object = pickle.loads(pickle.dumps(error))  # noqa: S301  (made on the spot)
    except Exception:
        copy = None
    if not isinstance(copy, Exception) or repr(copy) != repr(error):
        copy = EvaluationError(repr(error))
    copy.add_note(f"In a worker:\n{trace}")
    return copy


def _is_interactive() -> bool:
    """Tell whether the main module cannot be imported by another process."""
    return not hasattr(sys.modules.get("__main__"), "__file__")


def _cloudpickle() -> ModuleType | None:
    return None if find_spec("cloudpickle") is None else import_module("cloudpickle")
