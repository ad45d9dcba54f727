import itertools
import math

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.theory import (
    direction_factors,
    hybrid_contraction,
    hybrid_decay,
    hybrid_directions,
    hybrid_queries,
    hybrid_sparsity,
    hybrid_start,
    hybrid_step_size,
    two_step_iterations,
    two_step_sparsity,
)


def test_formulas_by_hand():
    assert hybrid_decay(kappa=2.0, alpha=1.5) == 1 - 1 / 24
    assert hybrid_start(kappa=2.0, alpha=1.5, direction_factor=3.0) == 192.0
    assert hybrid_step_size(smoothness=2.0, alpha=1.5) == pytest.approx(1 / 3)
    assert hybrid_sparsity(k_star=3, kappa=2.0, alpha=1.5) == 16 * 9 * 3
    assert two_step_sparsity(k_star=3, kappa=2.0, share=0.25) == 4 * 36 * 3
    # (1.5 * 2 - 1 + 2 * 2 * 3 / (12 * 0.5)) / (3 * (1 - 1/2)) = 4 / 1.5
    factor = hybrid_contraction(kappa=2.0, alpha=1.5, k=12, k_star=3, q=12, direction_factor=3.0)
    assert factor == pytest.approx(4 / 1.5)


def test_the_schedule_grows_geometrically_and_is_summed():
    case = {"kappa": 1.5, "alpha": 2.0, "direction_factor": 20.0}
    directions = [hybrid_directions(t, **case) for t in range(200)]
    growth = directions[199] / directions[0]
    assert growth == pytest.approx(hybrid_decay(kappa=1.5, alpha=2.0) ** -199, rel=0.01)
    assert directions == sorted(directions)
    assert hybrid_queries(200, **case) == sum(directions) + 200
    assert hybrid_queries(0, **case) == 0


