"""`auto`: the solver that needs no tuning."""

from szoht.algorithms.automatic.path import AutoPath
from szoht.algorithms.automatic.solver import Auto
from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.szoht import szoht
from szoht.core.algorithm import Algorithm
from szoht.operators import Operator, Sparse, SparseBox
from szoht.samplers import Full, Sampler, Seeds

__all__ = ["auto"]


def auto(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    sampler: Sampler = Full(),
    d: int | None = None,
) -> Algorithm:
    """Minimise under a sparsity constraint without any parameter to choose.

    Each round measures slopes along random signs, finds the coordinates that explain them by
    sparse recovery, checked on held-out measurements, or else those that a matched filter points
    out; minimises over them and the current support by quasi-Newton with differences along these
    axes only; keeps the k best and minimises again. Where that gains nothing, coordinates are
    exchanged. `docs/auto.md` tells how it decides, and ``result.explain`` what it did.

    Parameters
    ----------
    k, constraint
        As in `szoht`. Constraints other than `Sparse` and `SparseBox` are handed to `szoht` with
        its line search. Without either, a path over k is walked; see `AutoPath`.
    sampler : Sampler
        `Seeds` says that the objective takes a seed, of which each plan then gets a fresh one. A
        finite sum is solved on a part of it first, then on more, then on the whole. With other
        constraints, the sampler of `szoht`.
    d : int
        The dimension, used with such other constraints only.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import minimize
    >>> target = np.zeros(1000)
    >>> target[[3, 500]] = [1.0, -2.0]
    >>> result = minimize(
    ...     lambda x: float(((x - target) ** 2).sum()),
    ...     np.zeros(1000),
    ...     k=2,
    ...     target=1e-6,
    ...     rng=0,
    ... )
    >>> result.support
    array([  3, 500])
    >>> result.nfev < 60
    True

    Notes
    -----
    A round costs between 1.3 and 4 times k (1 + log(d / k)) queries for its measurements, doubled
    after a round in vain and at most d, and a few times k for each step of the quasi-Newton
    solves. Ends by itself when nothing helps any more.
    """
    seeded = isinstance(sampler, Seeds)
    if k is None and constraint is None:
        return AutoPath(seeded=seeded)
    operator = pick_operator(k, constraint)
    if isinstance(operator, Sparse | SparseBox):
        return Auto(operator=operator, seeded=seeded)
    return szoht(constraint=operator, sampler=sampler, d=d)
