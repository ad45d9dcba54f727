"""Stored runs with external evaluation: `waiting` lists points, `answer` takes their values."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from szoht.algorithms.calibration import Calibration
from szoht.core.sparse_vector import as_point
from szoht.errors import EvaluationError, RunMismatchError, SzohtError
from szoht.evaluation.chunks import chunk_of_point, first_point_indices
from szoht.result import Status
from szoht.run.ask_tell import AskTell
from szoht.run.external_oracle import ExternalOracle, PendingPlan
from szoht.run.external_records import Point, PointId, Reply, Told
from szoht.run.least_squares_fit import with_fit
from szoht.run.loop import loop
from szoht.run.outputs import OutputForm
from szoht.run.problem import Start
from szoht.run.resume import rebuild
from szoht.run.view import View
from szoht.store import ReplayOracle, Store, StoredRun

__all__ = [
    "Point",
    "PointId",
    "Reply",
    "Told",
    "answer",
    "begin",
    "replay",
    "waiting",
]

LOCK_WAIT_SECONDS = 30.0
"""How long to wait for another process that has locked the run."""

MAX_POINTS = 10**7
"""In a plan that is evaluated externally: each of its points is listed."""


def begin(store: Store, run: AskTell, x0: Start, *, limits: dict[str, Any]) -> str:
    """Start a run whose points are evaluated externally, and return its name.

    ``x0`` is as given to the run, which knows itself where its variables begin.
    """
    config = replace(run.config, limits=limits)
    if config.variables is None:
        config = replace(config, x0=as_point("x0", x0))
    with store.create(config.spec()) as stored:
        return stored.name


def replay(store: Store, run: str) -> AskTell:
    """Return a run as far as its answers reach, without evaluating anything."""
    replayed, _ = _replay(store.open_readonly(run))
    return replayed


def waiting(store: Store, run: str) -> list[Point]:
    """Return the points of a run that wait for a value; none if it has ended."""
    stored = store.open_readonly(run)
    replayed, pending = _replay(stored)
    if pending is None and replayed.status.goes_on:
        # here the run cannot be replayed so far: it goes on from its evaluations
        answer(store, run, ())
        stored = store.open_readonly(run)
        _, pending = _replay(stored)
    if pending is None:
        return []
    plan = pending.plan
    if plan.n_points > MAX_POINTS:
        raise RunMismatchError(
            f"run {stored.name} asks for {plan.n_points:,} points at once; at most {MAX_POINTS:,} "
            "can be listed. Lower the number of directions `q`."
        )
    view = View(variables=stored.spec.variables)
    points, first_indices = [], first_point_indices(plan)
    for point in pending.missing:
        chunk = chunk_of_point(first_indices, point)
        query = plan.queries[chunk.query]
        where = PointId(stored.name, stored.round, point)
        x = view.x(query.points(chunk.start, chunk.stop)[0])
        points.append(Point(where, x, query.sample))
    return points


def answer(store: Store, run: str, replies: Iterable[Reply]) -> Told:
    """Take the values of points in any order, and continue the run as far as they reach.

    The first value of a point counts; others are reported. A point that could not be evaluated
    is asked for again, unless the run was made with ``on_error="skip"``.
    """
    told = Told()
    with store.lock(run, wait=LOCK_WAIT_SECONDS) as stored:
        rebuilt = _rebuild(stored)
        external = ExternalOracle(stored, rebuilt, _in_form(replies, rebuilt, told), told)
        oracle = ReplayOracle(external, stored, rebuilt, on_replayed=external.compare)
        _drive(rebuilt, oracle, stored)
        external.take_rest()
        if rebuilt.done:
            told.result = with_fit(rebuilt, rebuilt.result)
        oracle.close(otherwise=Status.RUNNING)
    return told


def _in_form(replies: Iterable[Reply], run: AskTell, told: Told) -> list[Reply]:
    """Return replies with outputs in the order of the run; reject those with others."""
    algorithm = run.algorithm
    form = None
    if isinstance(algorithm, Calibration) and algorithm.n_outputs is not None:
        form = OutputForm.stored(algorithm)
    taken = []
    for reply in replies:
        try:
            taken.append(reply if reply.error else _with_row(reply, form))
        except EvaluationError as error:
            told.rejected.append(f"{reply.id}: {error}")
    return taken


def _with_row(reply: Reply, form: OutputForm | None) -> Reply:
    if form is not None:
        return reply._replace(value=form.row(reply.value).tolist())
    if isinstance(reply.value, Mapping):
        raise EvaluationError("outputs by name need a run of `least_squares` that knows its names")
    return reply


def _replay(stored: StoredRun) -> tuple[AskTell, PendingPlan | None]:
    rebuilt = _rebuild(stored)
    external = ExternalOracle(stored, rebuilt, (), Told())
    return rebuilt, _drive(rebuilt, ReplayOracle(external, stored, rebuilt), stored)


def _rebuild(stored: StoredRun) -> AskTell:
    stored.spec = stored.spec.checked()
    return rebuild(stored.spec)


def _drive(run: AskTell, oracle: ReplayOracle, stored: StoredRun) -> PendingPlan | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same with every call
        try:
            loop(run, oracle)
        except PendingPlan as pending:
            return pending
        except SzohtError:
            raise
        except Exception as error:  # nothing of the user's is called here
            raise RunMismatchError(
                f"run {stored.name} cannot be replayed from what is stored of it: {error!r}."
            ) from error
    return None
