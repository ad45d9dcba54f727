"""`check_structure`: the contract by which a constraint tells `auto` what its atoms are."""

from itertools import combinations

import numpy as np

from szoht.algorithms.auto.records import Curvature
from szoht.algorithms.auto.structure import Structure
from szoht.core.directions import Directions
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, RowSlice
from szoht.types import Indices, Vector

__all__ = ["check_structure"]

POINTS = 20
CLOSE = 1e-10
STEP = 1e-6
MOST_ATOMS = 10
"""Atoms of the points on which `prune` and `head` are compared with all other choices."""


def check_structure(structure: Structure, *, rng: int = 0, factor: float = 1.0) -> None:
    """Raise AssertionError unless ``structure`` keeps the promises of `Structure`.

    Checked on random points, in a dimension of 8 to about 100: whatever z is, ``to_x(z)`` lies in
    the domain, and ``to_z`` leads back to it; `nearest` is an answer where coordinates fit, and
    steps and choices by models end where they should; atoms are disjoint, hashable as tuples, and
    counted alike; probes along rows, axes and the line of the noise test stay in the domain;
    `prune` and `head` take whole atoms that go together, no more than asked for, and on few atoms
    no other choice would be better, or where projections are approximate, no other would keep more
    than one over ``factor`` times as much; `recover` and `slopes` find the slopes along the axes of
    a function with few atoms.

    >>> from szoht.algorithms.auto.structures import structure_of
    >>> from szoht.operators import GroupSparse
    >>> check_structure(structure_of(GroupSparse(k=2, size=3), 30))
    """
    generator = np.random.default_rng(rng)
    assert structure.degrees_of_freedom >= structure.size >= 1, "atoms have a size of one at least"
    for _ in range(POINTS):
        dense = _random_point(structure, generator)
        z = structure.prune(dense, None, structure.size)
        _check_point(structure, dense)
        _check_point(structure, z)
        assert structure.contains(z), "`prune` to `size` must give a point that may be an answer"
        _check_nearest(structure, z, generator)
        _check_atoms(structure, dense)
        _check_prune(structure, generator, factor)
        _check_head(structure, z, generator)
        _check_probes(structure, z, generator)
        _check_slopes(structure, z, generator)
    draws = range(6)
    explained = sum(
        _check_recovery(structure, np.random.default_rng(i), Key(seed=i)) for i in draws
    )
    # pursuits are greedy: in 200 draws each, up to 6 were not explained
    assert explained >= len(draws) - 2, "`recover` must explain slopes that few atoms make up"


def _random_point(structure: Structure, generator: np.random.Generator) -> Vector:
    z = np.zeros(structure.d)
    z[structure.free] = generator.standard_normal(structure.free.size)
    return structure.clip(z)


def _is_inside(structure: Structure, x: Vector) -> bool:
    """Tell whether some z stands for ``x``: the way there and back changes nothing."""
    back = structure.to_x(structure.to_z(x))
    return bool(np.allclose(back, x, rtol=1e-12, atol=1e-13 * max(1.0, float(np.abs(x).max()))))


def _check_point(structure: Structure, z: Vector) -> None:
    x = structure.to_x(z)
    assert x.shape == z.shape, "`to_x` must keep the shape"
    assert _is_inside(structure, x), "`to_z` must lead back to the point of `to_x`"
    clipped = structure.clip(3 * z - 0.1)
    assert (clipped >= structure.low).all(), "`clip` must keep lower bounds"
    assert (clipped <= structure.high).all(), "`clip` must keep upper bounds"
    assert _is_inside(structure, structure.to_x(3 * z - 0.1)), "`to_x` must keep bounds for any z"
    assert np.array_equal(structure.clip(clipped), clipped), "clipping twice must change nothing"


