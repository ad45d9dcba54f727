"""Variance reduction with a table of past estimates: SAGA and p-memorization."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from szoht.core.directions import Directions, SampledDirections, ScaledDirections
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import frozen
from szoht.estimators.differences import direction_weights, gradient_along
from szoht.estimators.sphere import Sphere, sphere_estimate
from szoht.types import Indices, Sample, Vector

__all__ = ["EstimateTable", "MemoryTable"]


class TableEntry(NamedTuple):
    """A past estimate of one component: where, along which directions, with which weights.

    The point is kept sparse and the directions by their key, so an entry takes O(k + q)
    numbers instead of d.
    """

    d: int
    support: Indices
    values: Vector
    directions: Directions
    weights: Vector

    @property
    def point(self) -> Vector:
        """The point, dense."""
        x = np.zeros(self.d)
        x[self.support] = self.values
        return frozen(x)

    @property
    def gradient(self) -> Vector:
        """The estimate, its directions sampled again from their key."""
        return gradient_along(_without_cache(self.directions), self.weights)


class EstimateTable(NamedTuple):
    """One entry per component, and the mean of their estimates."""

    entries: tuple[TableEntry, ...]
    mean: Vector


@dataclass(frozen=True, kw_only=True)
class MemoryTable:
    """An estimate of a few components, corrected by what the table remembers of them.

    ``v = mean_{i in B} [ghat_i(x) - ghat_i(phi_i)] + mean_j alpha_j``, where alpha_j estimates
    component j at the point phi_j where it was last evaluated; then the entries of B move to x.
    With one component at a time this is SAGA, with p of them p-memorization. The two terms of the
    correction use the same directions: the table's own estimate alpha_i, taken along others,
    would add more noise than it removes.

    Parameters
    ----------
    estimator : Sphere
        For the components of an iteration.
    initial : Sphere
        For the pass over all components that fills the table in the first iteration.

    Notes
    -----
    Costs n (q_initial + 1) evaluations at first, then 2 p (q + 1); the sampler is
    ``Snapshots(size=p)``. Memory n (k + q) numbers.
    """

    estimator: Sphere
    initial: Sphere

    requires = frozenset({"n_samples"})

    def check(self, d: int) -> None:
        """Raise unless both estimators fit dimension ``d``."""
        self.estimator.check(d)
        self.initial.check(d)

    def init(self, x: Vector) -> EstimateTable | None:
        """Return nothing: the table is empty."""
        del x
        return None

    def plan(self, x: Vector, sample: Sample, memory: EstimateTable | None, key: Key) -> Plan:
        """Plan each component at ``x``, and at its point in the table."""
        members = np.asarray(sample)
        if memory is None:
            return Plan(queries=tuple(self._queries(self.initial, x, members, key)))
        here = tuple(self._queries(self.estimator, x, members, key))
        there = tuple(
            replace(query, base=memory.entries[i].point)
            for i, query in zip(members, here, strict=True)
        )
        return Plan(queries=here + there)

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: EstimateTable | None
    ) -> tuple[Estimate, EstimateTable | None]:
        """Return the corrected estimate and the refreshed table."""
        count = len(plan.queries) if memory is None else len(plan.queries) // 2
        here = [
            sphere_estimate(q, a)
            for q, a in zip(plan.queries[:count], answers[:count], strict=True)
        ]
        mean = np.mean([estimate.gradient for estimate in here], axis=0)
        value = float(np.mean([estimate.value for estimate in here]))
        estimate = replace(here[0], gradient=mean, value=value)
        if np.isnan(value):
            return estimate, memory
        fresh = [_entry(q, a) for q, a in zip(plan.queries[:count], answers[:count], strict=True)]
        if memory is None:
            return estimate, EstimateTable(tuple(fresh), frozen(mean))
        there = [
            sphere_estimate(q, a).gradient
            for q, a in zip(plan.queries[count:], answers[count:], strict=True)
        ]
        corrected = replace(estimate, gradient=mean - np.mean(there, axis=0) + memory.mean)
        gradients = [estimate.gradient for estimate in here]
        return corrected, _refresh(memory, plan.queries[:count], fresh, gradients)

    def _queries(self, estimator: Sphere, x: Vector, members: Vector, key: Key) -> Iterable[Query]:
        for place, i in enumerate(members):
            component_key = replace(key, round=place)  # directions of its own for each component
            yield from estimator.plan(x, np.array([i]), None, component_key).queries


def _entry(query: Query, answer: Answer) -> TableEntry:
    assert query.directions is not None, "a difference plan always has directions"  # noqa: S101
    support = np.flatnonzero(query.base)
    weights = frozen(direction_weights(query, answer, scale=query.base.size, mean=True))
    return TableEntry(
        query.base.size, support, query.base[support], _without_cache(query.directions), weights
    )


def _refresh(
    table: EstimateTable,
    queries: Sequence[Query],
    fresh: Sequence[TableEntry],
    gradients: Sequence[Vector],
) -> EstimateTable:
    entries = list(table.entries)
    mean = np.array(table.mean)
    for query, entry, gradient in zip(queries, fresh, gradients, strict=True):
        assert query.sample is not None, "a component is named by its sample"  # noqa: S101
        i = int(query.sample[0])
        mean += (gradient - entries[i].gradient) / len(entries)
        entries[i] = entry
    return EstimateTable(tuple(entries), frozen(mean))


def _without_cache(directions: Directions) -> Directions:
    """Return the same directions without cached arrays."""
    if isinstance(directions, ScaledDirections):
        return replace(directions, inner=_without_cache(directions.inner))
    return replace(directions) if isinstance(directions, SampledDirections) else directions
