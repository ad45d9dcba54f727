import itertools
import math

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.theory import (
    Regularity,
    Setting,
    contraction,
    corollary_contraction,
    corollary_iterations,
    eps_f,
    iterations_to,
    queries_to,
    query_complexity,
    sparsity_threshold,
    sufficient_k,
    sufficient_q,
    sufficient_q_smooth,
    unit_excess_q,
)

SIZES = [
    (d, k, k_star, support_size)
    for d, k, k_star in itertools.product((300, 5000), (10, 100), (1, 7))
    for support_size in (1, 2, 50, d)
]


@pytest.mark.parametrize(("d", "k", "k_star", "support_size"), SIZES)
def test_corollary_1_gives_eps_f_of_at_most_3(d, k, k_star, support_size):
    q = sufficient_q(d=d, k=k, k_star=k_star, support_size=support_size)
    assert eps_f(Setting(d=d, k=k, k_star=k_star, q=q, support_size=support_size)) <= 3
    exact = unit_excess_q(d=d, size=2 * k + k_star, support_size=support_size)
    assert exact <= q
    below = Setting(d=d, k=k, k_star=k_star, q=math.ceil(exact) - 1, support_size=support_size)
    assert eps_f(below) > 3


def test_unit_excess_q_makes_eps_f_equal_to_3():
    # 2*11/8 (2*5/10 + 3) = 11
    assert unit_excess_q(d=11, size=3, support_size=6) == 11
    assert eps_f(Setting(d=11, k=1, k_star=1, q=11, support_size=6)) == 3


def test_corollary_2_does_not_see_the_dimension():
    assert sufficient_q_smooth(k=500, k_star=5) == 2014
    for d in (1100, 5000, 10**6):
        setting = Setting(d=d, k=500, k_star=5, q=2014, support_size=d)
        assert 2.98 < eps_f(setting) <= 3


