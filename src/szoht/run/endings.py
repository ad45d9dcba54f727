"""How a run ends: what is measured last, with which status, and what is said about it."""

from szoht.core.algorithm import Algorithm, State
from szoht.core.query import Plan
from szoht.errors import ExecutorError
from szoht.evaluation.oracle import OnError
from szoht.result import Failure, Status

__all__ = ["cost_with_reserve", "describe_ending", "final_plan", "status_of_ending"]


def status_of_ending(state: State) -> Status:
    """Return why an algorithm has ended: it has converged, or never got a value."""
    if state.best is None:
        return Status.FAILED
    return Status.CONVERGED if state.ending is None else Status[state.ending.name]


def cost_with_reserve(algorithm: Algorithm, state: State, plan: Plan) -> int:
    """Return the cost of a plan and of the final measurement that must remain affordable."""
    reserve = getattr(algorithm, "reserve", None)
    return plan.cost + (0 if reserve is None else int(reserve(state)))


def final_plan(algorithm: Algorithm, state: State, status: Status) -> Plan | None:
    """Return what is measured last: after a time limit only a solution without a value."""
    timely = status is not Status.SECONDS or not algorithm.solution(state).exact
    return algorithm.final_plan(state) if status.measures_solution and timely else None


def describe_ending(
    status: Status,
    failure: Failure | None,
    *,
    on_error: OnError | None,
    needed: int,
    budget: tuple[int, int | None],
) -> str:
    """Say why the run ended, and what to do; ``budget`` is what was spent, and its limit."""
    if failure is not None:
        by_executor = isinstance(failure.exception, ExecutorError)
        remedy = "" if by_executor or on_error == "skip" else status.remedy
        return f"{status.text} {failure} {remedy}".strip()
    spent, limit = budget
    if status is Status.QUERIES and limit is not None and spent < limit:
        return (
            f"The next step needs {needed} queries, and {limit - spent} of {limit} are left. "
            f"{status.remedy}"
        )
    return status.message
