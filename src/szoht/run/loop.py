"""The one loop: a run asks, an oracle answers, and what goes wrong becomes a status."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from szoht.core.query import Answer, Plan
from szoht.errors import StoreWriteError
from szoht.evaluation.oracle import Oracle, PointFailure
from szoht.result import Failure, Result, Status
from szoht.run.ask_tell import AskTell
from szoht.store import RunOver, Sitting, recording

__all__ = ["drive", "loop"]


def loop(run: AskTell, oracle: Callable[[Plan], Sequence[Answer]]) -> Result:
    """Drive a run to its end."""
    try:
        while not run.done:
            plan = run.ask()
            try:
                answers = oracle(plan)
            except PointFailure as failed:
                run.fail(_describe(failed, run), spent=failed.spent)
            except StoreWriteError:
                run.interrupt(status=Status.STORE)
            except RunOver as over:
                run.interrupt(status=over.status)
            else:
                run.receive(answers)
    except KeyboardInterrupt as stop:
        run.interrupt(spent=getattr(stop, "points_spent", 0))
    return run.result


def drive(run: AskTell, oracle: Oracle, sitting: Sitting | None = None) -> Result:
    """Drive a run, recording its answers if there is a sitting, and count what workers did."""
    if sitting is None:
        result = loop(run, oracle)
    else:
        with recording(oracle, sitting, run) as recorded:
            if oracle.scheduler is not None:
                oracle.scheduler.on_retry = recorded.note
            result = replace(loop(run, recorded), run=sitting.name)
    if oracle.scheduler is None:
        return result
    return replace(result, faults=oracle.scheduler.faults)


def _describe(failed: PointFailure, run: AskTell) -> Failure:
    return Failure(
        query=run.progress.counts.points + failed.index + 1,
        point=failed.point,
        reason=failed.reason,
        exception=failed.cause,
    )