def test_the_numbers_of_directions_in_the_dimension_experiment():
    for d, expected in ((5000, 2610), (10_000, 3210), (50_000, 8010)):
        assert sufficient_q(d=d, k=500, k_star=5, support_size=50) == expected
        assert sufficient_q(d=d, k=500, k_star=5, support_size=d // 500) == 5010


@pytest.mark.parametrize("kappa", [1.0, 1.2, 2.0])
@pytest.mark.parametrize("k_star", [1, 5])
def test_corrected_k_contracts_at_least_as_fast_as_the_corollary_says(kappa, k_star):
    k = sufficient_k(k_star=k_star, kappa=kappa)
    d = 4 * k
    for support_size in (100, d):
        q = sufficient_q(d=d, k=k, k_star=k_star, support_size=support_size)
        setting = Setting(d=d, k=k, k_star=k_star, q=q, support_size=support_size)
        factor = contraction(setting, Regularity.from_kappa(kappa))
        assert factor <= corollary_contraction(kappa=kappa) < 1
        assert 1 / math.log(1 / corollary_contraction(kappa=kappa)) <= 104 * kappa**2


def test_printed_k_does_not_contract():
    k = sufficient_k(k_star=5, kappa=1.0, version="paper")
    assert k == 370
    setting = Setting(
        d=5000, k=k, k_star=5, q=sufficient_q_smooth(k=k, k_star=5), support_size=5000
    )
    assert contraction(setting, Regularity()) > 1
    assert contraction(setting, Regularity(), version="paper") <= corollary_contraction(
        kappa=1.0, version="paper"
    )


def test_k_by_hand():
    assert sufficient_k(k_star=1, kappa=1.0) == 312
    assert sufficient_k(k_star=1, kappa=1.0, version="paper") == 74
    assert sufficient_k(k_star=1, kappa=2.0) == 338 * 16 - 26 * 4
    assert sufficient_k(k_star=1, kappa=2.0, version="paper") == 86 * 16 - 12 * 4
    # margin of 1, eps_F = 3: 13 * 12 = 156
    setting = Setting(d=11, k=1, k_star=1, q=11, support_size=6)
    assert sparsity_threshold(setting, Regularity()) == pytest.approx(156)


def test_the_corollary_threshold_is_sharp():
    """With eps_F = 3 exactly, k = 156 k* gives a factor of 1 and 155 k* more than 1."""
    rho2 = 12 / 13
    for ratio, sign in ((155, 1), (156, 0), (157, -1)):
        beta = 1 / ratio
        gamma2 = 1 + (beta + math.sqrt((4 + beta) * beta)) / 2
        assert np.sign(round(rho2 * gamma2 - 1, 12)) == sign


def test_iterations_reach_the_accuracy_and_not_before():
    k = np.array([300, 1000, 3000])
    setting = Setting(d=30000, k=k, k_star=1, q=30000, support_size=30000)
    factor = contraction(setting, Regularity())
    assert (factor < 1).all()
    t = iterations_to(setting, Regularity(), distance=2.0, accuracy=1e-3)
    assert (factor**t * 2.0 <= 1e-3).all()
    assert (factor ** (t - 1) * 2.0 > 1e-3).all()
    queries = queries_to(setting, Regularity(), distance=2.0, accuracy=1e-3)
    np.testing.assert_array_equal(queries, t * 30001)
    printed = queries_to(setting, Regularity(), distance=2.0, accuracy=1e-3, version="paper")
    printed_t = iterations_to(setting, Regularity(), distance=2.0, accuracy=1e-3, version="paper")
    np.testing.assert_array_equal(printed, printed_t * 30000)


def test_iterations_outside_the_theorem_and_at_the_target():
    setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    assert math.isinf(iterations_to(setting, Regularity(), distance=1.0, accuracy=0.1))
    assert math.isinf(queries_to(setting, Regularity(), distance=1.0, accuracy=0.1))
    assert iterations_to(setting, Regularity(), distance=0.1, accuracy=0.1) == 0


def test_the_product_of_logarithms_is_nonsense():
    """The printed count says that no iteration is needed from a distance of 1."""
    setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    case = {"distance": 1.0, "accuracy": 1e-3}
    assert iterations_to(setting, Regularity(), **case, version="paper") == 0
    assert iterations_to(setting, Regularity(), **case) > 100
    assert corollary_iterations(kappa=1.0, **case, version="paper") == 0


def test_corollary_iterations_by_hand():
    case = {"kappa": 2.0, "distance": math.e, "accuracy": math.exp(-3)}
    assert corollary_iterations(**case) == math.ceil(104 * 4 * 4 - 1e-9)
    assert corollary_iterations(**case, version="paper") == math.ceil(52 * 4 * 3 - 1e-9)


def test_query_complexity_is_iterations_times_queries():
    case = {"d": 5000, "k": 1560, "k_star": 5, "kappa": 1.0, "distance": 1.0, "accuracy": 0.1}
    t = corollary_iterations(kappa=1.0, distance=1.0, accuracy=0.1)
    assert query_complexity(**case, support_size=5000) == t * (2 * 3127 + 1)
    assert query_complexity(**case, support_size=50) == t * (2 * 3125 + 600 + 1)
    far = {**case, "distance": math.e**2, "support_size": 5000, "version": "paper"}
    printed = corollary_iterations(kappa=1.0, distance=math.e**2, accuracy=0.1, version="paper")
    assert printed > 0
    assert query_complexity(**far) == printed * 2 * 3127


def test_the_complexity_covers_the_theorem():
    """The corollary's count is at least that of Theorem 1 for the same setting."""
    k, d = 1560, 5000
    q = sufficient_q_smooth(k=k, k_star=5)
    setting = Setting(d=d, k=k, k_star=5, q=q, support_size=d)
    for accuracy in (0.5, 1e-3, 1e-9):
        exact = queries_to(setting, Regularity(), distance=1.0, accuracy=accuracy)
        whole = query_complexity(
            d=d, k=k, k_star=5, kappa=1.0, support_size=d, distance=1.0, accuracy=accuracy
        )
        assert 0.5 * whole < exact <= whole


def test_too_small_k_is_refused_with_the_rule():
    with pytest.raises(ParameterError, match="`k` must be at least 1560 for the corollaries"):
        query_complexity(
            d=5000, k=370, k_star=5, kappa=1.0, support_size=5000, distance=1.0, accuracy=0.1
        )


@pytest.mark.parametrize("name", ["distance", "accuracy"])
def test_targets_must_be_positive(name):
    case = {"kappa": 1.0, "distance": 1.0, "accuracy": 0.1, name: 0.0}
    with pytest.raises(ParameterError, match=f"`{name}` must be a finite number > 0"):
        corollary_iterations(**case)