@pytest.mark.parametrize("kappa", [1.0, 2.0, 30.0])
@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 10.0])
@pytest.mark.parametrize("k_star", [1, 7])
def test_the_conditions_imply_the_rate(kappa, alpha, k_star):
    """At the stated k and q the distance contracts faster than the schedule decays."""
    k = hybrid_sparsity(k_star=k_star, kappa=kappa, alpha=alpha)
    q = hybrid_directions(0, kappa=kappa, alpha=alpha, direction_factor=50.0)
    case = {"kappa": kappa, "alpha": alpha, "k_star": k_star, "direction_factor": 50.0}
    factor = hybrid_contraction(k=k, q=q, **case)
    assert factor <= 1 - 5 / (8 * alpha * kappa) + 1e-12
    assert factor < hybrid_decay(kappa=kappa, alpha=alpha)
    assert hybrid_contraction(k=k, q=q // 4, **case) > factor
    assert hybrid_contraction(k=k // 2, q=q, **case) > factor


def test_the_one_step_inequality_by_simulation():
    """E[2 (f+ - f*) + ...] of the derivation, on a quadratic with a gradient at x*."""
    d, k, k_star, q, alpha = 60, 16, 1, 40, 2.0
    curvatures = np.linspace(1.0, 2.0, d)
    kappa, smooth = 2.0, 2.0
    rng = np.random.default_rng(13)
    centre = np.full(d, 0.1)
    centre[0] = 3.0
    x_star = np.where(np.arange(d) == 0, centre, 0.0)
    x = np.zeros(d)
    x[1:3] = 1.0

    def value(point):
        return 0.5 * float(curvatures @ (point - centre) ** 2)

    gradient = curvatures * (x - centre)
    n, step = 3000, hybrid_step_size(smoothness=smooth, alpha=alpha)
    left, right = np.empty(n), np.empty(n)
    beta = math.sqrt(k_star / k)
    before = float(((x - x_star) ** 2).sum())
    for i in range(n):
        vectors = rng.standard_normal((q, d))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        estimate = d / q * (vectors @ gradient) @ vectors
        w = x - step * estimate
        new = w.copy()
        new[np.argsort(-np.abs(w))[k:]] = 0.0
        union = (x != 0) | (new != 0) | (x_star != 0)
        variance = float(((estimate - gradient)[union] ** 2).sum())
        left[i] = 2 * (value(new) - value(x_star))
        left[i] += alpha * smooth * (1 - beta) * float(((new - x_star) ** 2).sum())
        right[i] = (alpha * smooth - smooth / kappa) * before
        right[i] += variance / ((alpha - 1) * smooth)
    gap = right - left
    error = gap.std(ddof=1) / math.sqrt(n)
    assert gap.mean() - 4 * error > 0


def test_a_growing_number_of_directions_removes_the_system_error():
    """The noise at x* shrinks with q_t: the gap of the schedule ends far below the fixed one."""
    d, k, k_star, rounds = 200, 64, 1, 60
    rng = np.random.default_rng(14)
    centre = np.full(d, 0.05)
    centre[0] = 2.0
    kappa, alpha = 1.0, 2.0
    factor, _ = direction_factors(d=d, support_size=d, size=2 * k + k_star)
    case = {"kappa": kappa, "alpha": alpha, "direction_factor": factor / 40}
    step = hybrid_step_size(smoothness=1.0, alpha=alpha)

    def run(directions):
        x = np.zeros(d)
        for t in range(rounds):
            vectors = rng.standard_normal((directions(t), d))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            x = x - step * d / len(vectors) * (vectors @ (x - centre)) @ vectors
            x[np.argsort(-np.abs(x))[k:]] = 0.0
        best = np.sort(np.abs(centre))[::-1][:k]
        return 0.5 * float(((x - centre) ** 2).sum() - centre @ centre + best @ best)

    fixed = run(lambda t: hybrid_directions(0, **case))
    growing = run(lambda t: hybrid_directions(t, **case))
    assert 0 <= growing < 0.2 * fixed


def best_sparse_in_box(curvatures, centre, k_star, box):
    """Minimise a separable quadratic over k_star-sparse points of [-box, box]^d, exhaustively."""
    best, point = math.inf, None
    for support in itertools.combinations(range(centre.size), k_star):
        candidate = np.zeros_like(centre)
        kept = list(support)
        candidate[kept] = np.clip(centre[kept], -box, box)
        value = 0.5 * float(curvatures @ (candidate - centre) ** 2)
        if value < best:
            best, point = value, candidate
    return best, point


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_two_step_projection_reaches_its_bound_in_its_iterations(share):
    curvatures = np.linspace(1.0, 1.3, 60)
    centre = np.random.default_rng(15).standard_normal(60) * 0.3
    centre[:2] = (2.0, -1.7)
    k_star, box, accuracy = 2, 1.0, 1e-3
    bound, target = best_sparse_in_box(curvatures, centre, k_star, box)
    kappa = 1.3
    k = two_step_sparsity(k_star=k_star, kappa=kappa, share=share)
    rounds = two_step_iterations(
        smoothness=1.3,
        convexity=1.0,
        distance=float(np.linalg.norm(target)),
        accuracy=accuracy,
        share=share,
    )
    x, values = np.zeros(60), []
    for _ in range(rounds):
        x = x - curvatures * (x - centre) / 1.3
        x[np.argsort(-np.abs(x))[k:]] = 0.0
        x = np.clip(x, -box, box)
        values.append(0.5 * float(curvatures @ (x - centre) ** 2))
    assert min(values) <= (1 + 2 * share) * bound + accuracy
    assert rounds < 20


def test_two_step_iterations_are_never_negative():
    case = {"distance": 1e-9, "accuracy": 1.0, "share": 0.5}
    assert two_step_iterations(smoothness=2.0, convexity=1.0, **case) == 1
    assert two_step_iterations(smoothness=1.0, convexity=1.0, **{**case, "distance": 5.0}) == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: hybrid_decay(kappa=1.0, alpha=1.0), "alpha"),
        (lambda: hybrid_decay(kappa=0.5, alpha=2.0), "kappa"),
        (lambda: hybrid_start(kappa=1.0, alpha=2.0, direction_factor=0.0), "direction_factor"),
        (lambda: two_step_sparsity(k_star=1, kappa=1.0, share=0.6), "share"),
        (lambda: two_step_sparsity(k_star=1, kappa=1.0, share=0.0), "share"),
        (lambda: hybrid_directions(-1, kappa=1.0, alpha=2.0, direction_factor=1.0), "t"),
    ],
)
def test_bad_input_is_refused(call, name):
    with pytest.raises(ParameterError, match=f"`{name}`"):
        call()
