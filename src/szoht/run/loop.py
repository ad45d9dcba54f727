"""The loop of a run: ask, evaluate, tell; failures become a status."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from szoht.core.query import Answer, Plan
from szoht.errors import StoreWriteError
from szoht.evaluation.executors.config import ExecutorConfig
from szoht.evaluation.oracle import Oracle, PointFailure
from szoht.result import Failure, Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Display
from szoht.run.log import LOGGER, log_ending
from szoht.store import ReplayOracle, RunSpec, StoredEnding, StoredRun, StoreLike, open_store

__all__ = ["drive", "drive_new", "evaluating", "loop"]


def loop(run: AskTell, oracle: Callable[[Plan], Sequence[Answer]]) -> Result:
    """Drive a run to its end."""
    try:
        while not run.done:
            plan = run.solver_plan()
            try:
                answers = oracle(plan)
            except PointFailure as failed:
                run.fail(_describe(failed, run), spent=failed.spent)
            except StoreWriteError:
                run.interrupt(status=Status.STORE)
            except StoredEnding as ending:
                run.interrupt(status=ending.status)
            else:
                run.receive(answers)
    except KeyboardInterrupt as stop:
        run.interrupt(spent=getattr(stop, "points_spent", 0))
    return run.result


@contextmanager
def evaluating(
    run: AskTell, oracle: Oracle, workers: ExecutorConfig | None, displays: Iterable[Display]
) -> Iterator[Oracle]:
    """Start the workers and the displays of a run, and end them in any case."""
    oracle = replace(oracle, first_plan=run.solver_plan())
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
    """Drive a run, from its stored answers if there are any, and count the faults of workers."""
    if stored is None:
        result = loop(run, oracle)
    else:
        LOGGER.info("run %s of the store %s", stored.name, stored.path)
        with ReplayOracle(oracle, stored, run) as replayed:
            if oracle.scheduler is not None:
                oracle.scheduler.on_retry = replayed.log_fault
            result = replace(loop(run, replayed), run=stored.name)
    log_ending(result)
    if oracle.scheduler is None:
        return result
    return replace(result, faults=oracle.scheduler.faults)


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
