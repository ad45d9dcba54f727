"""`auto`: the solver that needs no tuning."""

from szoht.algorithms.auto.path import AutoPath
from szoht.algorithms.auto.solver import Auto
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
    max_queries: int | None = None,
) -> Algorithm:
    """Minimize under a sparsity constraint without any parameter to choose."""
    seeded = isinstance(sampler, Seeds)
    if k is None and constraint is None:
        return AutoPath(seeded=seeded, max_queries=max_queries)
    operator = pick_operator(k, constraint)
    if isinstance(operator, Sparse | SparseBox):
        return Auto(operator=operator, seeded=seeded, max_queries=max_queries)
    return szoht(constraint=operator, sampler=sampler, d=d)
