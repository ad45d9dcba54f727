"""Problems whose solution has a structure: groups, trees, regions, low rank, weights, a basis."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.core.objective import Objective
from szoht.core.random import as_seed
from szoht.core.validation import check_choice, frozen
from szoht.operators import (
    GraphSparse,
    GroupSparse,
    L1Ball,
    LowRank,
    Operator,
    Semicontinuous,
    Sparse,
    SparseIn,
    SparseSimplex,
    TreeSparse,
    TwoStep,
)
from szoht.problems.base import Problem
from szoht.problems.quadratic import SeparableQuadratic
from szoht.problems.recovery import Rng
from szoht.types import Indices, Sample, Vector

__all__ = ["StructureName", "grid_edges", "structured"]

StructureName: TypeAlias = Literal[
    "groups",
    "overlapping_groups",
    "few_per_group",
    "tree",
    "region",
    "regions",
    "low_rank",
    "semicontinuous",
    "weights",
    "cosines",
    "two_step",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class LogCosh:
    """f(x) = sum_i log cosh(x_i - b_i): quadratic near its minimum b, linear far away."""

    center: Vector

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f(x)."""
        return float(self.values(x[None], sample)[0])

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at each row."""
        del sample
        residual = np.abs(points - self.center)
        # log cosh r = r - log 2 + log(1 + exp(-2 r)), which does not overflow
        values: Vector = (residual - np.log(2) + np.log1p(np.exp(-2 * residual))).sum(axis=1)
        return values

    def gradient(self, x: Vector, sample: Sample = None) -> Vector:
        """Return the gradient."""
        del sample
        slopes: Vector = np.tanh(x - self.center)
        return slopes

    @property
    def objective(self) -> Objective:
        """The function with its capabilities."""
        return Objective(value=self.value, values=self.values, gradient=self.gradient)


def structured(
    structure: StructureName,
    *,
    loss: Literal["squares", "log_cosh"] = "squares",
    rng: Rng = None,
) -> Problem:
    r"""Return the distance to a random point of a structured set: its minimum over the set is 0.

    .. math:: f(x) = \tfrac12 \|x - b\|^2 \quad\text{or}\quad f(x) = \sum_i \log\cosh(x_i - b_i)

    Parameters
    ----------
    structure : str
        ``"groups"``: 3 of 100 groups of 10. ``"overlapping_groups"``: 3 of 50 runs of 12, each of
        which shares 2 with the next. ``"few_per_group"``: 3 of 50 groups of 10, 4 in each.
        ``"tree"``: 50 nodes of a binary tree of 1,023 from its root. ``"region"``: 30 connected
        pixels of 30 x 30; ``"regions"``: in two parts. ``"low_rank"``: 30 x 30 of rank 2.
        ``"semicontinuous"``: 5 of 200 entries, none between 0 and 1/2. ``"weights"``: 10 of 200
        weights between 0.05 and 0.3 with the sum 1, 3 at most of each of 20 groups.
        ``"cosines"``: 5 of 256 cosines. ``"two_step"``: 5 of 200 entries in an l1 ball.
    loss : {"squares", "log_cosh"}
        The function.
    rng : int, Generator, SeedSequence or None
        Seed of the point.

    Examples
    --------
    >>> problem = structured("tree", rng=0)
    >>> problem.dimension, problem.k, problem.constraint.contains(problem.best_x)
    (1023, 50, True)
    """
    check_choice("structure", structure, get_args(StructureName))
    check_choice("loss", loss, ("squares", "log_cosh"))
    generator = np.random.default_rng(as_seed(rng))
    constraint, center = _MAKERS[structure](generator)
    if loss == "squares":
        quadratic = SeparableQuadratic(
            curvature=frozen(np.ones(center.size)), center=frozen(center)
        )
        objective = quadratic.objective
    else:
        objective = LogCosh(center=frozen(center)).objective
    start = constraint.prox(np.zeros(center.size), 1.0)
    return Problem(
        name=f"{structure}-{loss}",
        objective=objective,
        x0=start,
        k=getattr(constraint, "k", None) or constraint.r,  # type: ignore[attr-defined]
        constraint=constraint,
        constants={"smoothness": 1.0},
        best=0.0,
        best_x=center,
        best_source="analytic: the minimizer of the function is in the set",
        citation="Random points of structured sets; see docs/structures.md.",
    )


def grid_edges(rows: int, columns: int) -> Indices:
    """Return the edges between neighbors of a grid, numbered row after row.

    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    node = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    down = np.column_stack([node[:-1].ravel(), node[1:].ravel()])
    return np.vstack([across, down])


