"""Points that wait for values from outside, the replies to them, and what became of these."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from szoht.errors import ParameterError
from szoht.result import Result
from szoht.types import Sample, Vector

__all__ = ["Point", "PointId", "Reply", "Told"]


POINT_ID = re.compile(r"([^:]*):([0-9]{1,18}):([0-9]{1,18})")
"""A store counts with 64 bits."""


class PointId(NamedTuple):
    """The name of a point, ``run:round:point``: its index in a plan, and the plan's in a run.

    >>> str(PointId("k7mq2x", 3, 14)), PointId.parse("k7mq2x:3:14")
    ('k7mq2x:3:14', PointId(run='k7mq2x', round=3, point=14))
    """

    run: str
    round: int
    point: int

    def __str__(self) -> str:
        return f"{self.run}:{self.round}:{self.point}"

    @classmethod
    def parse(cls, text: object) -> "PointId":
        """Return the id that a text denotes."""
        parts = POINT_ID.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            raise ParameterError(f"`id` must read run:round:point; got {text!r:.60}.")
        return cls(parts[1], int(parts[2]), int(parts[3]))


class Point(NamedTuple):
    """A point that waits for its value."""

    id: PointId
    x: Vector
    sample: Sample


class Reply(NamedTuple):
    """The value of a point, or its outputs; NaN, with the reason, if it could not be evaluated.

    Outputs may have names in a run that knows them.
    """

    id: PointId
    value: float | Sequence[float] | Mapping[str, float]
    error: str = ""

    @property
    def outputs(self) -> Vector:
        """The value as an array of one or several outputs."""
        return np.atleast_1d(np.asarray(self.value, dtype=np.float64))

    @property
    def failed(self) -> bool:
        """Whether no output is a finite number."""
        return not np.isfinite(self.outputs).any()


@dataclass
class Told:
    """How many replies were new, known already, or contradicted what is known.

    ``rejected`` says which do not have the outputs of the run, and so were not taken.
    """

    new: int = 0
    repeated: int = 0
    failed: int = 0
    contradictions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    result: Result | None = None
    rejected: list[str] = field(default_factory=list)
