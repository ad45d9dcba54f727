"""Hard thresholding with sketched gradients, for dimensions in the billions."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import default_mu, most_nonzeros, pick_operator, pick_update
from szoht.errors import ParameterError
from szoht.estimators import Sketch
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["sketch_ht"]


def sketch_ht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    buckets: int | None = None,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
) -> Composite:
    """Find the largest slopes by group testing, then keep the k largest entries.

    ``x_{t+1} = H_k(x_t - eta ghat_t)``, where ghat_t holds the true slopes along the support of
    x_t and along the up to k coordinates outside it to which f responds most, found by hashing
    and bit tests (`Sketch`). It takes O(k log d) values and as much time and memory, so that d may
    be 10^9 or more: pass ``x0`` as a `SparseVector`, and a function that reads its argument by
    ``x[indices]``.

    Suits functions to which few coordinates matter much at a time; where all matter alike, use
    ``szoht``.

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        Another sparse set, with a ``k`` of its own.
    mu : float or Schedule
        How far a probed coordinate moves, > 0; by default 1e-4, and longer where f is found to be
        noisy, see `ChosenRadius`. A sparse ``x0`` is not tested: raise it if f is noisy.
    step_size : float or Schedule
        eta, > 0; by default found by line search, see `LineSearch`.
    buckets : int
        Groups to begin with, >= 1; by default 4 k. See `Sketch`.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"best", "last", "average", "random"}
        Which point is returned, see `Composite`.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> relevant, wanted = np.array([12, 345_678_901, 999_999_999]), np.array([1.0, -0.5, 2.0])
    >>> result = szoht.minimize(
    ...     lambda x: float(((x[relevant] - wanted) ** 2).sum()),
    ...     szoht.SparseVector(10**9),
    ...     k=3,
    ...     method="sketch_ht",
    ...     target=1e-10,
    ...     rng=0,
    ... )
    >>> result.support
    array([       12, 345678901, 999999999])

    References
    ----------
    See `Sketch`.
    """
    operator = pick_operator(k, constraint)
    count = most_nonzeros(operator)
    if count is None:
        raise ParameterError(
            f"`constraint` must be a sparse set, with a `k`; got constraint={operator!r}."
        )
    estimator = Sketch(
        count=count, mu=default_mu(None, central=True) if mu is None else mu, buckets=buckets
    )
    update = pick_update(operator, step_size)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
