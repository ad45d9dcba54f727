"""The search under noise: rounds of sense, solve, prune and race; then refine and answer."""

import math
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.noisy.probes import Probes
from szoht.algorithms.auto.noisy.race import Race
from szoht.algorithms.auto.noisy.sensing import Sensed, sense
from szoht.algorithms.auto.noisy.support_solves import SupportSolves
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.quadratic_model import QuadraticModel, n_terms
from szoht.algorithms.auto.restricted.regression import minimize_by_regression
from szoht.types import Indices, Vector

__all__ = ["NoisyAnswer", "NoisySearch"]

MAX_STALLED_ROUNDS = 2
"""Rounds without a gain, each with twice the probes, after which sensing ends."""

SHORT_TOP = 0.1
"""The longest probes after the first round, where noise is low."""

LONGER = 10.0
"""Probes are longer by this factor where slopes are not explained and lead nowhere."""

RADII = 2.0
"""Distance from the center of a regression within which it is asked for values, in radii."""

NEGLIGIBLE_SLOPE, STEEP = 0.1, 0.3
"""Slopes as shares of those at the start: what they may gain is the square of that."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyAnswer:
    """The answer of a search: a point, its value with a standard error, and what was seen."""

    x: Vector
    location: Location
    noise: NoiseModel
    settled: bool
    improved: bool
    explained: bool


@dataclass(kw_only=True, eq=False)
class NoisySearch(SupportSolves):
    """Minimize from values that err, over points with at most ``k`` non-zeros."""

    explained: bool = True
    model: QuadraticModel | None = None
    race: Race | None = None

    def run(self) -> Steps[NoisyAnswer]:
        """Search, refine and answer."""
        yield from self._rounds()
        settled = yield from self._refine()
        return (yield from self._answer(settled=settled))

    def _rounds(self) -> Steps[None]:
        """Sense, solve and prune until nothing is left to find.

        A round that gains nothing although there is signal is repeated with more probes.
        """
        probes, length, first_cost, stalled = None, None, 0, 0
        top, first_slope = SHORT_TOP, 0.0
        for number in count():
            if number and self.room < max(self.policy.fewest_values, 2 * n_terms(self.k)):
                return
            if probes is None or not np.array_equal(probes.x, self.x):
                probes = yield from self._new_probes(number, top)
            cap = self._cap(number, first_cost * 2**stalled)
            sensed = yield from sense(probes, cap=cap, length=length, first=number == 0)
            self.noise = replace(sensed.noise, slope=0.0)
            first_cost = first_cost or sensed.cost
            self._explain_sensed(sensed)
            first_slope = first_slope or sensed.slope
            self.explained = self._is_explained(sensed, first_slope)
            if number and not self._is_promising(sensed):
                self.explain("no coordinate outside the support is significant.")
                return
            wide = np.union1d(self.support, self._select(sensed, first=number == 0))
            if not wide.size:
                return  # nothing stands out of the noise
            gained = yield from self.solve(wide, sensed, first=number == 0)
            length = self._next_length(sensed.length)
            stalled = 0 if gained else stalled + 1
            nowhere = sensed.slope > STEEP * first_slope and not self.explained
            if stalled and nowhere and sensed.length < 1:
                # slopes that hold over short distances only, as those of medians, are no guide
                probes, length = None, min(1.0, LONGER * sensed.length)
                top = max(top, length)
                continue
            nothing_new = sensed.sure or wide.size == self.support.size
            if stalled >= MAX_STALLED_ROUNDS or (stalled and nothing_new):
                return

    def _cap(self, number: int, first_cost: int) -> int:
        """Return how many values sensing may spend."""
        share = int(self.policy.turn_share * self.room)
        return share if number == 0 else max(20, min(share, 2 * first_cost))

    def _next_length(self, length: float) -> float | None:
        """Return a length to begin the next round with, None if it is to be found again."""
        if self.low_noise:
            return self.policy.stretch * length
        return length if 2 * length >= 1 else None  # short ones are known to show nothing

    def _new_probes(self, number: int, top: float) -> Steps[Probes]:
        value = self.value
        if number and self.values.affordable(1):
            on = self.support
            value = float((yield from self.values.sparse_at(self.x[np.newaxis, on], on))[0])
            value = value if math.isfinite(value) else self.value
        return Probes(
            values=self.values,
            x=self.x,
            value=value,
            noise=self.noise,
            k=self.k,
            rng=self.rng,
            top=top if number and self.low_noise else 1.0,
            checked=number > 0,
        )

    def _select(self, sensed: Sensed, *, first: bool) -> Indices:
        """Return the coordinates that are worth a solve."""
        found = sensed.recovery
        if sensed.sure:
            best = found.order[: found.size]
            z, slopes = found.z[: found.size], np.abs(found.slopes[: found.size])
            keep = (z > self.policy.standard_errors) | (z >= z.max(initial=0.0))
            steepest = np.argsort(-slopes[keep], kind="stable")[: self.k]
            return np.asarray(best[keep][steepest])
        sparse = not first or found.r2 >= 0.5 * found.signal
        return found.order[: self.k if sparse else 2 * self.k]

    def _is_promising(self, sensed: Sensed) -> bool:
        """Tell whether half is signal, or slopes are significant although it is not."""
        found = sensed.recovery
        return 2 * found.signal >= 1 or (found.size > 0 and found.t > self.policy.standard_errors)

    def _is_explained(self, sensed: Sensed, first_slope: float) -> bool:
        """Tell whether few coordinates or noise explain the slopes, or there are next to none."""
        known = sensed.sure or sensed.recovery.signal < self.policy.clear
        return known or sensed.slope < NEGLIGIBLE_SLOPE * first_slope

    def _explain_sensed(self, sensed: Sensed) -> None:
        found = sensed.recovery
        self.explain(
            f"{found.rows} differences over {sensed.length:.1e} of the reach: "
            f"{found.size} coordinates predict {max(found.r2, 0.0):.0%} of their variance "
            f"({found.signal:.0%} is not noise){'' if sensed.sure else ', not sure'}."
        )

    def _refine(self) -> Steps[bool]:
        """Spend what is left on regressions on the support."""
        if not self.support.size or self.room <= 2 * self.support.size + 4:
            return False
        gained = self.start.value - self.value if self.low_noise else 0.0
        solved = yield from minimize_by_regression(
            self.values,
            self.x[self.support],
            self.support,
            noise=self.noise,
            radius=self.radius,
            spend=self.room,
            rng=self.rng,
            gained=max(0.0, gained),
        )
        x = np.zeros(self.values.d)
        x[self.support] = solved.z
        self.candidates.append(x)
        self.noise, self.model = solved.noise, solved.model
        value = solved.model(solved.z) if solved.model is not None else self.value
        yield from self.try_out(x, value)
        return solved.settled

    def _answer(self, *, settled: bool) -> Steps[NoisyAnswer]:
        race = self.race = self.new_race()
        winner = yield from race.run(self.candidates[-3:], self.reserve)
        location = self._location(race, winner)
        improved = location.value + 2 * location.error < self.start.value - 2 * self.start.error
        self.move(winner, location)
        self.explain(f"last race: f = {location.value:.6g} +- {location.error:.1g} at the answer.")
        return NoisyAnswer(
            x=winner,
            location=location,
            noise=self.noise,
            settled=settled,
            improved=improved,
            explained=self.explained,
        )

    def measure_answer(self, count: int) -> Steps[None]:
        """Spend values that nothing else fits on the value of the answer."""
        if self.race is not None and self.values.affordable(count):
            yield from self.race.measure([self.x], self.values.affordable(count))
            self.move(self.x, self._location(self.race, self.x))

    def _location(self, race: Race, x: Vector) -> Location:
        """Return the value at the answer.

        A fixed error may change more slowly than the race moves. The last regression has values
        from farther around: where the two differ, the error is at least half of it.
        """
        raced = race.location(x)
        model = self.model
        if self.noise.fresh or model is None or not np.array_equal(np.flatnonzero(x), self.support):
            return raced
        (z,) = model.region.to_z(x[np.newaxis, self.support])
        if np.linalg.norm(z) > RADII:
            return raced  # far outside, a quadratic may have any value
        value = model(x[self.support])
        error = max(raced.error, model.constant_error, 0.5 * abs(value - raced.value))
        return Location(0.5 * (value + raced.value), error)
