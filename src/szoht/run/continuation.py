"""A stored run that goes on from its evaluations, where they cannot be replayed any further."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from szoht.algorithms.composite import Composite
from szoht.core.algorithm import Algorithm, State
from szoht.core.known import KnownEvaluations
from szoht.core.ledger import Ledger
from szoht.core.random import as_seed
from szoht.core.validation import frozen
from szoht.run.known import uses_known
from szoht.store.parts import Part
from szoht.types import Vector

__all__ = ["begun", "continued"]

KNOWN_ENTRIES = 2**23
"""A solver is told at most so many numbers (64 MB) of points that were evaluated before."""


def continued(
    algorithm: Algorithm, part: Part, ledger: Ledger, *, seed: int, left: int | None
) -> tuple[Algorithm, int, Vector]:
    """Return the algorithm as it goes on, its seed, and where it starts.

    The default method starts at the best point evaluated and is told all others; other methods
    start at the iterate that the replay has reached. ``left`` queries may be spent.
    """
    changes: dict[str, Any] = {}
    if getattr(algorithm, "max_queries", None) is not None:
        changes["max_queries"] = left
    if uses_known(algorithm) and ledger.is_repeatable:
        changes["known"] = _known(ledger)
    if changes:
        algorithm = cast(Algorithm, replace(cast(Any, algorithm), **changes))
    best = ledger.best() if ledger.is_repeatable else None
    # other random numbers than those of the parts before: their points were evaluated
    part_seed = as_seed(np.random.SeedSequence((seed, part.number)))
    return algorithm, part_seed, part.x if best is None else best.x


def begun(
    algorithm: Algorithm, x: Vector, part: Part, *, seed: int, n_samples: int | None
) -> State:
    """Return the state in which a part begins.

    Schedules go on with the iterations before, unless the first one differs from all others.
    """
    state = algorithm.init(x, seed=seed, n_samples=n_samples)
    parts = (getattr(algorithm, name, None) for name in ("sampler", "update"))
    if not isinstance(algorithm, Composite) or any(hasattr(one, "due") for one in parts):
        return state
    return replace(state, iteration=part.iteration)


def _known(ledger: Ledger) -> KnownEvaluations | None:
    """Return what was evaluated, the lowest values first if there is too much."""
    values = ledger.signed_values
    kept = [row for row in np.flatnonzero(np.isfinite(values)).tolist() if ledger.keeps(row)]
    most = max(1, KNOWN_ENTRIES // ledger.start.size)
    rows = sorted(sorted(kept, key=lambda row: values[row])[:most])
    if not rows:
        return None
    points = np.array([ledger.point(row) for row in rows])
    return KnownEvaluations(points=frozen(points), values=frozen(values[rows]))
