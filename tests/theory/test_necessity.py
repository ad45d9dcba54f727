import itertools
import math

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.theory import (
    Regularity,
    Setting,
    contraction,
    largest_kappa,
    necessary_q,
    smallest_d,
    smallest_q,
    smallest_q_for,
    sparsity_range,
)


def naive_contraction(d, k, k_star, kappa, q, support_size):  # noqa: PLR0917
    """Theorem 1 written out once more, on its own."""
    s = 2 * k + k_star
    eps = 2 * d / (q * (support_size + 2)) * ((s - 1) * (support_size - 1) / (d - 1) + 3) + 2
    rho2 = 1 - 1 / ((4 * eps + 1) * kappa**2)
    beta = k_star / k
    gamma2 = 1 + (beta + np.sqrt((4 + beta) * beta)) / 2
    return np.sqrt(rho2 * gamma2)


def brute_force_q(d, k_star, kappa, support_size, *, largest_k):
    """Smallest integer q with gamma rho < 1 for some integer k, by bisection on q."""
    k = np.arange(k_star, largest_k + 1, dtype=float)

    def works(q):
        return bool((naive_contraction(d, k, k_star, kappa, q, support_size) < 1).any())

    if not works(10**15):
        return None
    low, high = 0, 1
    while not works(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


GRID = [
    (d, k_star, kappa, support_size)
    for d, k_star, kappa in itertools.product((600, 5000, 20_000), (1, 2, 5), (1.0, 1.3))
    for support_size in (1, 2, 50, d)
]


@pytest.mark.parametrize(("d", "k_star", "kappa", "support_size"), GRID)
def test_smallest_q_equals_brute_force(d, k_star, kappa, support_size):
    case = {"d": d, "k_star": k_star, "kappa": kappa, "support_size": support_size}
    found = smallest_q(**case)
    brute = brute_force_q(d, k_star, kappa, support_size, largest_k=(d - k_star) // 2)
    if brute is None:
        assert found is None
        return
    q, k = found
    assert q == brute
    assert naive_contraction(d, k, k_star, kappa, q, support_size) < 1
    # Remark 4 is necessary
    assert necessary_q(**case) <= q
    assert necessary_q(**case, version="paper") <= q


@pytest.mark.parametrize(("d", "k_star", "kappa", "support_size"), [c for c in GRID if c[3] > 1])
def test_remark_4_equals_brute_force_without_a_limit_on_k(d, k_star, kappa, support_size):
    case = {"d": d, "k_star": k_star, "kappa": kappa, "support_size": support_size}
    brute = brute_force_q(d, k_star, kappa, support_size, largest_k=60_000)
    # at the optimum q is flat in k, so that rounding k to an integer costs next to nothing
    assert brute == math.floor(necessary_q(**case)) + 1
    assert necessary_q(**case) == necessary_q(**case, version="paper")


def test_the_example_of_the_paper_settings():
    case = {"d": 5000, "k_star": 5, "kappa": 1.0, "support_size": 5000}
    assert necessary_q(**case) == pytest.approx(2723.1, abs=0.05)
    assert smallest_q(**case)[0] == 2724
    assert brute_force_q(5000, 5, 1.0, 5000, largest_k=2497) == 2724


def test_single_coordinates_printed_and_corrected():
    case = {"d": 5000, "k_star": 5, "kappa": 1.0, "support_size": 1}
    assert necessary_q(**case, version="paper") == pytest.approx(1226, abs=0.5)
    assert necessary_q(**case) == pytest.approx(1693, abs=0.5)
    # with k <= (d - k_star) / 2 instead of k <= d the truth is larger still
    assert smallest_q(**case) == (2888, 2497)
    # the corrected chain is necessary when k may grow to d, and nearly exact there
    assert 1693 < brute_force_q(5000, 5, 1.0, 1, largest_k=5000) < 1.05 * 1693


def test_single_coordinates_can_be_hopeless():
    case = {"d": 300, "k_star": 5, "kappa": 1.0, "support_size": 1}
    assert math.isinf(necessary_q(**case))
    assert math.isfinite(necessary_q(**case, version="paper"))
    assert smallest_q(**case) is None
    assert brute_force_q(300, 5, 1.0, 1, largest_k=300) is None


@pytest.mark.parametrize("support_size", [1, 30, 5000])
def test_smallest_q_for_balances(support_size):
    case = {"d": 5000, "k_star": 5, "kappa": 1.0, "support_size": support_size}
    k = np.array([5, 200, 400, 1000, 2497])
    needed = smallest_q_for(k=k, **case)
    assert np.isinf(needed[0])
    for kept, q in zip(k[1:].tolist(), needed[1:].tolist(), strict=True):
        if math.isinf(q):
            continue
        args = (5000, kept, 5, 1.0)
        assert naive_contraction(*args, q, support_size) == pytest.approx(1.0, abs=1e-12)
        assert naive_contraction(*args, 1.001 * q, support_size) < 1
        assert smallest_q_for(k=kept, **case) == q
    assert np.isfinite(needed[2:]).all()


@pytest.mark.parametrize("q", [2724, 3000, 10_000, 10**7])
@pytest.mark.parametrize("support_size", [1, 40, 5000])
def test_sparsity_range_is_where_the_theorem_contracts(q, support_size):
    k = np.arange(5, 2498)
    setting = Setting(d=5000, k=k, k_star=5, q=q, support_size=support_size)
    inside = contraction(setting, Regularity()) <= 1
    found = sparsity_range(d=5000, k_star=5, kappa=1.0, q=q, support_size=support_size)
    if found is None:
        assert not inside.any()
        return
    low, high = found
    np.testing.assert_array_equal(inside, (k >= low) & (k <= high))


def test_too_few_directions_leave_no_k():
    assert sparsity_range(d=5000, k_star=5, kappa=1.0, q=2723, support_size=5000) is None
    assert sparsity_range(d=5000, k_star=5, kappa=1.0, q=1, support_size=5000) is None


def test_necessary_q_grows_with_every_difficulty():
    base = {"d": 5000, "k_star": 5, "kappa": 1.0, "support_size": 5000}
    reference = necessary_q(**base)
    assert necessary_q(**{**base, "k_star": 6}) > reference
    assert necessary_q(**{**base, "kappa": 1.1}) > reference
    assert necessary_q(**{**base, "support_size": 10}) > reference
    # full supports: no dependence on the dimension in the limit
    assert necessary_q(**{**base, "d": 10**6, "support_size": 10**6}) == pytest.approx(
        reference, rel=1e-3
    )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"kappa": 0.9}, "kappa"),
        ({"k_star": 0}, "k_star"),
        ({"support_size": 5001}, "support_size"),
    ],
)
def test_bad_input_is_refused(change, name):
    case = {"d": 5000, "k_star": 5, "kappa": 1.0, "support_size": 5000, **change}
    with pytest.raises(ParameterError, match=f"`{name}`"):
        necessary_q(**case)


