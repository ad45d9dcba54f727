"""Snapshots of a run: shown in lists, and where a run goes on that cannot be replayed so far."""

import json
import sys
import zlib
from dataclasses import asdict
from typing import Any, NamedTuple

from szoht.core.algorithm import Measured, State
from szoht.errors import EncodingError
from szoht.result import Progress
from szoht.store.codec import Encoded, decode_entries, encode
from szoht.types import Vector

__all__ = ["Snapshot", "read_summary", "take_snapshot"]

ENTRIES = {"iteration": int, "x": Vector, "best": Measured | None, "solution": Measured | None}
"""What is written and read: the iterate, the best point, and the answer if the run has ended."""


class Snapshot(NamedTuple):
    """The state after ``round``: counts as text, the iterate and the best point by the codec.

    Neither the explanation of an algorithm nor the names of fields of its state are part of it, so
    that a change of these does not keep a run from being resumed.
    """

    round: int
    summary: str
    state: str
    arrays: bytes

    @property
    def crc(self) -> int:
        """A checksum of the contents."""
        text = f"{self.round} {self.summary} {self.state}"
        return zlib.crc32(self.arrays, zlib.crc32(text.encode()))

    @property
    def counts(self) -> dict[str, Any]:
        """What is shown in lists: the iteration, what was counted, the best value."""
        return read_summary(self.summary)

    @property
    def entries(self) -> dict[str, Any]:
        """The iteration, the iterate, the best point, and the answer if there is one."""
        read = decode_entries(Encoded(self.state, self.arrays), ENTRIES, ignore_others=True)
        entries = {"solution": None} | read
        if entries.keys() != ENTRIES.keys():
            raise EncodingError("a snapshot is not complete")
        return entries

    @property
    def best(self) -> Measured | None:
        """The best point that was measured."""
        found: Measured | None = self.entries["best"]
        return found

    def check(self) -> None:
        """Raise `EncodingError` unless everything can be read."""
        _ = self.counts, self.entries


def take_snapshot(
    round_: int, state: State, progress: Progress, solution: Measured | None = None
) -> Snapshot:
    """Return a snapshot of a run that has been told ``round_`` and all rounds before it.

    ``solution`` is the answer of a run that has ended.
    """
    best = None if progress.best is None else progress.best.value
    summary = {"iteration": progress.iteration, **asdict(progress.counts), "best": best}
    contents = encode(
        {"iteration": state.iteration, "x": state.x, "best": state.best, "solution": solution}
    )
    return Snapshot(round_, json.dumps(summary), *contents)


def read_summary(text: str) -> dict[str, Any]:
    """Return the counts and the best value that a summary holds."""
    try:
        summary = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodingError(f"a summary is not JSON: {error}") from error
    if not isinstance(summary, dict):
        raise EncodingError("a summary is not a dict")
    for name, value in summary.items():
        if not (_is_best(value) if name == "best" else type(value) is int):
            raise EncodingError(f"{name} is not a number")
    return summary


def _is_best(value: object) -> bool:
    number = type(value) is int and abs(value) <= sys.float_info.max
    return value is None or isinstance(value, float) or number
