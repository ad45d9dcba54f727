"""How often a variance-reduced method sees the whole sum, from the costs of its parts."""

import math
from dataclasses import dataclass, replace

from szoht.algorithms.defaults import default_directions, most_nonzeros
from szoht.core.parts import Estimator
from szoht.errors import NoGainWarning, warn
from szoht.estimators import Sphere
from szoht.operators import Operator
from szoht.schedules import Scheduled

__all__ = [
    "Pace",
    "affordable",
    "first_count",
    "orthogonal_if_many",
    "pick_pace",
    "table_directions",
    "warn_of_loss",
    "warn_of_slow_table",
]

EPOCH, BATCH = 10, 1
"""Of the published methods: iterations between snapshots, components of an iteration."""

MOST_COMPONENTS, COMPONENT_SHARE = 32, 4
"""An iteration corrects so many components at most, and at most this part of the sum: with them
the steps are about as long as on the whole sum, and fewer would be searched for in vain."""

SNAPSHOTS = 8
"""A budget pays for so many snapshots at least, if their directions are not given."""

CORRECTED_SHARE = 0.25
"""What the iterations between two snapshots cost, in units of a snapshot. At 1 the gap is 5 to 100
times as large on the problems of benchmarks/variance_reduced.py: the snapshot is too old then."""

SEARCH_SHARE = 0.5
"""What the searches on the whole sum cost, in units of the iterations between them."""

SEARCH_POINTS = 4
"""Of a search: where it begins, and three lengths."""

TABLE_ROWS = 15
"""Components per non-zero below which `saga_szht` was found to be behind (docs/variance.md): with
n random rows and s = 3 k coordinates the condition number is about ((1 + r) / (1 - r))^2 with
r = sqrt(s / n), 7 at n = 15 k, and each entry of the table must be renewed about as often."""

SPANNING = 0.1
"""Part of all directions from which on orthogonal ones are worth their cost: their noise is less
by the factor (d - q) / (d - 1)."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Components of an iteration, and the iterations from one snapshot or search to the next."""

    batch_size: int
    every: int
    search_every: int


def pick_pace(
    inner: Sphere,
    snapshot: Estimator,
    *,
    every: int | None,
    batch_size: int | None,
    d: int | None,
    n_samples: int | None,
    fixed_step: bool,
) -> Pace:
    """Return what was given, and for the rest what the costs say; published values without them.

    A step that is given was chosen for the published values.
    """
    if fixed_step or n_samples is None:
        epoch = EPOCH if every is None else every
        return Pace(
            batch_size=BATCH if batch_size is None else batch_size, every=epoch, search_every=epoch
        )
    if batch_size is None:
        batch_size = max(1, min(MOST_COMPONENTS, n_samples // COMPONENT_SHARE))
    cost = 2 * batch_size * (first_count(inner.q) + 1)
    if every is None:
        directions = first_count(getattr(snapshot, "q", d or inner.q))
        every = 1 + max(1, round(CORRECTED_SHARE * n_samples * (directions + 1) / cost))
    search_every = max(1, round(SEARCH_POINTS * n_samples / (SEARCH_SHARE * cost)))
    return Pace(batch_size=batch_size, every=every, search_every=search_every)


def affordable(
    sphere: Sphere, d: int | None, max_queries: int | None, n_samples: int | None
) -> Sphere:
    """Return orthogonal directions, as many as asked for, as there are, and as can be paid for."""
    if d is None or callable(sphere.q):
        return sphere
    most = float(min(d, sphere.support_size or d))
    if max_queries is not None and n_samples is not None:
        most = min(most, max_queries // (SNAPSHOTS * n_samples) - 1)
    return replace(sphere, q=int(max(1, min(sphere.q, most))), orthogonal=True)


def orthogonal_if_many(sphere: Sphere, d: int | None) -> Sphere:
    """Return orthogonal directions where there are so many that this pays."""
    if d is None or first_count(sphere.q) < SPANNING * d:
        return sphere
    return replace(sphere, orthogonal=True)


def table_directions(operator: Operator, d: int, n_samples: int) -> int:
    r"""Return as many directions as keep the noise of a table's mean below half of the gradient.

    On s = 3 k coordinates q orthogonal directions leave noise :math:`\frac{s}{q n}
    \frac{d - q}{d - 1}\|g_i\|^2` in the mean of n estimates, each along its own, and components
    have :math:`\|g_i\|^2` about d times the square of the gradient on those coordinates: the
    mean is half noise at :math:`q = 2 s d / (2 s + n)`. Never fewer than `default_directions`.

    >>> from szoht.operators import Sparse
    >>> table_directions(Sparse(3), 300, 30), default_directions(300, Sparse(3))
    (113, 51)
    """
    size = min(d, 3 * (most_nonzeros(operator) or d))
    enough = math.ceil(2 * size * d / (2 * size + n_samples))
    return min(d, max(default_directions(d, operator), enough))


def warn_of_loss(
    name: str, inner: Sphere, pace: Pace, max_queries: int | None, n_samples: int | None
) -> None:
    """Warn where the correction costs as much as it saves, or more than the budget."""
    if n_samples is None:
        return
    if 2 * pace.batch_size >= n_samples:
        warn(
            f"{name} evaluates `batch_size`={pace.batch_size} components at two points in an "
            f"iteration, no fewer than the whole sum of n_samples={n_samples}: that saves nothing. "
            'Lower `batch_size`, or use method="szoht" with options={"sampler": szoht.Full()}.',
            NoGainWarning,
        )
    needed = SNAPSHOTS * n_samples * (first_count(inner.q) + 1)
    if max_queries is not None and max_queries < needed:
        warn(
            f"{name} needs about {needed} evaluations of components to pay, {SNAPSHOTS} times the "
            f"whole sum along {first_count(inner.q)} directions; got `max_queries`={max_queries}. "
            'method="szoht" may do as well with that.',
            NoGainWarning,
        )


def warn_of_slow_table(operator: Operator, n_samples: int | None) -> None:
    """Warn where a table of past estimates is renewed too slowly for what is left to learn."""
    k = most_nonzeros(operator)
    if k is not None and n_samples is not None and n_samples < TABLE_ROWS * k:
        warn(
            f"saga_szht is slow on fewer than {TABLE_ROWS} k = {TABLE_ROWS * k} components: "
            f"they are ill conditioned on sparse points; got n_samples={n_samples}. Use "
            'method="vr_szht" or "szoht".',
            NoGainWarning,
        )


def first_count(q: Scheduled) -> int:
    """Return a number of directions, that of the first iteration if there is a schedule."""
    return int(q(0) if callable(q) else q)
