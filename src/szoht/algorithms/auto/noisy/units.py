"""Units that are not given, seen through noise: lengths over which f curves beyond its error.

The even part of f along u, (f(x + h u) + f(x - h u)) / 2 - f(x), says over which lengths f curves,
whatever its slopes are: a coordinate that happens to lie at its best value has no slope.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.types import Indices, Vector

__all__ = ["AxisUnits", "EvenParts", "check_axis_units", "common_unit", "find_axis_units"]

DECADE = 10.0
"""Lengths along all coordinates are tried by this factor."""

AXIS_FACTOR = 30.0
"""Lengths along single coordinates are tried by this factor."""

LONGEST_TRIED = 1e9
"""Lengths between this and its inverse are tried."""

USUAL_UNITS = 0.03, 30.0
"""A unit between these is left as it is: the length of probes adapts to that."""

CLEAR = 20.0
"""Changes over one unit that are larger than this many errors stand out."""

NEAR = 0.3
"""A minimum that seems to be nearer than this, in units, makes one unit for all doubtful."""

DIRECTIONS = 4
"""Along so many a unit is measured that is not the usual one."""

EMPTY_LENGTHS = 3
"""Longer lengths are not tried after this many over which no coordinate shows."""

SPLIT = 4
"""A group of coordinates that shows is split into this many."""

FIRST_ROW = 0.1
"""Length of the first probes of a search, in units."""

MIXED = 10.0
"""Units that differ by more than this factor are equalized."""

SAMPLE = 6
"""Coordinates that tell whether units differ where all of them matter."""

OTHERS = 4.0
"""Along all coordinates f curves this much more than by the sample if some have shorter units."""


@dataclass(kw_only=True, eq=False)
class EvenParts:
    """Measures even and odd parts of f around a point, along signs on groups of coordinates."""

    values: Values
    x: Vector
    value: float
    noise: NoiseModel
    rng: np.random.Generator

    @property
    def visible(self) -> float:
        """Even parts above this are no noise."""
        return self.values.policy.noise.standard_errors_sure * self.noise.sigma

    def along(self, groups: list[Indices], length: float | Vector) -> Steps[tuple[Vector, Vector]]:
        """Return the even and odd parts over a length; infinite and zero where f is undefined."""
        steps = np.zeros((len(groups), self.values.d))
        for row, group in zip(steps, groups, strict=True):
            row[group] = self.rng.choice(np.array([-1.0, 1.0]), group.size)
        steps *= np.reshape(length, (-1, 1))
        found = yield from self.values.at(np.concatenate([self.x + steps, self.x - steps]))
        above, below = np.split(found, 2)
        failed = ~(np.isfinite(above) & np.isfinite(below))
        above, below = np.where(failed, 0.0, above), np.where(failed, 0.0, below)
        even = np.where(failed, math.inf, (above + below) / 2 - self.value)
        return even, (above - below) / 2


def common_unit(parts: EvenParts, k: int) -> Steps[tuple[float, bool]]:
    """Return one unit for all coordinates, and whether it seems to be that of each of them.

    It is one if f changes and curves between the usual lengths, which takes two values to see. A
    few coordinates with short units curve so much that the minimum seems to be near: then, or if
    slopes do not stand out, each may have another unit.
    """
    even, odd = yield from _along_all(parts, 1.0)
    near = 0 < odd * _share(parts, k) < 2 * NEAR * even
    clear = odd > CLEAR * parts.noise.sigma and not near
    if max(abs(even), odd) <= parts.visible:
        unit = yield from _longer(parts)
    else:
        unit = yield from _shorter(parts, even, odd, k)
    return (1.0 if USUAL_UNITS[0] <= unit <= USUAL_UNITS[1] else unit), clear


def _along_all(parts: EvenParts, length: float, count: int = 1) -> Steps[tuple[float, float]]:
    """Return the even and the odd part along random signs, in the middle of some directions."""
    even, odd = yield from parts.along(count * [np.arange(parts.values.d)], length)
    return float(np.median(even)), float(np.sqrt(np.mean(odd**2)))


def _longer(parts: EvenParts) -> Steps[float]:
    """Return the shortest of some longer lengths over which f changes; one if there is none."""
    length = 1.0
    while length < LONGEST_TRIED and parts.values.affordable(2) > 1:
        length *= DECADE
        even, odd = yield from _along_all(parts, length)
        if max(abs(even), odd) > parts.visible:
            return length
    return 1.0


def _shorter(parts: EvenParts, even: float, odd: float, k: int) -> Steps[float]:
    """Return how far away the minimum along one coordinate is, from lengths over which f curves."""
    length = 1.0
    while even > DECADE * max(odd, parts.visible) and length * LONGEST_TRIED > 1:
        if parts.values.affordable(2 * DIRECTIONS) < 2 * DIRECTIONS:
            return 1.0
        shorter, slope = yield from _along_all(parts, length / DECADE)
        if abs(shorter) <= parts.visible:
            break  # too short to show
        length, even, odd = length / DECADE, shorter, slope
    if length == 1 or not 0 < even < math.inf:
        return 1.0
    share, noise = _share(parts, k), parts.noise.sigma
    if length * max(odd, noise) / (2 * even) * share >= USUAL_UNITS[0]:
        return 1.0
    even, odd = yield from _along_all(parts, length, DIRECTIONS)
    return length * max(odd, noise) / (2 * abs(even)) * share


def _share(parts: EvenParts, k: int) -> float:
    """Each of d coordinates has its share of the curvature, k of them have one of the slope."""
    return parts.values.d / math.sqrt(k)


@dataclass(frozen=True, kw_only=True)
class SeenAxis:
    """The even and odd part along an axis, and the length over which they show."""

    axis: int
    even: float
    odd: float
    length: float


@dataclass(frozen=True, kw_only=True, eq=False)
class AxisUnits:
    """A unit for each coordinate, from those along which f is ``seen`` to curve.

    ``spread`` is how much these differ, ``share`` how many they are of all that were looked at.
    """

    units: Vector
    spread: float
    share: float
    seen: list[SeenAxis]
    complete: bool


def find_axis_units(
    parts: EvenParts, on: Indices, *, spend: int, known: Sequence[SeenAxis] = ()
) -> Steps[AxisUnits]:
    """Look for the length over which f curves along each axis of ``on``, by group tests.

    From short lengths to long ones: a group of coordinates whose signs show no even part has none
    that matters over that length; one that does is split. No coordinate is moved farther than one
    unit or `AXIS_FACTOR` times the length over which it shows.
    """
    values, seen = parts.values, list(known)
    last, pending, length = values.left() - spend, on, 1.0
    while length * LONGEST_TRIED > 1 and values.left() - 2 > last:
        even, _ = yield from parts.along([pending], length)
        if abs(even[0]) <= parts.visible:
            break
        length /= AXIS_FACTOR
    empty = 0
    while pending.size and empty < EMPTY_LENGTHS and length < LONGEST_TRIED:
        length *= AXIS_FACTOR
        shown = yield from _find_visible(parts, pending, length, last)
        if shown is None:
            return _units(parts, seen, pending, untried=length)
        seen += shown
        pending = np.setdiff1d(pending, [each.axis for each in shown])
        empty = 0 if shown else empty + 1
    return _units(parts, seen, pending)


def check_axis_units(parts: EvenParts, support: Indices, *, spend: int) -> Steps[AxisUnits]:
    """Look for units that differ along some axes first; along all if they do, or if few matter."""
    everything, values = np.arange(parts.values.d), parts.values
    chosen = parts.rng.choice(everything.size, min(SAMPLE, everything.size), replace=False)
    sample = np.union1d(support, chosen)
    found = yield from find_axis_units(parts, sample, spend=spend)
    alike = found.complete and 2 * found.share >= 1 and found.spread <= MIXED
    alike = alike and not (yield from _others_curve_more(parts, found))
    if alike or sample.size == everything.size:
        return found
    rest = np.setdiff1d(everything, sample)
    spend = values.left() // 2 if found.spread > MIXED else min(spend, values.left())
    return (yield from find_axis_units(parts, rest, spend=spend, known=found.seen))


def _others_curve_more(parts: EvenParts, found: AxisUnits) -> Steps[bool]:
    """Tell whether f curves along all coordinates by much more than those of a sample suggest.

    Over a length at which all of them together should curve as much as one over its own.
    """
    d = parts.values.d
    curvature = found.share * float(np.mean([each.even / each.length**2 for each in found.seen]))
    length = float(np.median([each.length for each in found.seen])) / math.sqrt(d)
    if not parts.values.affordable(2) > 1:
        return False
    even, _ = yield from _along_all(parts, length)
    return even > OTHERS * curvature * d * length**2 + parts.visible


def _find_visible(
    parts: EvenParts, pending: Indices, length: float, last: int
) -> Steps[list[SeenAxis] | None]:
    """Find the coordinates that show over a length; None if values do not suffice for that."""
    groups, found = [pending], list[SeenAxis]()
    while groups:
        if parts.values.left() - 2 * len(groups) * parts.values.price < last:
            return None
        even, odd = yield from parts.along(groups, length)
        shows = np.flatnonzero(np.abs(even) > parts.visible)
        found += [
            SeenAxis(axis=int(groups[i][0]), even=float(even[i]), odd=float(odd[i]), length=length)
            for i in shows
            if groups[i].size == 1
        ]
        groups = [
            part
            for i in shows
            if groups[i].size > 1
            for part in np.array_split(groups[i], min(SPLIT, groups[i].size))
        ]
    return (yield from _confirm(parts, found)) if found else found


def _confirm(parts: EvenParts, found: list[SeenAxis]) -> Steps[list[SeenAxis]]:
    """Measure along single axes once more.

    What barely shows may be an outlier. What shows clearly may do so over a shorter length, which
    is nearer to the unit of the axis.
    """
    clearly = np.abs([each.even for each in found]) > DECADE * parts.visible
    lengths = np.where(clearly, 1 / 3, 1.0) * found[0].length
    even, odd = yield from parts.along([np.array([each.axis]) for each in found], lengths)
    confirmed = []
    for i, each in enumerate(found):
        new = replace(each, even=float(even[i]), odd=float(odd[i]), length=float(lengths[i]))
        if clearly[i]:
            confirmed.append(new if abs(new.even) > parts.visible else each)
        elif abs(new.even + each.even) > 1.5 * parts.visible:
            confirmed.append(replace(new, even=(new.even + each.even) / 2))
    return confirmed


def _units(
    parts: EvenParts, seen: list[SeenAxis], unseen: Indices, untried: float | None = None
) -> AxisUnits:
    """Return the lengths over which each coordinate curves by what the best of them may gain.

    They are shorter where many curve: a step of `FIRST_ROW` along all must not lead too far.
    Those along which f does not curve get a unit of the others, or the length not tried for them.
    """
    units, complete = np.ones(parts.values.d), untried is None
    if not seen:
        return AxisUnits(units=units, spread=1.0, share=0.0, seen=[], complete=complete)
    even = np.minimum(np.abs([each.even for each in seen]), 100 * DECADE * parts.visible)
    odd = np.array([each.odd for each in seen])
    # along one axis a parabola with slope g and curvature c gains g^2 / 2 c
    gain = max(parts.visible, float((odd**2 / (4 * even)).max()))
    found = np.array([each.length for each in seen]) * np.sqrt(gain / even)
    found *= min(1.0, 0.3 / (FIRST_ROW * math.sqrt(len(seen))))
    units[:] = float(np.median(found)) if untried is None else untried
    units[[each.axis for each in seen]] = found
    return AxisUnits(
        units=units,
        spread=float(found.max() / found.min()),
        share=len(seen) / (len(seen) + unseen.size),
        seen=seen,
        complete=complete,
    )
