"""Where a run stands, as arrays and JSON: to be shown, and to check that a replay is faithful."""

import json
import zlib
from dataclasses import asdict, fields
from typing import NamedTuple

from szoht.algorithm import Measured, State
from szoht.errors import EncodingError
from szoht.result import Progress
from szoht.scripted import ScriptState
from szoht.store.codec import Encoded, decode, encode

__all__ = ["Snapshot", "take"]


class Snapshot(NamedTuple):
    """The state after ``round``; as text what is shown in lists, the rest by the codec.

    The whole state is there if it is data; else the newest and the best iterate.
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
    def best(self) -> Measured | None:
        """The best point that was measured."""
        found: Measured | None = decode(Encoded(self.state, self.arrays))["best"]
        return found


def take(round_: int, state: State, progress: Progress) -> Snapshot:
    """Return a snapshot of a run that has been told ``round_`` and all rounds before it."""
    summary = {
        "iteration": progress.iteration,
        **asdict(progress.counts),
        "best": None if progress.best is None else progress.best.value,
        "support_size": int(progress.support.size),
    }
    return Snapshot(round_, json.dumps(summary), *_contents(state))


def _contents(state: State) -> Encoded:
    data = {field.name: getattr(state, field.name) for field in fields(state)}
    if isinstance(state, ScriptState):
        data["transcript"] = ()  # the answers, which the store has anyway
    try:
        return encode(data)
    except EncodingError:
        return encode({name: data[name] for name in ("iteration", "x", "best")})
