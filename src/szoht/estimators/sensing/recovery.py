"""Recovery of a sparse gradient: Prony's method on waves, matching pursuit on any rows."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from szoht.estimators.sensing.measurements import Measurements
from szoht.estimators.sensing.rows import FourierRows
from szoht.types import Indices, Vector

__all__ = ["RESIDUAL", "Recovery", "fit_slopes", "group_pursuit", "matching_pursuit", "prony"]

RESIDUAL = 1e-3
"""Pursuit stops when it explains the measurements that it may use up to this share."""


SHORTLIST = 16
"""Groups whose columns are made orthogonal to compare them, per group that may be found."""


BEAM, BEAM_ENTRIES = 24, 300_000
"""Sets of groups that are looked at further, and the largest problem for which they are."""


class Recovery(NamedTuple):
    """Coordinates and their slopes, and the relative error on measurements that were not used."""

    support: Indices
    slopes: Vector
    error: float
    size: float = 0.0


class Spectrum(NamedTuple):
    """What Prony's method found: candidate coordinates, and the next eigenvalue's share."""

    support: Indices
    rest: float


def prony(rows: FourierRows, slopes: Vector, sparsity: int, noise: float) -> Spectrum:
    """Locate the coordinates of a gradient from its lowest Fourier coefficients.

    With slopes along the rows 0, ..., 2m, ``c_j = y_cos + i y_sin = sum_p a_p exp(i j t_p)``; the
    Hermitian Toeplitz matrix of the c_j has one non-zero eigenvalue per term if there are at most m
    of them. The angles t_p are eigenvalues of a rotation in its range (ESPRIT: Roy, Kailath 1989).
    ``noise`` is the standard deviation of a slope. ``rest`` is the eigenvalue after the
    ``sparsity`` largest, relative to the largest: far from zero if the gradient is not sparse.
    """
    m = (slopes.size - 1) // 2
    waves = slopes[1::2] + 1j * slopes[2::2]
    coefficients = np.concatenate([np.conj(waves[::-1]), slopes[:1], waves])
    index = np.arange(m + 1)
    toeplitz = coefficients[m + index[:, np.newaxis] - index]
    eigenvalues, vectors = np.linalg.eigh(toeplitz)
    order = np.argsort(-np.abs(eigenvalues), kind="stable")
    sizes = np.abs(eigenvalues)[order]
    if not sizes[0] > 0:
        return Spectrum(np.empty(0, dtype=np.intp), 0.0)
    floor = max(noise * math.sqrt(2 * m + 1), 1e-13 * sizes[0])
    rank = min(int(np.count_nonzero(sizes > floor)), m)
    rest = float(sizes[min(sparsity, m)] / sizes[0])
    basis = vectors[:, order[:rank]]
    rotation = np.linalg.lstsq(basis[:-1], basis[1:], rcond=None)[0]
    angles = np.angle(np.linalg.eigvals(rotation))
    n = rows.free.size
    nodes = np.unique(np.mod(np.rint(angles * n / (2 * math.pi)).astype(np.intp), n))
    return Spectrum(rows.coordinate_of[nodes], rest)


def neighbors(rows: FourierRows, support: Indices, width: int) -> Indices:
    """Return the coordinates whose nodes are at most ``width`` from those of ``support``."""
    n = rows.free.size
    nodes = rows.nodes[np.searchsorted(rows.free, support)]
    near = np.mod(nodes[:, np.newaxis] + np.arange(-width, width + 1), n)
    return np.sort(rows.coordinate_of[np.unique(near)])


def matching_pursuit(  # noqa: C901  (one loop, and what it adds)
    measurements: Measurements,
    most: int,
    *,
    held_out: int,
    noise: float = 0.0,
    per_pass: int = 1,
    among: Indices | None = None,
    start: Indices | None = None,
    shared: Vector | None = None,
) -> Recovery:
    """Find at most ``most`` coordinates that explain the slopes, the last ``held_out`` left out.

    Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993), or with several coordinates
    ``per_pass`` its generalized form (Wang, Kwon, Shim 2012). What all measurements have in
    common (curvature, or a kink such as that of ||x||_1) is fitted along. ``noise`` is the
    standard deviation of a slope; the pursuit is confined to ``among``, if given, and begins with
    ``start``. ``shared`` are further columns that are fitted along, such as the sums of the rows
    where all coordinates have an effect of the same size.
    """
    y = measurements.slopes
    used = max(1, y.size - held_out)
    weights = np.zeros(y.size)
    columns = measurements.common[:, np.newaxis]
    if shared is not None:
        columns = np.column_stack([columns, shared])
    common = np.linalg.qr(columns[:used])[0].T
    most = min(most, max(used - 1 - len(common), 0))
    basis = np.empty((len(common) + most, used))
    basis[: len(common)] = common
    residual = y[:used] - (common @ y[:used]) @ common
    enough = max(RESIDUAL * float(np.linalg.norm(residual)), noise * math.sqrt(used))
    candidates = None if among is None else measurements.columns(among)[:used]
    support: list[int] = []

    def add(chosen: Indices) -> None:
        nonlocal residual
        columns = measurements.columns(chosen)[:used]
        for i, column in zip(chosen, columns.T, strict=True):
            found = len(common) + len(support)
            vector = column.copy()
            for _ in range(2):  # Gram-Schmidt, twice for the sake of rounding
                vector -= (basis[:found] @ vector) @ basis[:found]
            norm = float(np.linalg.norm(vector))
            if norm <= 1e-9 * math.sqrt(used):
                continue
            basis[found] = vector / norm
            residual = residual - (basis[found] @ residual) * basis[found]
            support.append(int(i))

    if start is not None and start.size:
        add(start[:most])
    while len(support) < most and np.linalg.norm(residual) > enough:
        if candidates is None:
            weights[:used] = residual
            scores = np.abs(measurements.correlate(weights))
            scores[support] = 0.0
        else:
            scores = np.abs(residual @ candidates)
            scores[np.isin(np.asarray(among), support)] = 0.0
        count = min(per_pass, most - len(support), scores.size)
        best = (
            np.argpartition(-scores, count - 1)[:count] if count < scores.size else np.arange(count)
        )
        best = best[scores[best] > 0]
        if best.size == 0:
            break
        before = len(support)
        add(best if among is None else among[best])
        if len(support) == before:  # columns that depend on those before explain nothing more
            break
    return fit_slopes(measurements, np.array(support, dtype=np.intp), used, columns)


def group_pursuit(
    measurements: Measurements,
    groups: Sequence[Indices],
    most: int,
    *,
    held_out: int,
    noise: float = 0.0,
) -> Recovery:
    """Find at most ``most`` of some groups of coordinates that explain the slopes.

    Group orthogonal matching pursuit (Lozano, Swirszcz, Abe 2009): the next group is the one whose
    columns explain most of the residual, beyond what as many random columns would. A group with
    more coordinates than there are measurements explains everything, and is left out. Where
    that does not explain all, several sets of groups are followed at a time: one choice after the
    other among few measurements is wrong at times.
    """
    y = measurements.slopes
    used = max(1, y.size - held_out)
    weights = np.zeros(y.size)
    common = measurements.common[:used]
    basis = common[:, np.newaxis] / np.linalg.norm(common)
    residual = y[:used] - basis @ (basis.T @ y[:used])
    enough = max(RESIDUAL * float(np.linalg.norm(residual)), noise * math.sqrt(used))
    sizes = np.array([group.size for group in groups])
    label = np.repeat(np.arange(sizes.size), sizes)
    coordinates = np.concatenate(groups)
    open_groups = sizes > 0
    support: list[int] = []
    while len(support) < most and float(np.linalg.norm(residual)) > enough:
        weights[:used] = residual
        open_groups &= sizes + basis.shape[1] < used
        energies = np.bincount(label, measurements.correlate(weights)[coordinates] ** 2)
        excess = _excess(energies / used, sizes, residual)
        shortlist = np.argsort(-np.where(open_groups, excess, -np.inf), kind="stable")
        shortlist = shortlist[: min(SHORTLIST * most, int(open_groups.sum()))]
        if not shortlist.size:
            break
        bases = [_orthogonal(measurements.columns(groups[g])[:used], basis) for g in shortlist]
        explained = np.array([float(((residual @ q) ** 2).sum()) for q in bases])
        best = int(np.argmax(_excess(explained, sizes[shortlist], residual)))
        basis = np.column_stack([basis, bases[best]])
        residual = residual - bases[best] @ (bases[best].T @ residual)
        open_groups[shortlist[best]] = False
        support.append(int(shortlist[best]))
    if (
        float(np.linalg.norm(residual)) > enough
        and len(groups) * used * sizes.max() <= BEAM_ENTRIES
    ):
        support = _beam_search(measurements, groups, most // 2, used, enough) or support
    found = np.concatenate([groups[g] for g in support] or [np.empty(0, dtype=np.intp)])
    found = found[np.sort(np.unique(found, return_index=True)[1])]  # once each
    return fit_slopes(measurements, found, used)


def _beam_search(
    measurements: Measurements, groups: Sequence[Indices], size: int, used: int, enough: float
) -> list[int] | None:
    """Find at most ``size`` groups that explain all measurements; None if none are found.

    Of all sets of one, two, ... groups, those that explain most go on with one group more.
    """
    y, common = measurements.slopes[:used], measurements.common[:used, np.newaxis]
    widest = max(group.size for group in groups)
    padded = np.zeros((len(groups), used, widest))
    for block, group in zip(padded, groups, strict=True):
        block[:, : group.size] = measurements.columns(group)[:used]
    sizes = np.array([group.size for group in groups])
    beam: list[tuple[int, ...]] = [()]
    for _ in range(size):
        found: dict[tuple[int, ...], float] = {}
        for chosen in beam:
            basis = np.linalg.qr(np.column_stack([common, *(padded[g] for g in chosen)]))[0]
            left = used - 1 - int(sizes[list(chosen)].sum()) - sizes
            residual = y - basis @ (basis.T @ y)
            own = padded - basis @ (basis.T @ padded)
            gram = own.transpose(0, 2, 1) @ own + 1e-9 * used * np.eye(widest)
            seen = own.transpose(0, 2, 1) @ residual
            explained = (seen * np.linalg.solve(gram, seen[:, :, np.newaxis])[:, :, 0]).sum(axis=1)
            variance = np.maximum(float(residual @ residual) - explained, 0.0) / np.maximum(left, 1)
            variance[[*chosen, *np.flatnonzero(left <= 0)]] = np.inf
            for g in np.argsort(variance)[: min(BEAM, int(np.isfinite(variance).sum()))].tolist():
                if variance[g] * left[g] <= max(enough**2, 1e-6 * float(y @ y)):
                    return [*chosen, g]
                found[tuple(sorted((*chosen, g)))] = float(variance[g])
        beam = sorted(found, key=found.__getitem__)[:BEAM]
    return None


def _excess(explained: Vector, sizes: Indices, residual: Vector) -> Vector:
    """Return by how many standard deviations groups explain more than random columns would."""
    share = explained * (residual.size / max(float(residual @ residual), 1e-300))
    return np.asarray((share - sizes) / np.sqrt(2 * np.maximum(sizes, 1)))


def _orthogonal(columns: Vector, basis: Vector) -> Vector:
    """Return an orthonormal basis of what ``columns`` add to an orthonormal ``basis``."""
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
    q, r = np.linalg.qr(columns)
    return np.asarray(q[:, np.abs(np.diag(r)) > 1e-9 * math.sqrt(columns.shape[0])])


def fit_slopes(
    measurements: Measurements, support: Indices, used: int, shared: Vector | None = None
) -> Recovery:
    """Fit the slopes on a support to the first ``used`` measurements, and judge by the rest."""
    y = measurements.slopes
    common = measurements.common[:, np.newaxis] if shared is None else shared
    n = common.shape[1]
    columns = np.column_stack([common, measurements.columns(support)])
    fitted = np.linalg.lstsq(columns[:used], y[:used], rcond=None)[0]
    if used == y.size:
        return Recovery(support, np.asarray(fitted[n:]), 0.0)
    held = y[used:] - common[used:] @ fitted[:n]
    size = float(np.linalg.norm(held))
    miss = float(np.linalg.norm(y[used:] - columns[used:] @ fitted))
    return Recovery(support, np.asarray(fitted[n:]), miss / size if size > 0 else 0.0, size)