def _check_nearest(structure: Structure, z: Vector, generator: np.random.Generator) -> None:
    """Check solves by models: from a point that fits, they must end where answers may be."""
    support = structure.active(z)
    moved = z.copy()
    moved[support] *= generator.uniform(0.0, 2.0, support.size)
    near = structure.nearest(moved)
    assert structure.contains(near), "`nearest` must give an answer where coordinates fit"
    assert np.isin(np.flatnonzero(near), support).all(), "`nearest` must not add coordinates"
    again = structure.nearest(near)
    assert np.allclose(again, near, rtol=0, atol=CLOSE), "`nearest` must keep what is an answer"
    by_models = structure.by_models(z) or structure.gaps or not structure.is_within(1e6 * (1 + z))
    if not by_models or not support.size:
        return
    slopes, hessian = (
        generator.standard_normal(support.size),
        _random_inverse(support.size, generator),
    )
    for fits in (True, False):
        step = structure.best_step(z, support, slopes, hessian, fits=fits)
        after = z.copy()
        after[support] += step
        assert _is_inside(structure, structure.to_x(after)), "`best_step` must stay inside"
        close = np.allclose(
            structure.clip(after), after, rtol=0, atol=1e-7 * max(1.0, np.abs(z).max())
        )
        assert close, "`best_step` must end inside"
        gain = float(slopes @ step + 0.5 * step @ hessian @ step)
        assert gain <= CLOSE, "`best_step` must not be worse than none"
    after[support] = z[support] + step
    chosen = structure.best_choice(structure.clip(after), support, slopes + hessian @ step, hessian)
    if chosen is not None:
        after[support] = chosen
        assert structure.contains(after), "`best_choice` must be a point that may be an answer"


def _check_atoms(structure: Structure, z: Vector) -> None:
    active = structure.active(z)
    atoms = structure.atoms(active)
    joined = np.concatenate(atoms)
    assert np.isin(np.flatnonzero(z), active).all(), "`active` must hold all non-zeros"
    joined = np.sort(np.append(joined, _always(structure)))
    assert np.array_equal(joined, active), "atoms must be disjoint and make up `active`"
    assert len({tuple(atom.tolist()) for atom in atoms}) == len(atoms), "atoms must differ"
    assert structure.count(active) == len(atoms), "`count` must agree with `atoms`"
    assert np.array_equal(structure.whole(active), active), "`active` must hold whole atoms"
    without = structure.without(z, atoms[0])
    rest = np.setdiff1d(active, atoms[0])
    if len(atoms) > 1 and (structure.count(rest) >= structure.size or structure.fits(rest)):
        assert not without[atoms[0]].any(), "`without` must make coordinates zero"
        assert _is_inside(structure, structure.to_x(without)), "`without` must stay inside"


def _always(structure: Structure) -> Indices:
    """Return the coordinates that are free and no atoms: they are active where nothing else is."""
    return structure.active(np.zeros(structure.d))


def _few_atoms(structure: Structure, generator: np.random.Generator) -> Vector:
    """Return a point with so few atoms that all choices among them can be compared."""
    z = np.zeros(structure.d)
    nothing = np.empty(0, dtype=np.intp)
    support = _grown(structure, generator, nothing, min(MOST_ATOMS, 2 * structure.size + 1))
    z[support] = generator.uniform(0.1, 1.0, support.size)
    return structure.clip(z)


def _grown(
    structure: Structure, generator: np.random.Generator, support: Indices, count: int
) -> Indices:
    """Return these coordinates and those of random atoms, each of which may join those before."""
    for _ in range(count):
        possible = np.setdiff1d(structure.next_to(support), support)
        if possible.size:
            support = structure.whole(np.union1d(support, generator.choice(possible, 1)))
    return support


def _any_may_join(structure: Structure, coordinates: Indices) -> bool:
    """Tell whether all other coordinates may join these."""
    return structure.next_to(coordinates).size == np.setdiff1d(structure.free, coordinates).size


