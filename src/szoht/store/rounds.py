"""Rounds of a stored run: a plan's points, and the answers to them."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from szoht.core.ledger import Ledger
from szoht.core.query import Answer, Plan
from szoht.errors import EncodingError
from szoht.evaluation.chunks import Chunk, ChunkValues, merge
from szoht.result import Counts
from szoht.store import answers
from szoht.store.database import damaged, reading
from szoht.store.points import StoredPlan
from szoht.types import Vector

__all__ = ["RoundTable", "StoredRound", "load_rounds"]


class StoredRound(NamedTuple):
    """What is stored of a round: the answers, and the time when it was complete, else None.

    ``plan`` has its points as they were evaluated.
    """

    plan: StoredPlan
    known: dict[Chunk, ChunkValues]
    seconds: float | None


class RoundTable:
    """Reads the rounds of one run, and believes nothing that it has not checked.

    Parameters
    ----------
    connection, path
        Of the store.
    run : int
        The number of the run.
    start : array of shape (d,)
        Where the run started: points are stored as changes of it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, run: int, start: Vector) -> None:
        self._connection = connection
        self._path = path
        self._run = run
        self._start = start
        self._outputs: tuple[int, ...] | None = None

    @property
    def last(self) -> int:
        """The number of the last round, -1 if there is none."""
        return self._extreme("max")

    @property
    def lowest(self) -> int:
        """The lowest number of a round, which is below zero if some were set aside, else 0."""
        return min(self._extreme("min"), 0)

    def row(self, number: int) -> tuple[int, bytes, float | None] | None:
        """Return the digest of a round, its points, and its time; None if it is not stored."""
        with reading(self._path):
            row = self._connection.execute(
                "SELECT digest, points, crc, seconds FROM rounds WHERE run = ? AND round = ?",
                (self._run, number),
            ).fetchone()
        if row is None:
            return None
        bits, points, crc, seconds = row
        typed = type(bits) is int and isinstance(points, bytes)
        timed = seconds is None or (isinstance(seconds, float) and 0 <= seconds < float("inf"))
        if not (typed and timed) or crc != checksum(bits, points):
            raise damaged(self._path, f"round {number}")
        return bits, points, seconds

    def plan(self, number: int, points: bytes) -> StoredPlan:
        """Return the points of a round."""
        try:
            return StoredPlan.decode(points, self._start)
        except EncodingError as error:
            raise damaged(self._path, f"round {number}: {error}") from error

    def answers(self, number: int, sizes: Sequence[int]) -> dict[Chunk, ChunkValues]:
        """Return the answers to a round whose queries have so many points each."""
        with reading(self._path):
            rows = self._connection.execute(
                f"SELECT {answers.ANSWER_COLUMNS} FROM answers WHERE run = ? AND round = ?",  # noqa: S608
                (self._run, number),
            ).fetchall()
        known = {}
        for stored in rows:
            answer = answers.from_row(stored, sizes, self._start.size)
            if answer is None or not self._has_all_outputs(answer):
                raise damaged(self._path, f"an answer of round {number}")
            known[answer.chunk] = answer
        return known

    def find(self, number: int) -> StoredRound | None:
        """Return a round, None if it is not stored."""
        row = self.row(number)
        if row is None:
            return None
        plan = self.plan(number, row[1])
        known = self.answers(number, [query.n_points for query in plan.queries])
        return StoredRound(plan, known, row[2])

    def read(self, start: int, stop: int) -> Iterator[StoredRound]:
        """Yield some rounds."""
        found = (self.find(number) for number in range(start, stop))
        return (one for one in found if one is not None)

    def all(self) -> Iterator[StoredRound]:
        """Yield all rounds, those that were set aside first."""
        return self.read(self.lowest, self.last + 1)

    def move(self, number: int, to: int) -> None:
        """Give a round another number."""
        for table in ("answers", "rounds"):
            self._connection.execute(
                f"UPDATE {table} SET round = ? WHERE run = ? AND round = ?",  # noqa: S608
                (to, self._run, number),
            )

    def _extreme(self, function: str) -> int:
        with reading(self._path):
            (number,) = self._connection.execute(
                f"SELECT {function}(round) FROM rounds WHERE run = ?",  # noqa: S608
                (self._run,),
            ).fetchone()
        return -1 if number is None else int(number)

    def _has_all_outputs(self, answer: ChunkValues) -> bool:
        """Tell whether an answer has as many outputs as the first one that was read."""
        outputs = answer.values.shape[1:]
        if self._outputs is None:
            self._outputs = outputs
        return outputs == self._outputs


def checksum(bits: int, points: Any) -> int:
    """Return the checksum that a round is stored with."""
    return zlib.crc32(points, bits & 0xFFFFFFFF)


def load_rounds(ledger: Ledger, rounds: Iterable[StoredRound]) -> Counts:
    """Put the evaluations of stored rounds into a ledger, and return what they have cost."""
    counts = Counts()
    for stored in rounds:
        answers = merge(stored.plan, stored.known.values())
        for query, answer in zip(stored.plan.queries, answers, strict=True):
            evaluated = _evaluated(answer)
            known = query.query
            if known is None or query.sample:
                ledger.record_values(evaluated)
            else:
                ledger.record(Plan(queries=(known,)), [answer])
            counts = counts.plus(
                queries=evaluated.size * query.unit_cost,
                points=evaluated.size,
                gradients=query.gradient * query.unit_cost * bool(evaluated.size),
                failures=int(np.count_nonzero(np.isnan(evaluated))),
            )
    return counts


def _evaluated(answer: Answer) -> Vector:
    return answer.values if answer.left_out is None else answer.values[~answer.left_out]
