"""Structured sets: how far their projections lead away from a target, and what they keep."""

import math

from szoht.core.validation import check_integer, check_real

__all__ = ["graph_head_factor", "tail_expansivity", "two_step_share", "union_expansivity"]


def union_expansivity() -> float:
    r"""Factor of an exact projection onto a union of coordinate subspaces, the golden ratio.

    .. math:: \|P(b) - a\| \le \tfrac{1+\sqrt5}{2}\,\|b - a\|

    for every ``a`` of the set: groups, trees, graphs, at most m per group. It holds for every
    ``P(b)`` that equals ``b`` on a support whose norm of ``b`` is at least that on the support of
    ``a``. For `Sparse` with ``k = k_star`` it equals :func:`~szoht.theory.expansivity`, so no
    smaller number holds for all such sets; with bounds, use :func:`tail_expansivity`.

    Notes
    -----
    Let ``A`` and ``S`` be the supports and ``e = b - a``. Then ``P(b) - a`` is ``e`` on ``S`` and
    ``-a`` on ``A \ S``, where :math:`\|a\| \le \|b\| + \|e\|`. There the norm of ``b`` is at most
    that of ``b = e`` on ``S \ A``. With u and v the norms of ``e`` on ``A \ S`` and ``S \ A``, the
    squared distance is at most :math:`v^2 + (u + v)^2` plus the rest of :math:`\|e\|^2`, and the
    largest eigenvalue of this form is :math:`(3 + \sqrt5)/2`.

    Examples
    --------
    >>> round(union_expansivity(), 6)
    1.618034
    """
    return (1 + math.sqrt(5)) / 2


def tail_expansivity(*, tail_factor: float = 1.0) -> float:
    r"""Factor :math:`1 + c` of a map with :math:`\|P(b) - b\| \le c \min_{x} \|x - b\|`.

    The minimum is over the set, which contains ``a``: then :math:`\|P(b) - a\| \le \|P(b) - b\| +
    \|b - a\| \le (1 + c)\|b - a\|`. For an exact projection, c = 1, onto any set (low rank, bounds,
    semicontinuous weights) it is 2.

    Parameters
    ----------
    tail_factor : float >= 1
        c.

    Examples
    --------
    >>> tail_expansivity()
    2.0
    """
    return 1 + check_real("tail_factor", tail_factor, low=1.0)


def graph_head_factor(*, k: int, nodes: int) -> float:
    r"""Part of the best squared norm on ``k`` connected nodes that a cut Steiner tree keeps.

    .. math:: \min\Big(1, \frac{m-1}{2(k-1)}\Big) \Big/
              \Big\lceil\frac{m-1}{\lceil (k-1)/2 \rceil}\Big\rceil

    for a tree F of ``m > k`` nodes; without the second factor for ``m <= k``.

    Parameters
    ----------
    k : int >= 1
        Nodes kept.
    nodes : int >= 1
        ``m``, the nodes of the Steiner tree.

    Notes
    -----
    Let w be the squares of the entries, t w the prizes and T the best ``k`` connected nodes. The
    guarantee of Goemans and Williamson, see ``Graph.steiner_forest``, is
    :math:`m - 1 - 2 t w(F) \le 2 (k - 1) - 2 t w(T)`. No part of F is better than F, so
    :math:`2 t w(F) \ge m - 1`. Together :math:`w(T) \le w(F) \max(1, 2 (k-1)/(m-1))`.

    Second, h = ceil((k - 1) / 2) or more edges, and at most k - 1, can be cut from below: take the
    lowest node with at least h edges below it; each of its branches has at most h; collect
    branches until they have h. So the tree is covered by ceil((m - 1) / h) subtrees of at most k
    nodes, and the heaviest one is at least as heavy as their mean.

    Examples
    --------
    >>> [round(graph_head_factor(k=21, nodes=m), 3) for m in (11, 21, 22, 41, 81)]
    [0.25, 0.5, 0.175, 0.25, 0.125]
    """
    k = check_integer("k", k, low=1)
    edges = check_integer("nodes", nodes, low=1) - 1
    if k == 1:
        return 1.0  # the heaviest node
    found = min(1.0, edges / (2 * (k - 1)))
    return found if edges < k else found / math.ceil(edges / math.ceil((k - 1) / 2))


def two_step_share(*, k: int, k_star: int, kappa: float) -> float | None:
    r"""Smallest ``rho`` of the two-step projection with ``k`` coordinates; None above 1/2.

    .. math:: \rho = \frac{2\kappa\sqrt{k^*}}{\sqrt k + 2\kappa\sqrt{k^*}}

    solves :func:`~szoht.theory.two_step_sparsity` for ``rho``: the more coordinates than ``k_star``
    are kept, the nearer to 1 is the factor ``1 + 2 rho`` by which the result may exceed the best
    value. Where rho is above 1/2 nothing is known.

    Parameters
    ----------
    k, k_star : int >= 1
        Coordinates kept, and sparsity of the comparison point.
    kappa : float >= 1
        Condition number.

    Examples
    --------
    >>> two_step_share(k=80, k_star=5, kappa=2.0), two_step_share(k=79, k_star=5, kappa=2.0)
    (0.5, None)
    """
    kept = math.sqrt(check_integer("k", k, low=1))
    wanted = 2 * check_real("kappa", kappa, low=1.0)
    wanted *= math.sqrt(check_integer("k_star", k_star, low=1))
    return None if wanted > kept * (1 + 1e-12) else wanted / (kept + wanted)
