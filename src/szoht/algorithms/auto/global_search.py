"""After the smooth search: longer looks, derivative-free solves, several minima, and patience.

Slopes over short lengths say nothing about steps, plateaus, products at zero, even functions or
other minima. So before a run ends, f is compared over long distances as well: group screening,
0/1 probes, axis scans; then moves take turns until patience is used up.
"""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.moves.perturb import PerturbSupport
from szoht.algorithms.auto.moves.probes import axis_scan, binary_look
from szoht.algorithms.auto.moves.screening import screen
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseKind, NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import MAX_UNITS, Goal, minimize_on
from szoht.algorithms.auto.restricted.evolution import Population, evolve, random_population
from szoht.algorithms.auto.restricted.face import Face
from szoht.algorithms.auto.restricted.local import minimize_robustly
from szoht.algorithms.auto.restricted.pattern_search import pattern_search
from szoht.algorithms.auto.restricted.random_search import heavy_tailed_search
from szoht.algorithms.auto.schedule import descend
from szoht.algorithms.auto.state import SearchState
from szoht.core.algorithm import Ending, Evidence
from szoht.types import Indices, Vector

__all__ = ["search_globally", "spend_rest"]


ON_SUPPORT = (
    "basin hopping",
    "random search",
    "perturbed BFGS",
    "restart",
    "differential evolution",
)
"""Moves that keep the support: a gain by one of them means that there are several minima."""

BELIEVED, CERTAIN = 0.5, 0.01
"""Relative errors up to which 0/1 probes are believed, and taken for proof."""

SWAPPED = 0.3
"""Share of the steps of a sparse random search that change the support."""

SMOOTH_TURNS = 2
"""Moves, those over supports, that are due where all restarts came back to the same value."""


class Landscape(enum.Enum):
    """What restarts around the answer have shown."""

    UNKNOWN = "no restart was made"
    SMOOTH = "all restarts came back to the same value"
    SEVERAL = "restarts ended at other values"
    ROUGH = "restarts did not descend"


