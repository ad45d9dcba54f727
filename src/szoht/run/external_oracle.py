"""Plans are answered with replies from outside, as far as these reach."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from szoht.core.query import Answer, Plan
from szoht.errors import ParameterError
from szoht.evaluation.chunks import (
    Chunk,
    ChunkValues,
    chunk_of_point,
    first_point_indices,
    merge,
)
from szoht.run.ask_tell import AskTell
from szoht.run.external_records import Reply, Told
from szoht.store import Fault, StoredRun
from szoht.types import Vector

__all__ = ["ExternalOracle", "PendingPlan", "values_by_point"]


class PendingPlan(Exception):  # noqa: N818  (control flow)
    """A plan has points without a value."""

    def __init__(self, plan: Plan, known: Iterable[ChunkValues]) -> None:
        self.plan = plan
        self.known = known
        super().__init__()

    @property
    def missing(self) -> list[int]:
        """The indices in the plan of the points without a value."""
        values = values_by_point(self.plan, self.known)
        return [point for point in range(self.plan.n_points) if point not in values]


class ExternalOracle:
    """Answers plans with the replies it is given, and raises `PendingPlan` if some are missing."""

    def __init__(self, stored: StoredRun, run: AskTell, replies: Iterable[Reply], told: Told):
        self._stored = stored
        self._told = told
        self._skip = run.on_error == "skip"
        self._takes_outputs = "n_outputs" in run.algorithm.requires
        self._sizes: set[int] = set()
        self._replies: dict[int, list[Reply]] = {}
        for reply in replies:
            self._replies.setdefault(reply.id.round, []).append(reply)

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
        one_by_one: bool = True,
    ) -> Sequence[Answer]:
        """Return the answers, or raise `PendingPlan`."""
        del one_by_one
        answers, first_indices = list(known.values()), first_point_indices(plan)
        replies = self.compare(plan, known)
        self._n_outputs = self._count_outputs(replies)
        for reply in replies:
            if (
                new := self._as_answer(reply, chunk_of_point(first_indices, reply.id.point))
            ) is not None:
                answers.append(new)
                on_chunk(new)
        if sum(answer.chunk.n_points for answer in answers) < plan.n_points:
            raise PendingPlan(plan, answers)
        return merge(plan, answers)

    def compare(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> list[Reply]:
        """Compare replies with what is known; return the first to each point that is not."""
        values, new = values_by_point(plan, known.values()), []
        self._sizes |= {answer.values.shape[1] for answer in known.values()}
        for reply in self._replies.pop(self._stored.round, []):
            point = reply.id.point
            if point >= plan.n_points:
                self._told.unknown.append(str(reply.id))
            elif point in values:
                self._count_repeated(reply, values[point])
            else:
                new.append(reply)
                if not reply.failed:
                    values[point] = reply.outputs
        return new

    def _count_outputs(self, replies: Sequence[Reply]) -> int:
        """Return how many outputs a point has, the same for all points of the run."""
        sizes = self._sizes | {reply.outputs.size for reply in replies if not reply.failed}
        if not self._takes_outputs and sizes - {1}:
            raise ParameterError(
                f"`value` must be one number for each point; got {max(sizes)} numbers."
            )
        if len(sizes) > 1:
            raise ParameterError(
                f"`value` must have as many outputs for each point; got {sorted(sizes)}."
            )
        return sizes.pop() if sizes else 1

    def take_rest(self) -> None:
        """Keep replies to points of an earlier part of the run; others are not known."""
        for reply in (one for replies in self._replies.values() for one in replies):
            if not reply.failed and self._stored.append_late(
                reply.id.round, reply.id.point, reply.outputs[np.newaxis]
            ):
                self._told.new += 1
            else:
                self._told.unknown.append(str(reply.id))

    def _count_repeated(self, reply: Reply, known: Vector) -> None:
        if reply.failed or np.array_equal(reply.outputs, known, equal_nan=True):
            self._told.repeated += 1
        else:
            first = float(known[0]) if known.size == 1 else known.tolist()
            self._told.contradictions.append(
                f"{reply.id} is {first!r} already; {reply.value!r} is ignored"
            )

    def _as_answer(self, reply: Reply, chunk: Chunk) -> ChunkValues | None:
        """Return the answer to be stored, None if the point is to be evaluated again."""
        if not reply.failed:
            self._told.new += 1
            return ChunkValues(chunk=chunk, values=reply.outputs[np.newaxis])
        self._told.failed += 1
        reason = reply.error or f"the value is {reply.value}"
        self._stored.log_fault(Fault(reply.id.point, 1, reason))
        if not self._skip:
            return None
        return ChunkValues(chunk=chunk, values=np.full((1, self._n_outputs), np.nan))


def values_by_point(plan: Plan, answers: Iterable[ChunkValues]) -> dict[int, Vector]:
    """Return the known values, by the indices of their points in the plan."""
    first_indices = first_point_indices(plan)
    return {
        first_indices[known.chunk.query] + known.chunk.start + i: outputs
        for known in answers
        for i, outputs in enumerate(known.values)
    }
