"""Lists of runs: one line for each, with what is durable by now."""

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from szoht.errors import EncodingError
from szoht.result import Status
from szoht.store import locking
from szoht.store.database import damaged
from szoht.store.rounds import RoundTable
from szoht.store.snapshots import read_summary
from szoht.store.spec import RunSpec

__all__ = ["SELECT_SUMMARY", "Durable", "RunSummary", "durable", "summarize"]

SELECT_SUMMARY = (
    "SELECT number, id, started, function, algorithm, d, k, seed, status, seconds, round, summary "
    "FROM runs LEFT JOIN snapshots ON run = number"
)

OPEN = ("STOPPED", "WAITING")
"""What a run is called that is not finished and that no process has locked."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of a list of runs.

    ``function`` is None if points are evaluated externally. ``status`` is the name of a `Status`,
    or of an open run that no process has locked: STOPPED, or WAITING for values from elsewhere.
    """

    name: str
    started: str
    function: str | None
    algorithm: str
    d: int
    k: int | None
    seed: int
    status: str
    seconds: float
    queries: int
    iteration: int
    best: float | None

    @property
    def finished(self) -> bool:
        """Whether there is nothing to resume."""
        return self.status not in OPEN and not Status[self.status].goes_on


@dataclass(frozen=True)
class Durable:
    """Answers that came after the newest snapshot: how many, and the best of an allowed point."""

    queries: int = 0
    best: float = math.nan


def durable(rounds: RoundTable, spec: RunSpec, after: int) -> Durable:
    """Return what was answered after a round, of a run that has not ended."""
    queries, best, sign = 0, math.nan, -1.0 if spec.maximize else 1.0
    allowed = getattr(getattr(spec.method, "operator", None), "contains", lambda _: True)
    for stored in rounds.read(after + 1, rounds.last + 1):
        for part in stored.known.values():
            queries += part.chunk.n_points * stored.plan.queries[part.chunk.query].unit_cost
            value = float(part.values[0, 0])
            query = stored.plan.queries[part.chunk.query]
            is_base = part.chunk.start == 0 and query.with_base and part.values.shape[1] == 1
            better = is_base and not sign * value >= sign * best and not math.isnan(value)
            if better and allowed(query.base):
                best = value
    return Durable(queries, best)


def summarize(path: Path, row: Any, newer: Durable) -> RunSummary:
    """Return the line of a run, of which ``newer`` answers are not in its snapshot."""
    try:
        shown = {} if row["summary"] is None else read_summary(row["summary"])
        seed = int(row["seed"])
        datetime.fromisoformat(row["started"])
    except (EncodingError, ValueError) as error:
        raise damaged(path, f"the entry of run {row['id']}: {error}") from error
    status, seconds = row["status"], row["seconds"]
    holder = locking.holder(path, row["number"])
    if status == "RUNNING" and holder and holder.alive:
        seconds = max(seconds, holder.elapsed)  # a call of the function may take hours
    elif status == "RUNNING":
        status = "WAITING" if row["function"] is None else "STOPPED"
    return RunSummary(
        name=row["id"],
        started=row["started"],
        function=row["function"],
        algorithm=row["algorithm"],
        d=row["d"],
        k=row["k"],
        seed=seed,
        status=status,
        seconds=seconds,
        queries=shown.get("queries", 0) + newer.queries,
        iteration=shown.get("iteration", 0),
        best=shown.get("best") if math.isnan(newer.best) else newer.best,
    )
