"""What the search beyond slopes has found out, and what its moves share."""

import enum
import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.face import Face
from szoht.algorithms.auto.restricted.goal import Goal
from szoht.algorithms.auto.restricted.line_search import MAX_UNITS
from szoht.algorithms.auto.restricted.local import minimize_robustly
from szoht.algorithms.auto.state import SearchState
from szoht.types import Indices, Vector

__all__ = ["Exploration", "Landscape"]


class Landscape(enum.Enum):
    """What restarts around the answer have shown."""

    UNKNOWN = "no restart was made"
    SMOOTH = "all restarts came back to the same value"
    SEVERAL = "restarts ended at other values"
    ROUGH = "restarts did not descend"


@dataclass(kw_only=True)
class Exploration:
    """The state of a search over long distances; its incumbent is the context's best point.

    ``found`` are the variables that screening says matter, None if nearly all do; ``pool`` those
    that moves draw from, by their ``scores``. ``certified``: long probes, too, are explained by
    the support of the incumbent.
    """

    context: SearchContext
    state: SearchState
    landscape: Landscape = Landscape.UNKNOWN
    pool: Indices = field(init=False)
    found: frozenset[int] | None = None
    certified: bool = False
    agreeing: int = 0
    restarts: int = 0
    scores: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.pool = self.context.structure.free
        self.scores = np.zeros(self.context.structure.d)

    @property
    def incumbent(self) -> EvaluatedPoint:
        """The best point so far."""
        assert self.context.best is not None, "the start was measured"  # noqa: S101
        return self.context.best

    @property
    def few(self) -> bool:
        """Whether f depends on so few variables that no search over supports is needed."""
        structure = self.context.structure
        return bool(self.found) and structure.fits(self.pool)

    @property
    def unit(self) -> Vector:
        """Natural lengths: a quarter of the box, or the size of the incumbent, at least one.

        An entry much larger than the others may be one that f does not depend on.
        """
        structure, sizes = self.context.structure, np.abs(self.incumbent.z)
        width = structure.high - structure.low
        usual = float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0
        size = max(1.0, min(float(sizes.max()), self.context.policy.outlying_factor * usual))
        return np.where(np.isfinite(width), 0.25 * np.where(np.isfinite(width), width, 1.0), size)

    @property
    def look(self) -> float:
        """The order of the number of measurements that sparse recovery needs."""
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
        policy, n = self.context.policy, max(1, self.support.size, self.context.structure.size)
        if not self.gained:
            return math.inf
        smooth = self.landscape is Landscape.SMOOTH
        effort = policy.effort * (1.0 if smooth else policy.effort_rough)
        floor = 0.0 if smooth else policy.floor_rough * n
        queries = max(effort * self.context.last_gain, floor + 2 * self.look)
        return self.context.effort * queries

    @property
    def impatient(self) -> bool:
        """Whether patience is used up."""
        return self.context.spent - self.context.last_gain > self.patience

    def face(self, support: Indices, allowance: float) -> Face:
        """Return a face whose solvers may spend so many queries."""
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
        """Solve on a support by whatever works there; the first steps are ``scale`` units."""
        face = self.face(support, allowance)
        solution = yield from minimize_robustly(
            face, start, scale * self.unit[support], self.state.noise, smallest=smallest
        )
        return solution.point

    def extend(self, wide: Indices) -> Steps[None]:
        """Solve on more than k coordinates and drop those whose loss costs least, as measured."""
        structure, start = self.context.structure, self.incumbent
        k = structure.size
        here = yield from self.solve(wide, start, 30 * wide.size, smallest=1e-3)
        while not structure.fits(active := structure.active(here.z)):
            atoms = structure.atoms(active)
            changes = yield from self.losses(here, atoms)
            count = max(1, (len(atoms) - k + 1) // 2)
            kept = structure.kept(atoms, changes, len(atoms) - count)
            z = structure.without(here.z, np.setdiff1d(np.concatenate(atoms), kept))
            here = EvaluatedPoint(z, (yield from self.context.value(z)))
            if math.isnan(here.value):
                return
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

    def polish(self) -> Steps[None]:
        """Solve on the support of the incumbent."""
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
            # on a plateau everything agrees, and nothing is proved
            self.agreeing += fall > 0 and abs(end.point.value - best) <= 1e-2 * fall
            stuck += fall > 0 and end.point.value > start.value - 0.1 * fall
            if not self.agreeing:
                break
        smooth = self.agreeing == starts
        rough = Landscape.ROUGH if stuck else Landscape.SEVERAL
        self.landscape = Landscape.SMOOTH if smooth else rough

    def random_support(self, size: int, without: Indices | None = None) -> Indices:
        """Draw coordinates, those that looks have named more often."""
        structure = self.context.structure
        none = np.empty(0, dtype=np.intp)
        pool = np.intersect1d(self.pool, structure.next_to(none if without is None else without))
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
        return structure.whole(np.sort(chosen))