def _entries(rng: np.random.Generator, count: int) -> Vector:
    """Return numbers whose magnitudes are between 1/2 and 3/2."""
    numbers: Vector = rng.choice([-1.0, 1.0], count) * rng.uniform(0.5, 1.5, count)
    return numbers


def _filled(rng: np.random.Generator, d: int, support: Indices) -> Vector:
    x = np.zeros(d)
    x[support] = _entries(rng, support.size)
    return x


def _grow(rng: np.random.Generator, neighbors: list[list[int]], start: int, size: int) -> Indices:
    """Return connected nodes: at each step, a random one of those around is added."""
    inside, border = {start}, set(neighbors[start])
    while len(inside) < size:
        node = int(rng.choice(sorted(border)))
        inside.add(node)
        border = (border | set(neighbors[node])) - inside
    return np.array(sorted(inside), dtype=np.intp)


def _groups(rng: np.random.Generator) -> tuple[Operator, Vector]:
    chosen = rng.choice(100, 3, replace=False)
    support = (10 * chosen[:, None] + np.arange(10)).ravel()
    return GroupSparse(k=3, size=10), _filled(rng, 1000, support)


def _overlapping_groups(rng: np.random.Generator) -> tuple[Operator, Vector]:
    groups = [list(range(10 * g, min(10 * g + 12, 500))) for g in range(50)]
    support = np.unique(np.concatenate([groups[g] for g in rng.choice(50, 3, replace=False)]))
    return GroupSparse(k=3, groups=groups), _filled(rng, 500, support)  # type: ignore[arg-type]


def _few_per_group(rng: np.random.Generator) -> tuple[Operator, Vector]:
    chosen = rng.choice(50, 3, replace=False)
    support = np.concatenate([10 * g + rng.choice(10, 4, replace=False) for g in chosen])
    return GroupSparse(k=3, size=10, per_group=4), _filled(rng, 500, support)


def _tree(rng: np.random.Generator) -> tuple[Operator, Vector]:
    d, k = 1023, 50
    children = [[c for c in (2 * i + 1, 2 * i + 2) if c < d] for i in range(d)]
    parents = (np.arange(d) - 1) // 2
    return TreeSparse(k, parents), _filled(rng, d, _grow(rng, children, 0, k))


def _regions(parts: int) -> Callable[[np.random.Generator], tuple[Operator, Vector]]:
    def make(rng: np.random.Generator) -> tuple[Operator, Vector]:
        operator = GraphSparse(30, grid_edges(30, 30), parts)
        neighbors = operator.graph(900).neighbors
        size = 30 // parts
        # one in each strip of the image, so that they are apart
        columns = 30 * np.arange(parts) // parts + rng.integers(0, 10, parts)
        starts = 30 * rng.integers(0, 30, parts) + columns
        grown = [_grow(rng, neighbors, int(start), size) for start in starts]
        return operator, _filled(rng, 900, np.unique(np.concatenate(grown)))

    return make


def _low_rank(rng: np.random.Generator) -> tuple[Operator, Vector]:
    left, right = rng.standard_normal((30, 2)), rng.standard_normal((2, 30))
    return LowRank(2, shape=(30, 30)), (left @ right).ravel() / np.sqrt(2)


def _semicontinuous(rng: np.random.Generator) -> tuple[Operator, Vector]:
    support = rng.choice(200, 5, replace=False)
    return Semicontinuous(5, at_least=0.5), _filled(rng, 200, support)


def _weights(rng: np.random.Generator) -> tuple[Operator, Vector]:
    groups = tuple((np.arange(200) // 10).tolist())
    operator = SparseSimplex(10, at_least=0.05, at_most=0.3, groups=groups, per_group=3)
    return operator, operator.prox(0.1 * rng.standard_normal(200), 1.0)


def _cosines(rng: np.random.Generator) -> tuple[Operator, Vector]:
    operator = SparseIn("dct", k=5)
    return operator, operator.synthesis(_filled(rng, 256, rng.choice(256, 5, replace=False)))


def _two_step(rng: np.random.Generator) -> tuple[Operator, Vector]:
    center = _filled(rng, 200, rng.choice(200, 5, replace=False))
    return TwoStep(sparse=Sparse(5), convex=L1Ball(float(np.abs(center).sum()))), center


_MAKERS: Mapping[str, Callable[[np.random.Generator], tuple[Operator, Vector]]] = {
    "groups": _groups,
    "overlapping_groups": _overlapping_groups,
    "few_per_group": _few_per_group,
    "tree": _tree,
    "region": _regions(1),
    "regions": _regions(2),
    "low_rank": _low_rank,
    "semicontinuous": _semicontinuous,
    "weights": _weights,
    "cosines": _cosines,
    "two_step": _two_step,
}
