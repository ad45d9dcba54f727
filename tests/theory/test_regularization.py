"""A quadratic term: the constants of matrices, and the shift by brute force over supports."""

import math
from itertools import combinations

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.theory import Regularity, regularized, regularizing_weight, shift_bound


def restricted_constants(matrix, size):
    """Return the extreme eigenvalues over all supports of a size."""
    d = len(matrix)
    values = [np.linalg.eigvalsh(matrix[np.ix_(s, s)]) for s in combinations(range(d), size)]
    return Regularity(smoothness=max(v[-1] for v in values), convexity=min(v[0] for v in values))


def sparse_minimizer(matrix, linear, k):
    """Return the best point with k non-zeros of x'Ax/2 - b'x, over all supports."""
    best, value = None, math.inf
    for support in map(list, combinations(range(len(matrix)), k)):
        block = np.linalg.solve(matrix[np.ix_(support, support)], linear[support])
        if -0.5 * linear[support] @ block < value:
            value = -0.5 * linear[support] @ block
            best = np.zeros(len(matrix))
            best[support] = block
    return best


def hessian(rng, d=7):
    a = rng.standard_normal((9, d))
    return a.T @ a / 9 + 0.05 * np.eye(d)


@pytest.mark.parametrize("weight", [0.0, 0.3, 5.0])
def test_the_constants_of_a_quadratic_on_all_supports(weight):
    matrix = hessian(np.random.default_rng(3))
    found = regularized(restricted_constants(matrix, 4), weight=weight)
    expected = restricted_constants(matrix + weight * np.eye(7), 4)
    assert found.smoothness == pytest.approx(expected.smoothness)
    assert found.convexity == pytest.approx(expected.convexity)


@pytest.mark.parametrize("kappa", [1.5, 3.0, 9.9])
def test_the_weight_gives_the_condition_number_asked_for(kappa):
    objective = Regularity(smoothness=20.0, convexity=2.0)
    weight = regularizing_weight(objective, kappa=kappa)
    assert regularized(objective, weight=weight).kappa == pytest.approx(kappa)


def test_where_no_weight_is_needed_or_none_is_enough():
    objective = Regularity(smoothness=20.0, convexity=2.0)
    assert regularizing_weight(objective, kappa=10.0) == 0.0
    assert regularizing_weight(objective, kappa=1.0) == math.inf
    assert regularizing_weight(Regularity(), kappa=1.0) == 0.0


def test_the_sparse_minimizer_moves_no_further_than_the_bound():
    """Brute force over all supports; the target is an unconstrained minimizer (Remark 2)."""
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(40):
        matrix, target = hessian(rng), np.zeros(7)
        target[rng.permutation(7)[:2]] = rng.choice([-1.0, 1.0], 2) * rng.uniform(0.5, 2, 2)
        objective = restricted_constants(matrix, 4)
        for weight in (0.01, 0.1, 1.0):
            moved = sparse_minimizer(matrix + weight * np.eye(7), matrix @ target, 2)
            bound = shift_bound(objective, weight=weight, norm=float(np.linalg.norm(target)))
            shares.append(np.linalg.norm(moved - target) / bound)
    assert max(shares) <= 1
    assert max(shares) > 0.3  # and it is not idle


@pytest.mark.parametrize(
    "call",
    [
        lambda f: regularized(f, weight=-1.0),
        lambda f: shift_bound(f, weight=-1.0, norm=1.0),
        lambda f: shift_bound(f, weight=1.0, norm=math.nan),
        lambda f: regularizing_weight(f, kappa=0.5),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ParameterError):
        call(Regularity())
