"""`Problem`: an objective with its initial point, constants, best known value and citation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from szoht.core.objective import Objective
from szoht.core.validation import check_integer, check_vector
from szoht.operators import Operator, Sparse
from szoht.types import Indices, Vector

__all__ = ["Problem"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """An objective with its initial point, constants, best known value and citation.

    Parameters
    ----------
    name : str
        A short name.
    objective : Objective
        The function to minimize, with all capabilities that it supports.
    x0 : array of shape (d,)
        The initial point; k-sparse, except where a paper prints another one.
    k : int
        The suggested number of non-zeros, in [1, d].
    constraint : Operator
        The feasible set; `Sparse(k)` by default.
    constants : mapping
        Known numbers by name: ``smoothness`` is the constant L of the gradient and ``convexity``
        the constant of strong convexity on sparse differences; others are explained by the
        function that builds the problem.
    best : float, optional
        The best known value over the constraint.
    best_x : array of shape (d,), optional
        A point of the constraint with that value.
    best_source : str
        Source of the best value, and whether it is proven optimal.
    reference : array of shape (d,), optional
        The point to which the source measures distances, if that is not ``best_x``.
    settings : mapping
        The parameters of SZOHT in the source's experiment, ready for ``options=``.
    citation : str
        Source of the problem.

    Examples
    --------
    >>> import szoht
    >>> from szoht import problems
    >>> problem = problems.quadratic(d=200, k_star=3)
    >>> result = szoht.minimize(
    ...     problem.objective, problem.x0, k=problem.k, method="auto", max_queries=500, rng=0
    ... )
    >>> bool(result.fun < 1e-9 + problem.best)
    True
    """

    name: str
    objective: Objective
    x0: Vector
    k: int
    constraint: Operator = field(default=None)  # type: ignore[assignment]
    constants: Mapping[str, float] = field(default_factory=dict)
    best: float | None = None
    best_x: Vector | None = None
    best_source: str = ""
    reference: Vector | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    citation: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "x0", check_vector("x0", self.x0))
        check_integer("k", self.k, low=1, high=self.dimension, high_name="d")
        for name in ("best_x", "reference"):
            point = getattr(self, name)
            if point is not None:
                put(self, name, check_vector(name, point, size=self.dimension))
        if self.constraint is None:
            put(self, "constraint", Sparse(self.k))
        for name in ("constants", "settings"):
            put(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def dimension(self) -> int:
        """The number of coordinates d."""
        return int(self.x0.size)

    @property
    def best_support(self) -> Indices | None:
        """The coordinates of the best known point that are not 0."""
        return None if self.best_x is None else np.flatnonzero(self.best_x)