def _check_prune(structure: Structure, generator: np.random.Generator, factor: float) -> None:
    z = _few_atoms(structure, generator)
    active = structure.active(z)
    atoms = structure.atoms(active)
    before = z.copy()
    # what is so small that it vanishes by itself need not be kept
    large = np.where(np.array([_stays(structure, z, i) for i in range(structure.d)]), z, 0.0)
    for size in range(1, len(atoms) + 1):
        pruned = structure.prune(z, None, size)
        kept = structure.active(pruned)
        smaller = structure.with_size(size)
        most = max(
            (
                float((large[np.concatenate(chosen)] ** 2).sum())
                for count in range(1, size + 1)
                for chosen in combinations(atoms, count)
                if smaller.fits(np.sort(np.concatenate(chosen)))
            ),
            default=None,
        )
        if most is None:
            continue  # so few atoms make no point of the set
        assert structure.count(kept) <= size, "`prune` must keep no more atoms than asked for"
        inside = np.isin(np.flatnonzero(pruned), active).all()
        assert inside, "`prune` must keep atoms of the point"
        assert smaller.fits(kept), "`prune` must keep atoms that go together"
        enough = float((z[kept] ** 2).sum()) >= factor * most - CLOSE
        assert enough, "`prune` without curvature must lose the smallest atoms"
        curvature = Curvature(active, _random_inverse(active.size, generator))
        pruned = structure.prune(z, curvature, size)
        assert structure.count(structure.active(pruned)) <= size, "curvature must not add atoms"
        assert _is_inside(structure, structure.to_x(pruned)), "`prune` must stay inside"
        cost = structure.importance(z, atoms, curvature)
        assert cost.shape == (len(atoms),), "`importance` must have one entry per atom"
        assert (cost >= 0).all(), "`importance` must not be negative"
    assert np.array_equal(z, before), "`prune` must not change its input"


def _stays(structure: Structure, z: Vector, i: int) -> bool:
    """Tell whether a coordinate is not zero at the nearest point that may be an answer."""
    alone = np.zeros(structure.d)
    alone[i] = z[i]
    return z[i] != 0 and (not structure.gaps or structure.nearest(alone)[i] != 0)


def _random_inverse(n: int, generator: np.random.Generator) -> Vector:
    factor = generator.standard_normal((n, n))
    return np.asarray(factor @ factor.T / n + 0.1 * np.eye(n))


