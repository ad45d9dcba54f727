"""Group screening finds the variables on which f depends at all.

At a dense random base, groups of variables are put back to the incumbent; f changes or not. Exact
where the other variables have no effect, whatever the shape of f: products, steps, plateaus.
References: Dorfman 1943; sequential bifurcation, Bettonvil and Kleijnen 1997.
"""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Indices, Vector

__all__ = ["Screening", "screen", "screen_again", "screen_variables"]

AMPLITUDES = (1.0, 0.1, 3.0, 0.01)
"""Of the random bases, in units, in turn."""

AMPLITUDES_BLIND = (1.0, 3.0, 0.1, 10.0, 0.3, 30.0, 0.01)
"""The same while no variable is known: on a plateau, most lengths lead nowhere."""

QUIET_MOST = 40
"""Bases that may show nothing before the first variable is found."""

QUIET_KNOWN = 4
"""The same once some are found (1 and 16 cost up to 1.2 times as much)."""

FIRST_GROUPS = 8
"""If so many groups all matter, everything does."""

CHANGED = 1e-12
"""A value is another one if it differs by this share of both."""


@dataclass(frozen=True, eq=False)
class Screening:
    """The variables that matter, None if nearly all do, and the best base seen."""

    found: frozenset[int] | None


def screen(
    context: SearchContext,
    point: EvaluatedPoint,
    unit: Vector,
    *,
    noise: float,
    found: frozenset[int] = frozenset(),
    quiet_most: int = QUIET_MOST,
) -> Steps[Screening]:
    """Screen at random bases until ``quiet_most`` of them, or a few later, show nothing new."""
    k = context.structure.size
    known, quiet, trial = set(found), 0.0, -1
    while quiet < (QUIET_KNOWN if known else quiet_most):
        trial += 1
        rest = np.setdiff1d(context.structure.free, np.array(sorted(known), dtype=np.intp))
        if rest.size == 0:
            break
        amplitudes = AMPLITUDES if known else AMPLITUDES_BLIND
        amplitude = amplitudes[trial % len(amplitudes)]
        base = _base(context, point, unit, rest if trial % 2 == 0 or not known else None, amplitude)
        value = yield from context.value(base)
        if math.isnan(value):
            quiet += 0.5
            continue
        group = _Group(context, point, EvaluatedPoint(base, value), noise)
        if not (yield from group.matters(rest)):
            quiet += 1
            continue
        quiet = 0
        if not (yield from _bisect(context, group, rest, known, 3 * k)):
            return Screening(None)
        yield from _sparse_sample(context, point, base, known)
    return Screening(frozenset(known))


@dataclass(frozen=True, eq=False)
class _Group:
    context: SearchContext
    point: EvaluatedPoint
    base: EvaluatedPoint
    noise: float

    def matters(self, group: Indices) -> Steps[bool]:
        """Tell whether f changes at the base when a group is put back to the incumbent."""
        z = self.base.z.copy()
        z[group] = self.point.z[group]
        value = self.point.value
        if not np.array_equal(z, self.point.z):
            value = yield from self.context.value(z)
        if math.isnan(value):
            return True
        size = CHANGED * (abs(value) + abs(self.base.value))
        return abs(value - self.base.value) > max(size, 4 * self.noise)


def _base(
    context: SearchContext,
    point: EvaluatedPoint,
    unit: Vector,
    moved: Indices | None,
    amplitude: float,
) -> Vector:
    """Return a random point: uniform in a box, else some units around the incumbent."""
    structure, generator = context.structure, context.generator()
    offset = amplitude * unit * generator.uniform(-1, 1, point.z.size)
    z = structure.clip(point.z + offset)
    width = structure.high - structure.low
    if amplitude >= 1:
        inside = np.isfinite(width)
        z[inside] = generator.uniform(structure.low[inside], structure.high[inside])
    result = point.z.copy()
    which = structure.free if moved is None else moved
    result[which] = z[which]
    return result


def _bisect(  # noqa: C901  (one walk through a tree of groups)
    context: SearchContext, group: _Group, rest: Indices, known: set[int], most: int
) -> Steps[bool]:
    """Add the variables of ``rest`` that matter; False if there are too many of them."""
    d, k = group.point.z.size, context.structure.size
    shuffled = context.generator().permutation(rest)
    groups = np.array_split(shuffled, min(rest.size, max(8, 2 * k)))
    hits = []
    for i, members in enumerate(groups):
        hits.append((yield from group.matters(members)))
        if _too_many(hits, d, k, last=i == len(groups) - 1):
            return False
    for members, hit in zip(groups, hits, strict=True):
        stack = [(members, True)] if hit else []
        while stack:
            part, sure = stack.pop()
            if not sure and not (yield from group.matters(part)):
                continue
            if part.size == 1:
                known.add(int(part[0]))
                if len(known) > most:
                    return False
                continue
            left, right = part[: part.size // 2], part[part.size // 2 :]
            if (yield from group.matters(left)):
                stack += [(right, False), (left, True)]
            else:
                stack.append((right, True))
    return True


def _too_many(hits: list[bool], d: int, k: int, *, last: bool) -> bool:
    """Tell whether nearly all groups matter: the first ones, or most of all."""
    if len(hits) == FIRST_GROUPS and all(hits) and d > 2 * FIRST_GROUPS:
        return True
    return last and sum(hits) > 0.8 * len(hits) and d > 4 * k


def _sparse_sample(
    context: SearchContext, point: EvaluatedPoint, base: Vector, known: set[int]
) -> Steps[None]:
    """Measure the base without the variables that do not matter, if that may be an answer."""
    z = point.z.copy()
    which = np.array(sorted(known), dtype=np.intp)
    z[which] = base[which]
    if context.structure.contains(z):
        yield from context.point(z)


def screen_variables(search: Exploration) -> Steps[None]:
    """Ask which variables f depends on at all."""
    context = search.context
    noise = 0.0 if search.state.noise.exact else search.state.noise.sigma
    result = yield from screen(context, search.incumbent, search.unit, noise=noise)
    search.found = result.found
    search.pool = context.structure.free
    if result.found is None:
        context.explain("group screening: nearly all variables matter.")
    elif result.found:
        search.pool = np.array(sorted(result.found), dtype=np.intp)
        context.explain(f"group screening: f depends on {len(result.found)} variables.")
    else:
        context.explain("group screening: no variable changes f.")


def screen_again(search: Exploration) -> Steps[None]:
    """Screen with other lengths: steps hide small variables until large ones are solved."""
    assert search.found is not None, "screening has found some"  # noqa: S101
    blind = not search.found
    powers = (-0.3, 0.3) if blind else (-2, 1)
    unit = search.unit * 10 ** search.context.generator().uniform(*powers)
    noise = 0.0 if search.state.noise.exact else search.state.noise.sigma
    result = yield from screen(
        search.context, search.incumbent, unit, noise=noise, found=search.found
    )
    if result.found is not None and len(result.found) > len(search.found):
        search.found = result.found
        search.pool = np.array(sorted(result.found), dtype=np.intp)
        search.context.explain(f"group screening: f depends on {len(search.found)} variables.")
        if search.few:
            yield from search.polish()
