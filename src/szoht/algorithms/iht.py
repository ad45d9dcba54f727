"""IHT and StoIHT: hard thresholding with true gradients, the first-order references."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_update
from szoht.estimators import Exact
from szoht.operators import Operator
from szoht.samplers import Full, Minibatch, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["iht", "stoiht"]


def iht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    iterate: IterateChoice | None = None,
) -> Composite:
    """Run iterative hard thresholding: ``x_{t+1} = H_k(x_t - eta grad f(x_t))``.

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        Another set or penalty in place of ``Sparse(k)``.
    step_size : float or Schedule
        eta, > 0; 1 / L in theory; by default found by line search.
    iterate : {"best", "last", "average", "random"}
        Which point is returned.

    Notes
    -----
    Costs one query and one gradient per iteration, 3 more queries with line search.

    References
    ----------
    Jain, Tewari, Kar, On iterative hard thresholding methods for high-dimensional M-estimation,
    NIPS 2014.
    """
    update = pick_update(pick_operator(k, constraint), step_size)
    return Composite(estimator=Exact(), update=update, sampler=Full(), iterate=iterate)


def stoiht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    sampler: Sampler = Minibatch(size=1),
    iterate: IterateChoice | None = None,
) -> Composite:
    """Run stochastic IHT: ``x_{t+1} = H_k(x_t - gamma grad f_i(x_t))``, i uniform.

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        Another set or penalty in place of ``Sparse(k)``.
    step_size : float or Schedule
        gamma, > 0; 1 suits compressed sensing with normalised blocks; by default found by line
        search on the iteration's own sample.
    sampler : Sampler
        One component at a time by default; a block of them is `Minibatch` of that size.
    iterate : {"last", "best", "average", "random"}
        Which point is returned.

    Notes
    -----
    Costs one query and one gradient, times the batch size, per iteration. The factor
    ``1 / (M p(i))`` of the reference is 1, since components are drawn uniformly.

    References
    ----------
    Nguyen, Needell, Woolf, Linear convergence of stochastic iterative greedy algorithms with
    sparse constraints, IEEE Transactions on Information Theory 2017.
    """
    update = pick_update(pick_operator(k, constraint), step_size)
    return Composite(estimator=Exact(), update=update, sampler=sampler, iterate=iterate)
