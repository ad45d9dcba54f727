"""What travels: a plan as base points, addresses and scalars; an objective once; answers back."""

import pickle
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import replace
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
from szoht.evaluate import evaluate, raised
from szoht.pieces import Piece, PieceAnswer
from szoht.types import Vector

__all__ = ["Desk", "desk_of_this_thread", "load_objective", "pack", "pack_objective", "unpack"]

Packed: TypeAlias = Vector | tuple[int, NDArray[np.signedinteger], Vector]


def pack(plan: Plan) -> bytes:
    """Return the plan for travelling: no direction that was drawn, no zero of a sparse base.

    Equal bits come out of `unpack`. Base points, samples and directions that queries share are
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


def unpack(parcel: bytes) -> Plan:
    """Return the plan that was packed."""
    rows, stage = pickle.loads(parcel)  # noqa: S301  (from our own process, never from a file)
    bases: dict[int, Vector] = {}
    queries = []
    for packed, sample, directions, radius, with_base, mirrored, gradient in rows:
        base = bases.setdefault(id(packed), _dense(packed))
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
    """Return the objective for travelling to another process, or say why that cannot be."""
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


class Desk:
    """What one worker needs at hand: the objective, and a plan of its own.

    Its own, because directions are drawn where they are used and kept for the next piece.
    """

    def __init__(self, objective: Objective) -> None:
        raise_mmap_threshold()
        self.objective = objective
        self.number = -1
        self._plan: Plan | None = None

    def brief(self, number: int, parcel: bytes) -> None:
        """Take plan ``number`` as the one to work on."""
        if number != self.number:
            self._plan, self.number = unpack(parcel), number

    def evaluate(self, piece: Piece) -> PieceAnswer:
        """Evaluate a piece; whatever goes wrong is in the answer, ready for travelling."""
        assert self._plan is not None, "a worker is briefed before it is asked"  # noqa: S101
        try:
            answer = evaluate(self.objective, self._plan, piece)
        except AnswerShapeError as error:
            nothing = np.full(piece.n_points, np.nan)
            answer = PieceAnswer(piece=piece, values=nothing, error=raised(error), cause=error)
        if answer.cause is None:
            return answer
        return replace(answer, cause=_portable(answer.cause))


_AT_HAND = threading.local()


def desk_of_this_thread(token: str, objective: bytes) -> Desk:
    """Return the desk of a worker that keeps no state of its own; ``token`` names the run."""
    if getattr(_AT_HAND, "token", None) != token:
        _AT_HAND.desk = Desk(load_objective(objective))
        _AT_HAND.token = token
    desk: Desk = _AT_HAND.desk
    return desk


def work(
    token: str, objective: bytes, number: int, parcel: bytes, pieces: Sequence[Piece]
) -> tuple[PieceAnswer, ...]:
    """Evaluate pieces in a worker of somebody else's; everything needed comes with the call."""
    desk = desk_of_this_thread(token, objective)
    desk.brief(number, parcel)
    return tuple(desk.evaluate(piece) for piece in pieces)


def _sparse(base: Vector) -> Packed:
    # by bits, so that -0.0 stays what it is
    places = np.flatnonzero(base.view(np.int64))
    small = places.astype(np.int32) if base.size < 2**31 else places
    worth_it = places.size * (small.itemsize + base.itemsize) < base.nbytes
    return (base.size, small, base[places]) if worth_it else base


def _dense(packed: Packed) -> Vector:
    if isinstance(packed, np.ndarray):
        return frozen(packed)
    size, places, values = packed
    base = np.zeros(size)
    base[places] = values
    return frozen(base)


def _portable(error: Exception) -> Exception:
    """Return an exception that survives travelling, with the worker's traceback as a note."""
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
