"""The loop of a run: ask, evaluate, tell; failures become a status."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Protocol

from szoht.core.interrupts import attach
from szoht.core.query import Answer, Plan
from szoht.errors import StoreWriteError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.evaluate import OutOfTime
from szoht.evaluation.executors.config import ExecutorConfig
from szoht.evaluation.oracle import Oracle, PointFailure
from szoht.result import Failure, Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Display
from szoht.run.log import LOGGER, log_ending, warn_of_internal_error
from szoht.store import (
    PlanChanged,
    ReplayOracle,
    RunSpec,
    StoredEnding,
    StoredRun,
    StoreLike,
    open_store,
)

__all__ = ["drive", "drive_new", "evaluating", "loop"]


class PlanOracle(Protocol):
    """What answers plans: an `Oracle`, or one that replays a stored run first."""

    def __call__(self, plan: Plan, *, on_chunk: Callable[[ChunkValues], None]) -> Sequence[Answer]:
        """Return the answers to a plan, and pass each part of them on as it arrives."""
        ...


def loop(run: AskTell, oracle: PlanOracle) -> None:
    """Drive a run to its end."""
    while not run.done:
        plan = run.solver_plan()
        try:
            answers = oracle(plan, on_chunk=run.arrive)
        except PlanChanged:
            continue
        except PointFailure as failed:
            run.fail(_describe(failed, run), spent=failed.spent)
        except StoreWriteError:
            run.interrupt(status=Status.STORE)
        except StoredEnding as ending:
            run.interrupt(status=ending.status)
        except OutOfTime:
            run.interrupt(status=Status.SECONDS)
        else:
            run.receive(answers, getattr(oracle, "evaluated", None))


@contextmanager
def evaluating(
    run: AskTell, oracle: Oracle, workers: ExecutorConfig | None, displays: Iterable[Display]
) -> Iterator[Oracle]:
    """Start the workers and the displays of a run, and end them in any case."""
    oracle = replace(oracle, first_plan=run.solver_plan(), is_late=lambda: run.is_late)
    with ExitStack() as stack:
        if workers is not None:
            scheduler = stack.enter_context(workers.open(oracle.objective))
            oracle = replace(oracle, scheduler=scheduler)
            oracle.warn_of_idle_workers(run.solver_plan())
        for display in displays:
            display.expect(run.query_limit)
            stack.enter_context(display)
        yield oracle


def drive(run: AskTell, oracle: Oracle, stored: StoredRun | None = None) -> Result:
    """Drive a run, from its stored answers if there are any, and count the faults of workers.

    Whatever ends the run from outside, such as Ctrl-C or an exception of the function, carries the
    outcome so far as its ``result``.
    """
    try:
        if stored is None:
            loop(run, oracle)
        else:
            _drive_stored(run, oracle, stored)
    except BaseException as stop:
        run.interrupt(spent=getattr(stop, "points_spent", 0))
        result = _outcome(run, oracle, stored)
        attach(stop, result)
        log_ending(result)
        if stored is not None:
            stop.add_note(_how_to_resume(stored))
        raise
    result = _outcome(run, oracle, stored)
    log_ending(result)
    warn_of_internal_error(result)
    return result


def _drive_stored(run: AskTell, oracle: Oracle, stored: StoredRun) -> None:
    LOGGER.info("run %s of the store %s", stored.name, stored.path)
    with ReplayOracle(oracle, stored, run) as replayed:
        if oracle.scheduler is not None:
            oracle.scheduler.on_retry = replayed.log_fault
        try:
            loop(run, replayed)
            while replayed.goes_on_after_error():
                loop(run, replayed)
        except BaseException as stop:  # before the store is told how the run has ended
            run.interrupt(spent=getattr(stop, "points_spent", 0))
            raise


def _outcome(run: AskTell, oracle: Oracle, stored: StoredRun | None) -> Result:
    result = run.result
    if stored is not None:
        result = replace(result, run=stored.name)
    if oracle.scheduler is not None:
        result = replace(result, faults=oracle.scheduler.faults)
    return result


def _how_to_resume(stored: StoredRun) -> str:
    command = shlex.join(("szoht", "resume", str(stored.path), stored.name))
    return (
        f"Every answer of the run is stored. To go on: {command}, or in Python "
        f"szoht.resume({str(stored.path)!r}, fun, run={stored.name!r})."
    )


def drive_new(
    run: AskTell, oracle: Oracle, store: StoreLike | None, spec: Callable[[], RunSpec]
) -> Result:
    """Drive a new run; if a store is given, the run is kept there as ``spec()`` describes it."""
    if store is None:
        return drive(run, oracle)
    with open_store(store, create=True) as file, file.create(spec()) as stored:
        return drive(run, oracle, stored)


def _describe(failed: PointFailure, run: AskTell) -> Failure:
    return Failure(
        query=run.progress.counts.points + failed.index + 1,
        point=failed.point,
        reason=failed.reason,
        exception=failed.cause,
    )
