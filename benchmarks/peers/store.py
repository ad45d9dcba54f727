"""Results on disk: one line per finished run, so that a run that was interrupted can go on."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from child import Job

__all__ = ["COLUMNS", "Outcome", "Store"]

COLUMNS = (
    "problem",
    "solver",
    "seed",
    "d",
    "k",
    "budget",
    "seconds",
    "queries",
    "solved_at",
    "best",
    "target",
    "known",
    "ended",
    "overhead",
    "note",
)


class Outcome(NamedTuple):
    """A finished run, as far as the report needs it."""

    problem: str
    solver: str
    seed: int
    d: int
    k: int
    queries: int
    solved_at: int | None
    best: float
    known: float
    ended: str
    overhead: float


class Store:
    """``runs.csv`` and ``trajectories.csv`` in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.runs = folder / "runs.csv"
        self.trajectories = folder / "trajectories.csv"

    def rows(self) -> list[dict[str, str]]:
        """Return all lines."""
        if not self.runs.exists():
            return []
        with self.runs.open(newline="") as file:
            return list(csv.DictReader(file))

    def done(self) -> set[Job]:
        """Return which runs are finished, with which limits."""
        return {
            Job(
                problem=row["problem"],
                solver=row["solver"],
                seed=int(row["seed"]),
                budget=int(row["budget"]),
                seconds=float(row["seconds"]),
            )
            for row in self.rows()
        }

    def forget(self, solvers: Sequence[str]) -> None:
        """Drop the runs of these solvers."""
        kept = [row for row in self.rows() if row["solver"] not in solvers]
        with self.runs.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(kept)

    def append(self, answer: dict[str, Any]) -> None:
        """Add a finished run."""
        trajectory = answer.pop("trajectory", [])
        self._append(self.runs, COLUMNS, [[answer[name] for name in COLUMNS]])
        who = [answer["problem"], answer["solver"], answer["seed"]]
        header = ("problem", "solver", "seed", "queries", "value")
        self._append(self.trajectories, header, [[*who, q, repr(v)] for q, v in trajectory])

    def crashed(self, job: Job, how: str) -> None:
        """Add a run whose process did not answer."""
        row: dict[str, Any] = dict.fromkeys(COLUMNS, "")
        row |= job._asdict() | {"d": 0, "k": 0, "queries": 0, "best": "inf", "known": "nan"}
        row |= {"ended": "crash", "overhead": "nan", "note": how}
        self.append(row)

    def outcomes(self) -> list[Outcome]:
        """Return the finished runs; of several with other limits the last."""
        last = {(row["problem"], row["solver"], row["seed"]): row for row in self.rows()}
        return [
            Outcome(
                problem=row["problem"],
                solver=row["solver"],
                seed=int(row["seed"]),
                d=int(row["d"]),
                k=int(row["k"]),
                queries=int(row["queries"]),
                solved_at=int(row["solved_at"]) if row["solved_at"] else None,
                best=float(row["best"]),
                known=float(row["known"]),
                ended=row["ended"],
                overhead=float(row["overhead"]),
            )
            for row in last.values()
        ]

    @staticmethod
    def _append(path: Path, header: Sequence[str], lines: list[list[Any]]) -> None:
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(header)
            writer.writerows(lines)