def test_no_room_for_any_k_is_refused():
    with pytest.raises(ParameterError, match=r"`k_star` must be at most d / 3"):
        smallest_q(d=10, k_star=4, kappa=1.0, support_size=10)


@pytest.mark.parametrize(("k_star", "kappa"), [(1, 1.0), (5, 1.0), (3, 1.3), (2, 1.7)])
def test_the_smallest_dimension_is_that_of_brute_force(k_star, kappa):
    least = int(smallest_d(k_star=k_star, kappa=kappa))
    for d, works in ((least, True), (least + 1, True), (least - 1, False), (least // 2, False)):
        for support_size in (1, d):
            case = {"d": d, "k_star": k_star, "kappa": kappa, "support_size": support_size}
            assert (smallest_q(**case) is not None) is works


@pytest.mark.parametrize(("d", "k_star"), [(727, 5), (5000, 5), (147, 1), (10_000, 3)])
def test_below_the_largest_kappa_some_setting_contracts(d, k_star):
    most = largest_kappa(d=d, k_star=k_star)
    below, above = 1 + 0.999 * (most - 1), 1 + 1.001 * (most - 1)
    assert smallest_q(d=d, k_star=k_star, kappa=below, support_size=d) is not None
    assert smallest_q(d=d, k_star=k_star, kappa=above, support_size=d) is None


def test_where_not_even_kappa_one_contracts():
    assert largest_kappa(d=726, k_star=5) is None
    assert smallest_d(k_star=5, kappa=1.0) == 727
