"""Attacks that share the calls of one classifier, so that it sees large batches."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from szoht.applications.attack.attempt import Attempt
from szoht.types import Vector

__all__ = ["attack_together"]

DEFAULT_SHARED_IMAGES = 64
"""Images per call unless a batch size is given: from 32 to 256 the time per image is the same."""


def attack_together(attempts: Sequence[Attempt]) -> None:
    """Drive attacks to their ends, in turn; the queries of several are answered by one call.

    Each asks what it would ask alone, and its seed is its own, so that only the rounding of the
    classifier depends on the others.
    """
    waiting = deque(attempt for attempt in attempts if attempt.is_open)
    while waiting:
        batch = _next_batch(waiting)
        try:
            answers = _answers(batch)
        except Exception:  # whose image it was shows when each is driven alone
            for attempt in batch:
                attempt.drive()
            continue
        for attempt, values in zip(batch, answers, strict=True):
            attempt.run.receive(attempt.run.solver_plan().answered(values))
        waiting.extend(attempt for attempt in batch if attempt.is_open)


def _next_batch(waiting: deque[Attempt]) -> list[Attempt]:
    """Take attacks off the queue while their queries fit into one call, at least one."""
    size = waiting[0].objective.batches.size or DEFAULT_SHARED_IMAGES
    batch: list[Attempt] = []
    count = 0
    while waiting and (not batch or count + waiting[0].run.solver_plan().n_points <= size):
        batch.append(waiting.popleft())
        count += batch[-1].run.solver_plan().n_points
    return batch


def _answers(batch: Sequence[Attempt]) -> list[Vector]:
    plans = [attempt.run.solver_plan() for attempt in batch]
    pairs = list(zip(batch, plans, strict=True))
    images = np.concatenate([attempt.objective.images(plan) for attempt, plan in pairs])
    shared = batch[0].objective
    scores = np.concatenate(
        [shared.network.dense(images[part]) for part in shared.batches.split(len(images))]
    )
    ends = np.cumsum([plan.n_points for plan in plans])[:-1]
    return [
        attempt.objective.answer(plan, own)
        for (attempt, plan), own in zip(pairs, np.split(scores, ends), strict=True)
    ]