@dataclass
class _Search:
    """The parts of the global phase, which share the incumbent through the context."""

    context: SearchContext
    state: SearchState
    landscape: Landscape = Landscape.UNKNOWN
    pool: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    found: frozenset[int] | None = None
    certified: bool = False
    agreeing: int = 0
    restarts: int = 0
    tried: dict[str, int] = field(default_factory=dict)
    scores: Vector = field(default_factory=lambda: np.empty(0))
    far_turns: int = 0
    population: Population | None = None
    population_key: tuple[int, ...] = ()

    # -- what is known

    @property
    def incumbent(self) -> EvaluatedPoint:
        assert self.context.best is not None, "the start was measured"  # noqa: S101
        return self.context.best

    @property
    def few(self) -> bool:
        """Whether f depends on so few variables that no search over supports is needed."""
        structure = self.context.structure
        return bool(self.found) and structure.count(self.pool) <= structure.size

    @property
    def unit(self) -> Vector:
        """Natural lengths: a quarter of the box, or the size of the incumbent, at least one."""
        structure = self.context.structure
        width = structure.high - structure.low
        size = max(1.0, float(np.abs(self.incumbent.z).max()))
        return np.where(np.isfinite(width), 0.25 * np.where(np.isfinite(width), width, 1.0), size)

    @property
    def look(self) -> float:
        return self.context.structure.look

    @property
    def support(self) -> Indices:
        """The coordinates on which moves that keep the support act."""
        if self.few:
            return self.pool
        structure = self.context.structure
        support = structure.active(self.incumbent.z)
        if support.size:
            return support
        k = min(structure.size, self.pool.size)
        return structure.whole(
            np.sort(self.context.generator().choice(self.pool, k, replace=False))
        )

    @property
    def is_far(self) -> bool:
        """Whether the incumbent has left every reasonable range."""
        return bool(np.abs(self.incumbent.z).max(initial=0.0) > MAX_UNITS)

    @property
    def gained(self) -> bool:
        """Whether the start was improved."""
        return self.context.gains > 0

    @property
    def patience(self) -> float:
        """Queries without a gain after which the run ends; infinite before the first gain."""
        policy, n = self.context.policy, max(1, self.support.size)
        if not self.gained:
            return math.inf
        smooth = self.landscape is Landscape.SMOOTH
        effort = policy.effort * (1.0 if smooth else policy.effort_rough)
        floor = policy.floor_smooth if smooth else policy.floor_rough
        return max(effort * self.context.last_gain, floor * n + 2 * self.look)

    @property
    def impatient(self) -> bool:
        return self.context.spent - self.context.last_gain > self.patience

    def face(self, support: Indices, allowance: float) -> Face:
        return Face(self.context, support, self.context.spent + allowance)

    def slice(self) -> float:
        """Return the queries of one turn of a move."""
        n = max(1, self.support.size)
        least = (8 if self.landscape is Landscape.SMOOTH else 16) * n
        return min(max(least, 0.05 * self.context.spent), 100 * n)

    def solve(
        self,
        support: Indices,
        start: EvaluatedPoint,
        allowance: float,
        scale: float = 1.0,
        smallest: float = 1e-9,
    ) -> Steps[EvaluatedPoint]:
        face = self.face(support, allowance)
        solution = yield from minimize_robustly(
            face, start, scale * self.unit[support], self.state.noise, smallest=smallest
        )
        return solution.point

    # -- longer looks

    def screen_variables(self) -> Steps[None]:
        """Ask which variables f depends on at all."""
        context = self.context
        noise = 0.0 if self.state.noise.exact else self.state.noise.sigma
        result = yield from screen(context, self.incumbent, self.unit, noise=noise)
        self.found = result.found
        self.pool = context.structure.free
        if result.found is None:
            context.explain("group screening: nearly all variables matter.")
        elif result.found:
            self.pool = np.array(sorted(result.found), dtype=np.intp)
            context.explain(f"group screening: f depends on {len(result.found)} variables.")
        else:
            context.explain("group screening: no variable changes f.")

    def screen_again(self) -> Steps[None]:
        """Screen with other lengths: steps hide small variables until large ones are solved."""
        assert self.found is not None, "screening has found some"  # noqa: S101
        unit = self.unit * 10 ** self.context.generator().uniform(-2, 1)
        noise = 0.0 if self.state.noise.exact else self.state.noise.sigma
        result = yield from screen(
            self.context, self.incumbent, unit, noise=noise, found=self.found, quiet_most=8
        )
        if result.found is not None and len(result.found) > len(self.found):
            self.found = result.found
            self.pool = np.array(sorted(result.found), dtype=np.intp)
            self.context.explain(f"group screening: f depends on {len(self.found)} variables.")
            if self.few:
                yield from self.polish()

    def look_far(self, amplitude: float) -> Steps[None]:
        """Explain values at random 0/1 probes by few coordinates, and try those."""
        context, k = self.context, self.context.structure.size
        look = yield from binary_look(
            context, self.incumbent, self.unit, amplitude, math.ceil(2 * self.look)
        )
        if not look.error < BELIEVED:
            return
        before = self.incumbent
        wide = context.structure.whole(np.union1d(before.support, look.order[: 2 * k]))
        if wide.size == before.support.size:  # long probes, too, are explained by the support
            self.certified = look.error < CERTAIN
            return
        context.explain(f"0/1 probes over {amplitude:g} units point out {look.order[:k]}.")
        self.scores[look.order] = np.maximum(self.scores[look.order], 1.0)
        yield from self.extend(wide)
        if look.error < CERTAIN and self.incumbent.value < before.value:
            support = self.support
            yield from self.solve(support, self.incumbent, 60 * support.size)

    def descend_far(self) -> Steps[None]:
        """Descend by slopes over long differences, half as long each time.

        The first time from the start: what longer looks have found since may be a trap.
        """
        turn = self.far_turns
        self.far_turns += 1
        length = 0.5 * 0.5 ** (turn % 5)
        size = 1.0 if self.context.structure.has_units else float(self.unit.max())
        noise = replace(
            self.state.noise,
            kind=NoiseKind.EXACT,
            axis_step=length * size,
            row_step=length * size,
            curvature=0.0,
        )
        point = self.incumbent if turn else self.state.point
        state = SearchState(point=point, noise=noise)
        yield from descend(self.context, state, self.context.policy.gain_share)

    def scan_axes(self) -> Steps[None]:
        """Try every axis by a long step, extend by the best, and select forward from zero."""
        context, k = self.context, self.context.structure.size
        here = self.incumbent
        unit = self.unit * (0.3 if here.z.any() else 1.0)
        outside = np.setdiff1d(self.pool, here.support)
        gains, at = yield from axis_scan(context, here, unit, outside)
        order = np.argsort(-gains, kind="stable")
        best = order[:k][gains[order[:k]] > -math.inf]
        self.scores[order[: 2 * k]] = np.maximum(self.scores[order[: 2 * k]], 0.5)
        context.explain(f"all axes tried by long steps: best are {best}.")
        if here.z.any() and best.size:
            yield from self.extend(context.structure.whole(np.union1d(here.support, best)))
        d = context.structure.free.size
        if d > 4 * self.look and here.z.any():
            return
        zero = EvaluatedPoint(np.zeros_like(here.z), context.first_value)
        if self.incumbent.z.any():
            zero = yield from context.point(np.zeros_like(here.z))
            gains, at = yield from axis_scan(context, zero, self.unit, self.pool)
            order = np.argsort(-gains, kind="stable")
        yield from self.select_forward(zero, order[: 2 * k], at)

    def select_forward(self, zero: EvaluatedPoint, order: Indices, at: Vector) -> Steps[None]:
        """Greedy forward selection: the best axis, then one after the other with a short solve."""
        context, k = self.context, self.context.structure.size
        structure = context.structure
        z = zero.z.copy()
        z[order[0]] = at[order[0]]
        here = yield from context.point(structure.clip(z))
        for _ in range(k - 1):
            trials = []
            for i in order:
                for step in (1.0, -1.0, 0.3, -0.3):
                    if here.z[i] == 0:
                        z = here.z.copy()
                        z[i] = step * self.unit[i]
                        trials.append(structure.clip(z))
            if not trials:
                return
            values = yield from context.values(trials)
            if not np.isfinite(values).any():
                return
            best = int(np.nanargmin(values))
            here = EvaluatedPoint(trials[best], float(values[best]))
            context.note(here)
            support = here.support
            face = self.face(support, 12 * support.size)
            local = yield from pattern_search(
                face, face.local(here), 0.3 * self.unit[support], context.generator(), smallest=1e-2
            )
            here = face.point(local)

    def extend(self, wide: Indices) -> Steps[None]:
        """Solve on more than k coordinates and drop those whose loss costs least, as measured."""
        structure, start = self.context.structure, self.incumbent
        k = structure.size
        here = yield from self.solve(wide, start, 30 * wide.size, smallest=1e-3)
        while len(atoms := structure.atoms(structure.active(here.z))) > k:
            changes = yield from self.losses(here, atoms)
            count = max(1, (len(atoms) - k + 1) // 2)
            out = [atoms[i] for i in np.argsort(changes, kind="stable")[:count]]
            z = structure.without(here.z, np.concatenate(out))
            here = EvaluatedPoint(z, (yield from self.context.value(z)))
            if math.isnan(here.value):
                return
            if structure.contains(z):
                self.context.note(here)
            left = structure.active(here.z)
            if left.size:
                n = structure.count(left)
                allowance = 10 * left.size if n > k else 30 * structure.degrees_of_freedom
                here = yield from self.solve(left, here, allowance, 0.5, smallest=1e-3)

    def losses(self, here: EvaluatedPoint, atoms: list[Indices]) -> Steps[Vector]:
        """Measure by how much f rises without each of some atoms."""
        support, structure = np.concatenate(atoms), self.context.structure
        if support.size == len(atoms):
            changes = yield from self.context.axis_differences(here, support, -here.z[support])
        else:
            points = [structure.without(here.z, atom) for atom in atoms]
            changes = (yield from self.context.values(points)) - here.value
        return np.where(np.isfinite(changes), changes, math.inf)

    # -- moves on the support

    def polish(self) -> Steps[None]:
        support = self.support
        yield from self.solve(support, self.incumbent, 100 * support.size)

    def classify(self, starts: int = 3) -> Steps[None]:
        """Restart BFGS around the answer, to tell one minimum, several, and no descent apart."""
        context, support = self.context, self.support
        if not self.state.noise.exact:
            self.landscape = Landscape.ROUGH
            return
        stuck, unit = 0, self.unit[support]
        for _ in range(starts):
            best = self.incumbent.value
            face = self.face(support, 15 * support.size)
            offset = unit * context.generator().uniform(-1, 1, support.size)
            y = face.clip(self.incumbent.z[support] + offset)
            start = face.point((yield from face.at(y)))
            if not math.isfinite(start.value):
                continue
            self.restarts += 1
            end = yield from minimize_on(
                context, start, support, self.state.noise, Goal(steps=15, accuracy=1e-6)
            )
            fall = start.value - best
            self.agreeing += abs(end.point.value - best) <= 1e-2 * fall
            stuck += fall > 0 and end.point.value > start.value - 0.1 * fall
            if not self.agreeing:
                break
        smooth = self.agreeing == starts
        rough = Landscape.ROUGH if stuck else Landscape.SEVERAL
        self.landscape = Landscape.SMOOTH if smooth else rough

    def hop(self) -> Steps[None]:
        """Basin hopping: perturb all or about one coordinate, pattern search from there."""
        context, support = self.context, self.support
        generator, unit, n = context.generator(), self.unit[support], support.size
        length = 10 ** generator.uniform(-2, 0.5)
        moved = generator.random(n) < (1.0 if generator.integers(2) else 1.5 / n)
        moved[generator.integers(n)] = True
        face = self.face(support, self.slice())
        here = self.incumbent.z[support]
        y = np.where(moved, here + length * unit * generator.standard_normal(n), here)
        start = yield from face.at(face.clip(y))
        yield from pattern_search(face, start, length * unit, generator)

    def wander(self) -> Steps[None]:
        """Heavy-tailed random search from the incumbent."""
        face = self.face(self.support, self.slice())
        start = face.local(self.incumbent)
        yield from heavy_tailed_search(
            face, start, self.unit[face.support], self.context.generator()
        )

    def newton(self) -> Steps[None]:
        """BFGS from a perturbed point."""
        context, support = self.context, self.support
        generator, n = context.generator(), support.size
        face = self.face(support, self.slice())
        length = 10 ** generator.uniform(-2, 0.3)
        y = self.incumbent.z[support] + length * self.unit[support] * generator.standard_normal(n)
        start = face.point((yield from face.at(face.clip(y))))
        if math.isfinite(start.value):
            yield from minimize_on(
                context, start, support, self.state.noise, Goal(steps=20, accuracy=1e-6)
            )

    def restart(self) -> Steps[None]:
        """Pattern search from a random point, on a random support if variables are many."""
        context, generator = self.context, self.context.generator()
        structure = context.structure
        support = self.support if self.few else self.random_support(structure.size)
        unit = self.unit[support]
        width = (structure.high - structure.low)[support]
        inside = np.isfinite(width)
        y = 2 * unit * generator.standard_normal(support.size)
        low, high = structure.low[support][inside], structure.high[support][inside]
        y[inside] = generator.uniform(low, high)
        face = self.face(support, self.slice())
        start = yield from face.at(face.clip(y))
        yield from pattern_search(face, start, unit, generator)

    def evolve(self) -> Steps[None]:
        """Differential evolution; its population is kept between turns."""
        support, generator = self.support, self.context.generator()
        face = self.face(support, 2 * self.slice())
        key = tuple(support.tolist())
        if key != self.population_key or self.population is None or self._converged:
            center = self.incumbent.z[support]
            self.population = yield from random_population(
                face, center, self.unit[support], generator
            )
            self.population_key = key
        self.population = yield from evolve(face, self.population, generator)

    @property
    def _converged(self) -> bool:
        assert self.population is not None, "checked before"  # noqa: S101
        spread = np.ptp(self.population.points, axis=0)
        return bool((spread <= 1e-6 * self.unit[list(self.population_key)]).all())

    # -- moves over supports

    def random_support(self, size: int, without: Indices | None = None) -> Indices:
        """Draw coordinates, those that looks have named more often."""
        pool = self.pool if without is None else np.setdiff1d(self.pool, without)
        if not pool.size:
            return pool
        weights = 0.05 + self.scores[pool]
        slopes = self.state.slopes
        if slopes is not None and np.abs(slopes.values[pool]).max(initial=0.0) > 0:
            sizes = np.abs(slopes.values[pool])
            weights = weights + sizes / sizes.max()
        size = min(size, pool.size)
        chosen = self.context.generator().choice(
            pool, size, replace=False, p=weights / weights.sum()
        )
        return self.context.structure.whole(np.sort(chosen))

    def join(self) -> Steps[None]:
        """Let some random coordinates join, solve, prune."""
        k = self.context.structure.size
        here = self.context.structure.active(self.incumbent.z)
        count = int(self.context.generator().integers(1, k + 1))
        new = self.random_support(count, here)
        if new.size:
            yield from self.extend(np.union1d(here, new))

    def swap(self) -> Steps[None]:
        """One coordinate leaves, the cheapest as measured or a random one; a random one enters."""
        context, generator = self.context, self.context.generator()
        here = self.incumbent
        support = context.structure.active(here.z)
        atoms = context.structure.atoms(support)
        if not atoms:
            return
        out = int(generator.choice(len(atoms)))
        if generator.integers(2):
            out = int(np.argmin((yield from self.losses(here, atoms))))
        new = self.random_support(1, support)
        if not new.size:
            return
        left = np.union1d(np.setdiff1d(support, atoms[out]), new)
        face = self.face(left, self.slice())
        y = here.z[left]
        start = yield from face.at(y)
        yield from heavy_tailed_search(face, start, self.unit[left], generator)

    def wander_sparsely(self) -> Steps[None]:
        """Random search over supports and values; equal values are accepted."""
        context, generator = self.context, self.context.generator()
        structure, stop = context.structure, context.spent + self.slice()
        here = self.incumbent
        while context.spent < stop:
            z = here.z.copy()
            support = np.flatnonzero(z)
            full = structure.count(support) >= structure.size
            if generator.random() < SWAPPED or not full:
                if full:
                    z[structure.whole(generator.choice(support, 1))] = 0.0
                i = int(generator.choice(self.pool))
                z[i] = self.unit[i] * generator.standard_normal()
            else:
                scale = 10 ** generator.uniform(-3, 0)
                z[support] += scale * self.unit[support] * generator.standard_normal(support.size)
            trial = yield from context.point(structure.clip(z))
            here = trial if trial.value <= here.value else here

    def perturb(self) -> Steps[None]:
        """Search locally over supports by slopes, again and again: perturb and descend."""
        state = replace(self.state, point=self.incumbent)
        if state.slopes is None or not state.point.z.any() or not state.noise.exact:
            return
        solution = yield from PerturbSupport().propose(self.context, state)
        elsewhere = replace(state, point=solution.point, curvature=None)
        elsewhere = yield from descend(self.context, elsewhere, self.context.policy.gain_share)
        self.state = replace(self.state, slopes=elsewhere.slopes, memory=elsewhere.memory)

    def look_again(self) -> Steps[None]:
        """0/1 probes with other amplitudes."""
        amplitudes = (0.1, 10.0, 0.3, 1.0, 0.01, 3.0)
        turn = self.tried.get("0/1 probes", 0)
        amplitude = amplitudes[turn % len(amplitudes)]
        structure = self.context.structure
        bounded = bool(np.isfinite(structure.high - structure.low).all())
        yield from self.look_far(min(amplitude, 1.0) if bounded else amplitude)

    @property
    def moves(self) -> dict[str, Callable[[], Steps[None]]]:
        """What may be tried, in order."""
        on_support = {
            "basin hopping": self.hop,
            "random search": self.wander,
            "perturbed BFGS": self.newton,
            "restart": self.restart,
            "differential evolution": self.evolve,
        }
        if self.few:
            return on_support
        over_supports = {
            "0/1 probes": self.look_again,
            "perturbed support": self.perturb,
            "join-and-prune": self.join,
            "swap": self.swap,
            "sparse random search": self.wander_sparsely,
        }
        if self.state.noise.stepwise:
            over_supports["long slopes"] = self.descend_far
        if self.landscape is Landscape.SMOOTH:
            return over_supports | on_support
        return on_support | over_supports

    @property
    def order(self) -> list[str]:
        """The names of the moves in the order of their turns.

        Where slopes are dense and there is one minimum per support, they guide best: the
        search from perturbed supports then has every other turn.
        """
        names = list(self.moves)
        guided = self.state.exact and self.landscape is Landscape.SMOOTH and not self.few
        if not guided:
            return names
        others = [name for name in names if name != "perturbed support"]
        return [name for other in others for name in ("perturbed support", other)]


def search_globally(context: SearchContext, state: SearchState) -> Steps[None]:
    """Compare f over long distances, then take turns with all moves until patience is used up."""
    search = _Search(context=context, state=state)
    search.scores = np.zeros(context.structure.d)
    if search.is_far:
        _end(search, Ending.UNBOUNDED)
        return
    yield from search.screen_variables()
    d = context.structure.free.size
    budget = math.inf if context.budget is None else context.budget
    if not search.few and search.pool.size > 4 * search.look:
        yield from search.look_far(1.0)
    if search.gained:
        yield from search.polish()
        yield from search.classify()  # tells how much patience is due
    if not search.few:
        affordable = 2 * d <= max(12 * search.look, search.patience / 3 if search.gained else 0)
        if not search.certified and (affordable or (not search.gained and 2 * d <= 0.1 * budget)):
            yield from search.scan_axes()
        if state.noise.stepwise:
            yield from search.descend_far()
    if search.landscape is Landscape.UNKNOWN:
        yield from search.polish()
        if search.gained:
            yield from search.classify()
    if search.certified and search.landscape is Landscape.SMOOTH:
        _end(search, Ending.CONVERGED)
        return
    yield from _take_turns(search)


def _take_turns(search: _Search) -> Steps[None]:
    """Take turns with all moves; each once at least."""
    context, turn, screened = search.context, 0, search.context.spent
    while True:
        names = search.order
        smooth = search.landscape is Landscape.SMOOTH and not search.few
        due = SMOOTH_TURNS if smooth else len(names)
        if turn >= due and search.impatient:
            break
        if search.is_far:
            _end(search, Ending.UNBOUNDED)
            return
        if search.found is not None and context.last_gain > screened:
            screened = context.spent
            yield from search.screen_again()
            continue
        name = names[turn % len(names)]
        turn += 1
        spent, gains = context.spent, context.gains
        yield from search.moves[name]()
        search.tried[name] = search.tried.get(name, 0) + 1
        if context.gains > gains:
            context.explain(f"{name}: f fell to {search.incumbent.value:.6g}.")
            search.tried.clear()
            if name in ON_SUPPORT and search.landscape is Landscape.SMOOTH:
                search.landscape = Landscape.SEVERAL
            context.accept(search.incumbent)
        if context.spent == spent and turn > 20 * len(names):
            break
    _end(search, None)


def _end(search: _Search, ending: Ending | None) -> None:
    """Say how the run ended and on what evidence."""
    context = search.context
    if ending is None:
        ending = Ending.CONVERGED if search.landscape is Landscape.SMOOTH else Ending.EXHAUSTED
    if not search.gained:
        ending = Ending.NO_PROGRESS
    if 2 * context.failures > context.spent:
        ending = Ending.MOSTLY_FAILED
    state = search.state
    context.outer.ending = ending
    context.outer.evidence = Evidence(
        noise=state.noise.kind.value,
        noise_level=state.noise.sigma,
        slopes="" if state.slopes is None else state.slopes.confidence.value,
        lengths=(state.noise.row_step, state.noise.axis_step, 0.01, 0.1, 1.0),
        tried=tuple(sorted(search.tried.items())),
        restarts=search.restarts,
        restarts_agreeing=search.agreeing,
    )
    context.explain(f"{search.landscape.value}; {ending.value}: done.")


def spend_rest(context: SearchContext, noise: NoiseModel) -> Steps[None]:
    """Use what is left of a budget that is too small for the next plan: single points."""
    context.explain(f"{context.left:.0f} queries are left: they go to single points.")
    assert context.best is not None, "the start was measured"  # noqa: S101
    search = _Search(context=context, state=SearchState(point=context.best, noise=noise))
    search.scores = np.zeros(context.structure.d)
    search.pool = context.structure.free
    while True:  # the budget ends it
        support = search.support
        face = Face(context, support)
        start = face.local(context.best)
        if not context.best.z.any():
            yield from search.wander_sparsely()
            continue
        steps = 0.1 * 10 ** context.generator().uniform(-1, 0) * search.unit[support]
        yield from pattern_search(face, start, steps, context.generator(), smallest=0.1)
