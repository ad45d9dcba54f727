"""One run, in a process of its own, with a limit on its CPU time."""

import os
import resource
import signal
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from asking import Ask, Stop
from problems import make
from solvers import find

__all__ = ["Job", "run"]

GRACE = 20
"""CPU seconds beyond the limit after which the operating system ends the process."""

TUNING = 60
"""More of them where a grid is searched first."""


class Job(NamedTuple):
    """What to run."""

    problem: str
    solver: str
    seed: int
    budget: int
    seconds: float


def run(job: Job, pipe: Connection, tuned: str) -> None:
    """Run the job and send back a dictionary."""
    os.environ["PEERS_TUNED"] = tuned
    warnings.simplefilter("ignore")
    problem = make(job.problem)
    _limit(job)
    note = ""
    ask = Ask(problem, job.seed, job.budget, job.seconds)

    def send(why: str) -> None:
        ask.ended = why
        overhead = ask.overhead
        ask.close()
        pipe.send(_row(job, ask, overhead, note) | {"trajectory": ask.trajectory})
        pipe.close()

    def abandon(why: str) -> None:
        send(why)
        os._exit(0)

    ask.abandon = abandon
    ended = ask.ended
    try:
        solve = find(job.solver)
        ask.start()
        solve(problem, job.seed, job.budget, ask)
    except Stop as stop:
        ended = str(stop)
    except MemoryError:
        ended = "memory"
    except Exception as error:  # whatever a solver raises is its result
        ended = "error"
        note = " ".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
    send(ended)


def _row(job: Job, ask: Ask, overhead: float, note: str) -> dict[str, Any]:
    return {
        "problem": job.problem,
        "solver": job.solver,
        "seed": job.seed,
        "d": ask.problem.d,
        "k": ask.problem.k,
        "budget": ask.budget,
        "seconds": job.seconds,
        "queries": ask.queries,
        "solved_at": "" if ask.solved_at is None else ask.solved_at,
        "best": repr(float(ask.best)),
        "target": repr(float(ask.problem.target)),
        "known": repr(float(ask.problem.best)),
        "ended": ask.ended,
        "overhead": round(overhead, 2),
        "note": note[:200],
    }


def _limit(job: Job) -> None:
    """Have the system interrupt a solver that is slow between two queries."""
    more = TUNING if job.solver == "szoht-tuned" else 0
    soft = int(job.seconds + GRACE / 2 + more)

    def out_of_time(signum: int, frame: object) -> None:
        del signum, frame
        raise Stop("time")

    signal.signal(signal.SIGXCPU, out_of_time)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + GRACE))
