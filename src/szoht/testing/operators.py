"""`check_operator`: the contract of sets and penalties."""

import numpy as np

from szoht.errors import NonFiniteError
from szoht.operators import Operator
from szoht.types import Vector

__all__ = ["check_operator"]

TRIALS = 50
ABSOLUTE = 1e-10


def check_operator(operator: Operator, *, d: int = 12, rng: int = 0) -> None:
    """Raise AssertionError unless ``operator`` is a projection or a proximal map.

    Checked on random points: `prox` does not change its input and is deterministic; its result is
    at least as good as many other candidates, unlike a wrong threshold, a scaled or a chained
    projection; projections are feasible and idempotent; `lmo` is at least as good as every
    feasible candidate; NaN and infinity raise an error. Where ``is_exact`` is False, the result
    must only be as near as zero is, if zero is in the set.

    >>> from szoht.operators import Sparse
    >>> check_operator(Sparse(3))
    """
    generator = np.random.default_rng(rng)
    operator.check(d)
    points = generator.standard_normal((TRIALS, d)) * generator.choice([0.1, 1, 10], (TRIALS, 1))
    is_set = hasattr(operator, "contains") and not hasattr(operator, "value")
    for step in (0.3,) if is_set else (0.3, 2.0):
        projected = [operator.prox(y.copy(), step) for y in points]
        for y in points:
            _check_prox(operator, y, step, points, projected)
    if is_set:
        again = [operator.prox(y.copy(), 2.0) for y in points]
        assert np.array_equal(again, projected), "a projection must not depend on the step"
    if hasattr(operator, "lmo"):
        _check_lmo(operator, points)
    _check_non_finite(operator, d)


def _check_prox(
    operator: Operator, y: Vector, step: float, points: Vector, projected: list[Vector]
) -> None:
    before = y.copy()
    x = operator.prox(y, step)
    assert np.array_equal(y, before), "prox must not change its input"
    assert x is not y, "prox must return a new array"
    assert x.shape == y.shape, "prox must keep the shape"
    assert np.array_equal(x, operator.prox(y, step)), "prox must be deterministic"
    penalty = getattr(operator, "value", lambda _: 0.0)
    contains = getattr(operator, "contains", None)
    if contains is not None:
        assert contains(x), "a projection must be feasible"
        again = operator.prox(x, step)
        assert np.allclose(again, x, rtol=0, atol=ABSOLUTE), "projecting twice must change nothing"

    def cost(z: Vector) -> float:
        return 0.5 * float(((z - y) ** 2).sum()) + step * penalty(z)

    best = cost(x)
    if not getattr(operator, "is_exact", True):
        zero = np.zeros_like(y)
        assert contains is None or not contains(zero) or best <= cost(zero) + ABSOLUTE, (
            "prox is no approximation: zero is nearer"
        )
        return
    # candidates: projections of other points, moves from the answer towards them, and the answer
    # with one coordinate put back
    others = [operator.prox(x + 0.1 * other, step) for other in points]
    restored = [np.where(np.arange(y.size) == i, y, x) for i in range(y.size)]
    for candidate in projected + others + restored:
        if contains is None or contains(candidate):
            assert best <= cost(candidate) + ABSOLUTE * (1 + abs(best)), (
                "prox is not the nearest point: another feasible point is better"
            )


def _check_lmo(operator: Operator, points: Vector) -> None:
    feasible = [operator.prox(point, 1.0) for point in points]
    for gradient in points:
        vertex = operator.lmo(gradient)  # type: ignore[attr-defined]
        assert operator.contains(vertex), "lmo must return a point of the set"  # type: ignore[attr-defined]
        value = float(gradient @ vertex)
        for point in feasible:
            assert value <= float(gradient @ point) + ABSOLUTE * (1 + abs(value)), (
                "lmo is not a minimiser of the inner product over the set"
            )


def _check_non_finite(operator: Operator, d: int) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        y = np.ones(d)
        y[d // 2] = bad
        try:
            operator.prox(y, 1.0)
        except NonFiniteError:
            continue
        raise AssertionError(f"prox must refuse {bad} with NonFiniteError")
