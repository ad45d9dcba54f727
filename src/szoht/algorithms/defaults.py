"""Default parameters, and the choice between a fixed step and a line search."""

import math
from dataclasses import replace

from szoht.core.parts import SearchUpdate, Update
from szoht.core.validation import shown
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.estimators import Gaussian, Sphere
from szoht.estimators.differences import CENTRAL_LENGTH, FORWARD_LENGTH
from szoht.operators import L1Ball, Operator, Sparse, SparseBox
from szoht.schedules import Scheduled
from szoht.updates import ForwardBackward, LineSearch

__all__ = [
    "default_directions",
    "default_mu",
    "default_support_size",
    "most_nonzeros",
    "pick_ball",
    "pick_gaussian",
    "pick_operator",
    "pick_sphere",
    "pick_update",
]

MAX_SUPPORT_SIZE = 100_000
MAX_GAUSSIAN_DIRECTIONS = 100


def default_directions(d: int | None, operator: Operator) -> int:
    """Return q = ceil(3 k (1 + log(d / k))), at most d.

    A coordinate of the estimate has noise ``|grad f| / sqrt(q)``; of the order of k log(d / k)
    directions tell the k largest coordinates of a concentrated gradient from the rest.

    >>> default_directions(1000, Sparse(10))
    169
    """
    if d is None:
        raise ParameterError("`q` must be given, or `d` to choose it from; got q=None, d=None.")
    k = min(d, most_nonzeros(operator) or d)
    return min(d, math.ceil(3 * k * (1 + math.log(d / k))))


def most_nonzeros(operator: Operator) -> int | None:
    """Return how many entries a sparse set leaves, those that it does not count included."""
    k = getattr(operator, "k", None)
    return None if k is None else int(k) + len(getattr(operator, "always", ()))


def default_support_size(d: int | None) -> int | None:
    """Return all coordinates, but at most 100,000: small supports cost queries, large ones time."""
    return None if d is None or d <= MAX_SUPPORT_SIZE else MAX_SUPPORT_SIZE


def default_mu(d: int | None, *, central: bool) -> float:
    """Return the radius for directions that are sqrt(d) long, or of unit length if d is None.

    >>> default_mu(100, central=False)
    1e-07
    """
    length = CENTRAL_LENGTH if central else FORWARD_LENGTH
    return length if d is None else length / math.sqrt(d)


def pick_sphere(
    operator: Operator,
    *,
    q: Scheduled | None,
    mu: Scheduled | None,
    support_size: int | None,
    d: int | None,
    central: bool = False,
    orthogonal: bool = False,
) -> Sphere:
    """Return SZOHT's estimator, with defaults for what was not given."""
    return Sphere(
        q=default_directions(d, operator) if q is None else q,
        mu=default_mu(None, central=central) if mu is None else mu,
        support_size=default_support_size(d) if support_size is None else support_size,
        central=central,
        orthogonal=orthogonal,
    )


def pick_gaussian(
    *, q: Scheduled | None, mu: Scheduled | None, d: int | None, central: bool = False
) -> Gaussian:
    """Return the estimator of the l1 baselines: 100 directions, at most d, if not given."""
    if q is None:
        q = MAX_GAUSSIAN_DIRECTIONS if d is None else min(MAX_GAUSSIAN_DIRECTIONS, d)
    return Gaussian(q=q, mu=default_mu(d, central=central) if mu is None else mu, central=central)


def pick_ball(radius: float | None) -> L1Ball:
    """Return the l1 ball that a method must be given."""
    if radius is None:
        raise ParameterError("`radius` must be given, a number > 0; got radius=None.")
    return L1Ball(radius)


def pick_operator(
    k: int | None, constraint: Operator | None, always: tuple[int, ...] = ()
) -> Operator:
    """Return the constraint; ``k`` is short for ``Sparse(k)``.

    Coordinates in ``always`` are free and not counted.
    """
    if (k is None) == (constraint is None):
        raise ParameterError(
            "exactly one of `k` and `constraint` must be given (k=10 is short for "
            f"constraint=Sparse(10)); got k={shown(k)}, constraint={shown(constraint)}."
        )
    if k is not None:
        return Sparse(k, always=always)
    if isinstance(constraint, type):
        raise ParameterError(
            f"`constraint` must be a set or penalty, not its class; got the class "
            f"{constraint.__name__}. Give its parameters, such as constraint=Sparse(10)."
        )
    if not isinstance(constraint, Operator):
        raise ParameterTypeError(
            f"`constraint` must be a set or penalty with `check` and `prox`; got {constraint!r}."
        )
    if not always:
        return constraint
    if not isinstance(constraint, Sparse | SparseBox):
        raise CapabilityError(
            "`always` frees coordinates of a set that counts them, Sparse or SparseBox; got "
            f"constraint={constraint!r}. Drop `always`, or use one of these."
        )
    return replace(constraint, always=(*constraint.always, *always))


def pick_update(operator: Operator, step_size: Scheduled | None) -> Update | SearchUpdate:
    """Return a fixed step, or a line search where none is given."""
    if step_size is None:
        return LineSearch(operator=operator)
    return ForwardBackward(operator=operator, step_size=step_size)
