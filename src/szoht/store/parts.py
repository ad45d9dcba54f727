"""Parts of a stored run: where it went on from its evaluations, not from a replay of them."""

from typing import NamedTuple, Self

from szoht.errors import EncodingError
from szoht.store.codec import Encoded, decode_entries, encode
from szoht.types import Vector

__all__ = ["Part"]

PART_ENTRIES = {"x": Vector, "iteration": int, "queries": int, "reason": str}


class Part(NamedTuple):
    """From ``round`` on the run goes on at ``x``, in the solver's numbers.

    ``queries`` is how many queries the replay had reached, and ``reason`` why it went no further.
    """

    number: int
    round: int
    x: Vector
    iteration: int
    queries: int
    reason: str

    def encoded(self) -> Encoded:
        """Return what a store holds."""
        return encode({name: getattr(self, name) for name in PART_ENTRIES})

    @classmethod
    def decoded(cls, number: int, round_: int, encoded: Encoded) -> Self:
        """Return the part that a store held."""
        entries = decode_entries(encoded, PART_ENTRIES, ignore_others=True)
        if entries.keys() != PART_ENTRIES.keys():
            raise EncodingError("a part of a run is not complete")
        return cls(number, round_, **entries)

    def __str__(self) -> str:
        return (
            f"The stored run could be replayed as far as query {self.queries:,} ({self.reason}); "
            "from there it goes on from its evaluations."
        )
