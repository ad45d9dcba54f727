"""`auto`: the solver that needs no tuning."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from szoht.algorithms.auto.criteria import LOSS_CRITERIA
from szoht.algorithms.auto.handed_over import HandedOver
from szoht.algorithms.auto.integers import AutoInteger
from szoht.algorithms.auto.low_rank.solver import AutoLowRank
from szoht.algorithms.auto.path import AutoPath
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.solver import Auto
from szoht.algorithms.auto.structures import Structured
from szoht.algorithms.auto.transformed import AutoTransformed
from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.szoht import szoht
from szoht.core.algorithm import Algorithm
from szoht.core.validation import check_choice, check_real
from szoht.errors import CapabilityError
from szoht.operators import (
    GraphSparse,
    GroupSparse,
    LowRank,
    Operator,
    Sparse,
    SparseBox,
    SparseIn,
    SparseSum,
    TreeSparse,
    TwoStep,
)
from szoht.operators.always import as_always
from szoht.samplers import Full, Sampler, Seeds
from szoht.types import Vector

__all__ = ["auto"]


def auto(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    always: Sequence[int] = (),
    criterion: str | None = None,
    sampler: Sampler = Full(),
    d: int | None = None,
    max_queries: int | None = None,
    effort: float = 1.0,
    use_gradient: bool = False,
    policy: Policy | None = None,
    plan_width: int = 1,
    has_units: bool = False,
    integer_steps: Vector | None = None,
) -> Algorithm:
    """Minimize under a sparsity constraint without any parameter to choose.

    The noise of the values is tested first. Where they are exact, few slopes locate the coordinates
    that matter, quasi-Newton minimizes over them, and the rest is pruned; where that gains nothing,
    coordinates are exchanged, f is compared over longer distances, and further moves take turns
    until patience is used up. `docs/auto.md` tells how it decides, and ``result.explain`` what
    it did.

    Parameters
    ----------
    k, constraint
        As in `szoht`. `Sparse`, `SparseBox`, `GroupSparse`, `SparseSimplex`, `SparseSum`,
        `TreeSparse`, `GraphSparse`, `Semicontinuous`, `TwoStep`, `LowRank` and `SparseIn` are
        served; others (balls, boxes, penalties) are handed to `szoht` with its line search, and
        ``result.explain`` says so. Without either, a path over k is walked; see `AutoPath`.
    always : sequence of int
        Coordinates that are free and not counted, such as an intercept, of `Sparse` or `SparseBox`.
    criterion : {"aic", "bic", "ebic", "cv"}, optional
        Which k a path over k ends with, in place of the knee, for a mean loss over components.
    sampler : Sampler
        `Seeds` says that the objective takes a seed. A finite sum is solved on a part of it first,
        then on more, then on the whole. With other constraints, the sampler of `szoht`.
    d : int
        The dimension, used with such other constraints only.
    max_queries : int, optional
        The budget, filled in by `minimize`: small ones are planned query by query, and what no plan
        fits into is spent on single points. A run that is extended goes on as if it were unknown.
    effort : float
        Multiplies the queries without a gain after which a run ends by itself, > 0; infinite: the
        budget is spent.
    use_gradient : bool
        Take slopes from the objective's gradient, filled in by `minimize` where there is one; a run
        with seeds, with integers or with a constraint that is handed over does without.
    policy : Policy, optional
        Every number by which the solver decides, for experts and for measuring what each is worth.
    has_units : bool
        That one is a natural change of each variable, filled in by `minimize` for `Variables`: no
        units are looked for.
    integer_steps : array of shape (d,), optional
        The step of each variable that moves in steps, 0 for the others, filled in by `minimize` for
        integers; `AutoInteger` then solves the problem.

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
    >>> result.nfev < 30
    True

    Two of 100 groups of ten, all ten at once:

    >>> from szoht import GroupSparse
    >>> target = np.zeros(1000)
    >>> target[30:40], target[700:710] = 1.0, -0.5
    >>> result = minimize(
    ...     lambda x: float(((x - target) ** 2).sum()),
    ...     np.zeros(1000),
    ...     constraint=GroupSparse(k=2, size=10),
    ...     target=1e-6,
    ...     rng=0,
    ... )
    >>> np.unique(result.support // 10).tolist(), result.nfev < 70
    ([3, 70], True)

    Notes
    -----
    A sensing round costs 2k + 5 queries where the gradient is sparse, at most 4 k (1 + log(d / k)),
    doubled after a stalled round, or d, where it is not; a step of quasi-Newton costs k + 2.
    """
    if criterion is not None:
        check_choice("criterion", criterion, LOSS_CRITERIA)
    check_real("effort", effort, low=0, open_low=True, infinite=True)
    seeded, free = isinstance(sampler, Seeds), as_always(always)
    if integer_steps is not None:
        return _auto_integer(
            k, constraint, free, integer_steps, seeded=seeded, max_queries=max_queries
        )
    limits: dict[str, Any] = {"seeded": seeded, "max_queries": max_queries, "effort": effort}
    search: dict[str, Any] = {
        "policy": policy,
        "has_units": has_units,
        "use_gradient": use_gradient and not seeded,
        "plan_width": plan_width,
    }
    if k is None and constraint is None:
        return AutoPath(always=free, criterion=criterion, **limits, **search)
    operator = pick_operator(k, constraint, free)
    if isinstance(operator, LowRank):
        return AutoLowRank(operator=operator, **limits)
    if isinstance(operator, SparseIn):
        return AutoTransformed(operator=operator, **limits)
    if isinstance(operator, Structured) and not _is_handed_over(operator):
        return Auto(operator=operator, **limits, **search)
    other = szoht(constraint=operator, sampler=sampler, d=d)
    return HandedOver(**{entry.name: getattr(other, entry.name) for entry in fields(other)})


def _is_handed_over(operator: Structured) -> bool:
    """Tell whether weights have a sum of zero, where none moves alone, or a set is of another kind.

    A convex set may hold few points of some other set than those that are structures.
    """
    if isinstance(operator, TwoStep):
        return not isinstance(operator.sparse, Sparse | GroupSparse | TreeSparse | GraphSparse)
    return isinstance(operator, SparseSum) and operator.total == 0


def _auto_integer(
    k: int | None,
    constraint: Operator | None,
    always: tuple[int, ...],
    grid: Vector,
    *,
    seeded: bool,
    max_queries: int | None,
) -> AutoInteger:
    if k is None and constraint is None:
        raise CapabilityError(
            "`k` must be given where variables are integers: a path over k needs slopes; got "
            "k=None."
        )
    operator = pick_operator(k, constraint, always)
    if not isinstance(operator, Sparse | SparseBox):
        raise CapabilityError(
            "`integer` variables need Sparse or SparseBox, or a method that asks vertices of a "
            f"box: 'sparse_rs' or 'corner_search'; got constraint={operator!r}."
        )
    if operator.always:
        raise CapabilityError(
            "`always` is not served where variables are integers, all of which are counted; got "
            f"constraint={operator!r}. Drop `always` and raise `k` by {len(operator.always)}."
        )
    return AutoInteger(operator=operator, grid=grid, seeded=seeded, max_queries=max_queries)