def _check_head(structure: Structure, z: Vector, generator: np.random.Generator) -> None:
    current = structure.active(z)
    slopes = np.zeros(structure.d)
    # slopes of few coordinates: those of all others say nothing
    moved = generator.choice(structure.free, max(1, structure.free.size // 3), replace=False)
    slopes[moved] = generator.standard_normal(moved.size)
    before = slopes.copy()
    promise = structure.promise(slopes)
    outside = structure.next_to(current)
    gains = sorted(
        (float((promise[atom] ** 2).sum()) for atom in structure.atoms(outside)), reverse=True
    )
    any_may_join = _any_may_join(structure, current)
    for size in (1, structure.size) if any_may_join else (1,):
        head = structure.head(slopes, size, current)
        assert structure.count(head) <= size, "`head` must take no more atoms than asked for"
        both = np.union1d(current, head)
        whole = np.union1d(both, _always(structure))
        assert np.array_equal(structure.whole(both), whole), "`head` must take whole atoms"
        assert not np.isin(head, current).any(), "`head` must leave out what it is told to"
        together = structure.with_size(structure.count(current) + size)
        goes = any_may_join or together.fits(both)
        assert goes, "`head` must take what goes together"
        gain = float((promise[head] ** 2).sum())
        assert abs(gain - sum(gains[:size])) <= CLOSE, "other atoms than those of `head` are better"
    assert np.array_equal(slopes, before), "`head` must not change its input"


def _points(x: Vector, directions: Directions, length: float) -> list[Vector]:
    points = []
    for indices, values in directions.slices(0, directions.count):
        for i in range(len(values)):
            point = x.copy()
            point[slice(None) if indices is None else indices[i]] += length * values[i]
            points.append(point)
    return points


def _check_probes(structure: Structure, z: Vector, generator: np.random.Generator) -> None:
    key = Key(seed=int(generator.integers(1000)))
    rows = structure.rows(key, structure.free)
    unit = 1.0 if structure.unit is None else structure.unit
    for length in (1e-9, 1e-6, min(0.1, structure.longest_row)):
        if length > structure.longest_row:
            continue
        base = structure.to_x(structure.base(z, length))
        for row in rows.block(0, min(rows.available, 8)):
            for sign in (1.0, -1.0):
                point = base + sign * length * row * unit
                assert _is_inside(structure, point), "rows from `base` must stay inside"
    x, support = structure.to_x(z), structure.free
    for steps in (np.full(support.size, STEP), -z[support], 0.1 * np.ones(support.size)):
        low, high = structure.low[support] - z[support], structure.high[support] - z[support]
        probes = _points(x, structure.axes(x, support, np.clip(steps, low, high)), 1.0)
        for point in probes:
            assert _is_inside(structure, point), "steps along axes must stay inside"
    signs = generator.choice(np.array([-1.0, 1.0]), structure.d)
    for length in (1e-6, 1e-2):
        point = structure.to_x(structure.clip(z + length * structure.line(z, signs, length)))
        assert _is_inside(structure, point), "the line of the noise test must stay inside"


def _check_recovery(structure: Structure, generator: np.random.Generator, key: Key) -> bool:
    """Compare what slopes along rows tell of a linear function of few atoms with those of axes.

    Tell whether they are explained; true as well where rows cannot tell.
    """
    z = structure.prune(_random_point(structure, generator), None, structure.size)
    active = structure.active(z)
    support = _grown(structure, generator, active, structure.size)
    if _any_may_join(structure, active):
        other = structure.prune(_random_point(structure, generator), None, structure.size)
        support = np.union1d(active, structure.active(other))
    gradient = np.zeros(structure.d)
    gradient[support] = generator.standard_normal(support.size)
    unit = 1.0 if structure.unit is None else structure.unit
    rows = structure.rows(key, structure.free)
    count, held_out = rows.available, 2
    if 2 * support.size + held_out + 3 > count:
        return True
    block = rows.block(0, count)
    measured = Measurements(((RowSlice(rows=rows, start=0, count=count), block @ gradient),))
    columns = np.column_stack([measured.common, measured.columns(support)])
    if np.linalg.matrix_rank(columns[: count - held_out]) < columns.shape[1]:
        return True  # rows that cannot tell these coordinates apart
    recovery = structure.recover(measured, structure.active(z), held_out=held_out, noise=0.0)
    values, candidates = structure.slopes(z, recovery)
    if recovery.error > CLOSE:
        return False
    expected = _axis_slopes(structure, z, gradient / unit)
    known = np.isfinite(expected)
    close = np.allclose(values[structure.free][known], expected[known], rtol=1e-4, atol=1e-4)
    assert close, "`slopes` must be those along the axes"
    assert np.isin(structure.active(z), candidates).all() or not structure.sums_to_one, (
        "candidates must hold the atoms of a point whose weights depend on each other"
    )
    assert structure.count(candidates) == len(structure.atoms(candidates)), "candidates are atoms"
    return True


def _check_slopes(structure: Structure, z: Vector, generator: np.random.Generator) -> None:
    gradient = generator.standard_normal(structure.d)
    slopes = structure.axis_slopes(z, gradient)[structure.free]
    expected = _axis_slopes(structure, z, gradient)
    known, size = np.isfinite(expected), float(np.abs(gradient).max())
    assert np.allclose(slopes[known], expected[known], rtol=1e-4, atol=1e-4 * size), (
        "`axis_slopes` must be the slopes along the axes"
    )


def _axis_slopes(structure: Structure, z: Vector, gradient: Vector) -> Vector:
    """Return the slopes of ``gradient @ x`` along the axes, by differences; NaN if no way leads."""
    z = structure.inside(z, STEP)
    x, free = structure.to_x(z), structure.free
    inward = np.where(z[free] + STEP > structure.high[free], -STEP, STEP)
    points = _points(x, structure.axes(x, free, inward), 1.0)
    changes = np.array([float(gradient @ (point - x)) for point in points])
    moved = np.array([np.abs(point - x).max() > 0 for point in points])
    return np.where(moved, changes / inward, np.nan)
