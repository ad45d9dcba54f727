"""Functions with several outputs are asked at the start how many they have; that is paid once."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from szoht.core.objective import Objective
from szoht.core.query import Answer, Plan
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.evaluation.oracle import NO_CHUNKS, OnChunk, Oracle
from szoht.run.outputs import OutputForm
from szoht.types import Vector

__all__ = ["PrimedOracle", "first_outputs"]


@dataclass(frozen=True, kw_only=True)
class PrimedOracle(Oracle):
    """An oracle that knows the answer to the first plan, which is ``first``, if it is known."""

    first: ChunkValues | None = None

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues] = NO_CHUNKS,
        on_chunk: OnChunk | None = None,
        one_by_one: bool = False,
    ) -> list[Answer]:
        """Evaluate every point of the plan that is not known."""
        first = self.first
        if plan is self.first_plan and first is not None and first.chunk not in known:
            if on_chunk is not None:
                on_chunk(first)
            known = {**known, first.chunk: first}
        return super().__call__(plan, known=known, on_chunk=on_chunk, one_by_one=one_by_one)


def first_outputs(objective: Objective, start: Vector) -> tuple[OutputForm, ChunkValues]:
    """Evaluate a function of z at the start; return the form of its outputs, and their values."""
    if objective.values is not None:
        row = np.asarray(objective.values(start[np.newaxis], None))[0]
        form = OutputForm(n_outputs=row.size)
    else:
        answer = objective.value(start.copy(), None)
        form = OutputForm.of(answer)
        row = form.row(answer)
    finite = np.where(np.isfinite(row), row, np.nan)[np.newaxis]
    return form, ChunkValues(chunk=Chunk(0, 0, 1), values=finite)
