import itertools

import numpy as np
import pytest
from scipy import optimize

from szoht.errors import ParameterError
from szoht.theory import expansivity, relaxed_expansivity, three_point_factor


def keep_largest(vector, k):
    kept = np.zeros_like(vector)
    order = np.argsort(-np.abs(vector), kind="stable")[:k]
    kept[order] = vector[order]
    return kept


def worst_pair(d, k, k_star, height):
    """Entries of b are 1 where a is lost and where a is zero; a has `height` where it is lost."""
    lost = min(k_star, d - k)
    a, b = np.zeros(d), np.zeros(d)
    free = k - (k_star - lost)
    b[:free] = 1.0  # kept, ties go to the lowest index
    a[free : free + lost], b[free : free + lost] = height, 1.0
    rest = slice(free + lost, free + k_star)
    a[rest] = b[rest] = 100.0
    return a, b


def ratio(a, b, k):
    return np.linalg.norm(keep_largest(b, k) - a) / np.linalg.norm(b - a)


@pytest.mark.parametrize(("d", "k", "k_star"), [(20, 5, 5), (20, 8, 3), (9, 7, 4), (6, 5, 2)])
def test_lemma_b4_is_attained(d, k, k_star):
    best = optimize.minimize_scalar(
        lambda height: -ratio(*worst_pair(d, k, k_star, height), k),
        bounds=(1.0, 20.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert -best.fun == pytest.approx(expansivity(d=d, k=k, k_star=k_star), rel=1e-9)


@pytest.mark.parametrize(("d", "k", "k_star"), [(6, 2, 1), (6, 5, 3), (8, 4, 4), (12, 7, 3)])
def test_lemma_b4_is_never_exceeded(d, k, k_star):
    rng = np.random.default_rng(9)
    bound = expansivity(d=d, k=k, k_star=k_star)
    worst = 0.0
    for _ in range(3000):
        a, b = np.zeros(d), rng.standard_normal(d)
        a[rng.permutation(d)[:k_star]] = rng.standard_normal(k_star)
        b = np.where(rng.random(d) < 0.5, np.sign(b), b) + a * rng.integers(2)
        worst = max(worst, ratio(a, b, k))
    assert worst <= bound * (1 + 1e-12)
    assert worst > 1  # thresholding did expand


def test_corollary_b1_relaxes_lemma_b4():
    for d, k_star in itertools.product((5, 12, 40), (1, 2, 4)):
        for k in range(k_star, d + 1):
            tight, relaxed = (
                expansivity(d=d, k=k, k_star=k_star),
                relaxed_expansivity(k=k, k_star=k_star),
            )
            if k_star <= d - k:
                assert tight == pytest.approx(relaxed, rel=1e-14)
            else:
                assert tight <= relaxed


def test_values_by_hand():
    golden = (1 + 5**0.5) / 2
    assert relaxed_expansivity(k=3, k_star=3) == pytest.approx(golden)
    # beta = 1/2: gamma^2 = 1 + (1/2 + sqrt(9/4))/2 = 2
    assert relaxed_expansivity(k=6, k_star=3) == pytest.approx(2**0.5)
    assert relaxed_expansivity(k=10**12, k_star=1) == pytest.approx(1.0, abs=1e-5)
    assert expansivity(d=7, k=7, k_star=7) == 1.0


def test_it_is_swept_over_k_and_decreases():
    k = np.arange(3, 30)
    swept = relaxed_expansivity(k=k, k_star=3)
    assert (np.diff(swept) < 0).all()
    assert swept[3] == relaxed_expansivity(k=6, k_star=3)
    assert expansivity(d=40, k=k, k_star=3)[3] == expansivity(d=40, k=6, k_star=3)


@pytest.mark.parametrize(("d", "k", "k_star"), [(9, 4, 1), (9, 4, 3), (15, 4, 4), (7, 6, 2)])
def test_three_point_inequality(d, k, k_star):
    rng = np.random.default_rng(10)
    factor = three_point_factor(k=k, k_star=k_star)
    tightest = np.inf
    for _ in range(4000):
        target, w = np.zeros(d), rng.standard_normal(d)
        target[rng.permutation(d)[:k_star]] = 3 * rng.standard_normal(k_star)
        w = np.where(rng.random(d) < 0.7, np.sign(w), w)
        kept = keep_largest(w, k)
        loss = ((kept - w) ** 2).sum()
        slack = ((w - target) ** 2).sum() - factor * ((kept - target) ** 2).sum() - loss
        tightest = min(tightest, slack)
    assert tightest >= -1e-12


@pytest.mark.parametrize(("k", "k_star"), [(4, 1), (9, 4), (5, 5)])
def test_three_point_factor_is_attained(k, k_star):
    """All of w is 1 and the target, of height sqrt(k / k_star), is lost."""
    w, target = np.ones(k + k_star), np.zeros(k + k_star)
    target[k:] = np.sqrt(k / k_star)
    kept = keep_largest(w, k)
    gain = ((w - target) ** 2).sum() - ((kept - w) ** 2).sum()
    factor = three_point_factor(k=k, k_star=k_star)
    assert gain / ((kept - target) ** 2).sum() == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize("k", [0, 2, 11])
def test_bad_k_is_refused(k):
    with pytest.raises(ParameterError, match=r"`k` must be an integer in \[3, d\]"):
        expansivity(d=10, k=k, k_star=3)
