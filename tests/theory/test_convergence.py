import math

import numpy as np
import pytest
from scipy import optimize

from szoht.errors import ParameterError
from szoht.theory import (
    Regularity,
    Setting,
    contraction,
    distance_bound,
    eps_abs,
    eps_f,
    eps_fc,
    error_floor,
    error_second_moment,
    noise_factor,
    radius_factor,
    relaxed_expansivity,
    rho,
    sparsity_threshold,
    step_size,
)
from szoht.theory.convergence import _geometric_sum

UNIT = Regularity()
SENSITIVITY = {"d": 5000, "k": 370, "k_star": 5, "support_size": 5000}


def test_the_dimension_experiment_is_outside_the_theorem():
    setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    assert contraction(setting, UNIT) == pytest.approx(1.0100, abs=5e-5)


def test_the_figure_uses_the_rho_of_the_theorem():
    setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    assert contraction(setting, UNIT) == pytest.approx(0.9612, abs=5e-5)
    assert contraction(setting, UNIT, version="paper") == pytest.approx(0.903, abs=5e-4)


@pytest.mark.parametrize(
    ("q", "step", "factor", "printed_below_one"),
    [
        (1, 0.00017, 1.0597, False),
        (20, 0.00325, 1.0581, False),
        (200, 0.02573, 1.0461, False),
        (500, 0.04774, 1.0342, False),
        (2500, 0.08780, 1.0122, True),
        (5000, 0.09809, 1.0065, True),
    ],
)
def test_the_sensitivity_study_is_outside_the_theorem(q, step, factor, printed_below_one):
    setting = Setting(**SENSITIVITY, q=q)
    assert step_size(setting, UNIT) == pytest.approx(step, abs=5e-6)
    assert contraction(setting, UNIT) == pytest.approx(factor, abs=5e-5)
    assert (contraction(setting, UNIT, version="paper") < 1) is printed_below_one


def test_infinitely_many_directions_would_just_do():
    setting = Setting(**SENSITIVITY, q=10**15)
    assert contraction(setting, UNIT) == pytest.approx(0.9992, abs=5e-5)
    # eps_F -> 2, so 4 eps_F + 1 -> 9
    assert rho(setting, UNIT) ** 2 == pytest.approx(8 / 9)


def test_rho_is_the_minimum_of_the_quadratic_in_the_step():
    setting = Setting(d=300, k=20, k_star=4, q=30, support_size=40)
    regularity = Regularity(smoothness=3.0, convexity=2.0)
    growth = (4 * eps_f(setting) + 1) * 9.0

    def square(step):
        return 1 - 2 * step * 2.0 + growth * step**2

    best = optimize.minimize_scalar(
        square, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}
    )
    assert best.x == pytest.approx(step_size(setting, regularity), rel=1e-5)
    assert best.fun == pytest.approx(rho(setting, regularity) ** 2, rel=1e-10)
    assert rho(setting, regularity, version="paper") ** 2 < best.fun  # no step reaches it


@pytest.mark.parametrize("version", ["corrected", "paper"])
def test_the_threshold_on_k_is_the_condition_on_the_factor(version):
    k = np.arange(5, 2000)
    setting = Setting(d=5000, k=k, k_star=5, q=4000, support_size=5000)
    enough = k >= sparsity_threshold(setting, UNIT, version=version)
    contracts = contraction(setting, UNIT, version=version) <= 1
    assert 0 < enough.sum() < k.size
    np.testing.assert_array_equal(enough, contracts)


def test_constants_a_and_b_transcribed():
    setting = Setting(d=5000, k=370, k_star=5, q=20, support_size=5000)
    regularity = Regularity(smoothness=2.0, convexity=0.5)
    s, k, d = 745, 370, 5000
    on, off = eps_f(setting), eps_fc(setting)
    step = 0.5 / ((4 * on + 1) * 4.0)
    right = step * (math.sqrt((4 * on + 2) * s + 4 * off * (d - k)) + math.sqrt(s))
    printed = step * (math.sqrt(4 * on * s + 2 + off * (d - k)) + math.sqrt(s))
    assert noise_factor(setting, regularity) == pytest.approx(right)
    assert noise_factor(setting, regularity, version="paper") == pytest.approx(printed)
    for version in ("corrected", "paper"):
        absolute = eps_abs(setting, regularity, version=version)
        expected = math.sqrt(s * d) + step * math.sqrt(2 * absolute)
        found = radius_factor(setting, regularity, version=version)
        assert found == pytest.approx(expected)


def test_the_printed_constant_a_is_too_small():
    setting = Setting(**SENSITIVITY, q=20)
    assert noise_factor(setting, UNIT) == pytest.approx(4.21, abs=5e-3)
    assert noise_factor(setting, UNIT, version="paper") == pytest.approx(2.55, abs=5e-3)


def noise_second_moment(setting, n, rng):
    """E|ghat_F - g_F|^2 at x = x* with a gradient of equal entries, |g|_inf = 1, fixed F."""
    d, s = setting.d, setting.union_size
    gradient = np.ones(d)
    squares = np.empty(n)
    for i in range(n):
        vectors = rng.standard_normal((setting.q, d))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        estimate = d / setting.q * (vectors @ gradient) @ vectors[:, :s]
        squares[i] = ((estimate - 1.0) ** 2).sum()
    return squares


def test_what_stands_under_the_root_of_a_bounds_the_noise_at_the_target():
    """The printed root does too: it is unproved rather than wrong."""
    setting = Setting(d=400, k=10, k_star=5, q=3, support_size=400)
    squares = noise_second_moment(setting, 3000, np.random.default_rng(11))
    error = squares.std(ddof=1) / math.sqrt(squares.size)
    s, d, k = 25, 400, 10
    exact = error_second_moment(setting, on=s, off=d - s)
    assert error < 0.03 * exact
    assert abs(squares.mean() - exact) < 4 * error
    printed = 4 * eps_f(setting) * s + 2 + eps_fc(setting) * (d - k)
    right = (4 * eps_f(setting) + 2) * s + 4 * eps_fc(setting) * (d - k)
    assert exact < printed < right


def test_the_printed_rho_is_beaten_by_the_exact_gradient():
    """f = |x|^2 / 2, eps_F = 3: one exact step leaves (12/13)^2 of the squared distance."""
    exact = (1 - 1 / 13) ** 2
    assert 1 - 2 / 13 < exact < 1 - 1 / 13
    setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    left = (1 - step_size(setting, UNIT)) ** 2
    assert rho(setting, UNIT, version="paper") ** 2 < left < rho(setting, UNIT) ** 2


def test_the_floor_and_the_bound():
    setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    gamma = relaxed_expansivity(k=1000, k_star=1)
    factor = contraction(setting, UNIT)
    a, b = noise_factor(setting, UNIT), radius_factor(setting, UNIT)
    expected = gamma * (a * 0.3 + b * 1e-6) / (1 - factor)
    assert error_floor(setting, UNIT, sigma=0.3, mu=1e-6) == pytest.approx(expected)
    bound = distance_bound(setting, UNIT, t=7, distance=2.0, sigma=0.3, mu=1e-6)
    assert bound == pytest.approx(factor**7 * 2.0 + (1 - factor**7) * expected)
    # Remark 2: no system error without gradient noise and radius
    assert error_floor(setting, UNIT, sigma=0.0, mu=0.0) == 0.0


EXPANDING = Setting(d=5000, k=800, k_star=5, q=2014, support_size=5000)
CONTRACTING = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)


@pytest.mark.parametrize("version", ["corrected", "paper"])
@pytest.mark.parametrize("setting", [EXPANDING, CONTRACTING])
@pytest.mark.parametrize(("sigma", "mu"), [(0.0, 0.0), (0.3, 0.0), (0.0, 1e-6), (0.3, 1e-6)])
def test_the_bound_is_the_recursion_of_the_proof(setting, sigma, mu, version):
    gamma = relaxed_expansivity(k=setting.k, k_star=setting.k_star)
    factor = contraction(setting, UNIT, version=version)
    a = noise_factor(setting, UNIT, version=version)
    b = radius_factor(setting, UNIT, version=version)
    expected = 2.0
    for t in range(200):
        bound = distance_bound(
            setting, UNIT, t=t, distance=2.0, sigma=sigma, mu=mu, version=version
        )
        assert bound == pytest.approx(expected, rel=1e-10)
        expected = factor * expected + gamma * a * sigma + gamma * b * mu


def test_the_bound_of_no_noise_is_a_power_even_where_the_factor_exceeds_one():
    factor = contraction(EXPANDING, UNIT)
    assert factor > 1
    bound = distance_bound(EXPANDING, UNIT, t=30, distance=2.0, sigma=0.0, mu=0.0)
    assert bound == pytest.approx(2.0 * factor**30)


@pytest.mark.parametrize(
    ("setting", "distance", "sigma", "limit"),
    [
        (EXPANDING, 2.0, 0.0, math.inf),
        (EXPANDING, 0.0, 0.3, math.inf),
        (EXPANDING, 0.0, 0.0, 0.0),
        (CONTRACTING, 2.0, 0.3, error_floor(CONTRACTING, UNIT, sigma=0.3, mu=0.0)),
    ],
)
@pytest.mark.parametrize("t", [math.inf, 10**9])
def test_the_limit_of_the_bound(setting, distance, sigma, limit, t):
    bound = distance_bound(setting, UNIT, t=t, distance=distance, sigma=sigma, mu=0.0)
    assert bound == pytest.approx(limit)


def test_the_sum_does_not_cancel_at_a_factor_of_one():
    factor = np.array([1 - 1e-15, 1.0, 1 + 1e-15])
    assert np.allclose(_geometric_sum(factor, 1000), 1000, rtol=1e-9)


def test_the_floor_is_infinite_where_the_theorem_does_not_contract():
    q = np.array([2014, 10**9])
    setting = Setting(d=5000, k=800, k_star=5, q=q, support_size=5000)
    floors = error_floor(setting, UNIT, sigma=1.0, mu=0.0)
    assert math.isinf(floors[0])
    assert math.isfinite(floors[1])


def test_higher_k_first_helps_and_then_hurts():
    """The conflict of section 4: less expansion, worse estimate."""
    k = np.arange(1, 3000)
    factors = contraction(Setting(d=30000, k=k, k_star=1, q=5000, support_size=30000), UNIT)
    best = int(np.argmin(factors))
    assert 0 < best < k.size - 1
    assert (np.diff(factors[: best + 1]) < 0).all()
    assert (np.diff(factors[best:]) > 0).all()


def test_the_bound_holds_for_a_run_inside_the_theorem():
    """f = |x - y|^2 / 2 with y outside the sparse ball, so that sigma > 0."""
    d, k, k_star, q, runs, rounds = 700, 320, 1, 1300, 4, 12
    setting = Setting(d=d, k=k, k_star=k_star, q=q, support_size=d)
    assert contraction(setting, UNIT) < 1
    rng = np.random.default_rng(12)
    y = np.full(d, 1e-3)
    y[0] = 1.0
    x_star = np.where(np.arange(d) == 0, y, 0.0)
    mu, step = 1e-6, step_size(setting, UNIT)
    distances = np.zeros((runs, rounds + 1))
    for run in range(runs):
        x = np.zeros(d)
        distances[run, 0] = np.linalg.norm(x - x_star)
        for t in range(rounds):
            vectors = rng.standard_normal((q, d))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            quotients = vectors @ (x - y) + mu / 2
            x = x - step * d / q * quotients @ vectors
            x[np.argsort(-np.abs(x))[k:]] = 0.0
            distances[run, t + 1] = np.linalg.norm(x - x_star)
    for t in range(rounds + 1):
        bound = distance_bound(setting, UNIT, t=t, distance=1.0, sigma=1e-3, mu=mu)
        assert distances[:, t].mean() <= bound
    assert distances[:, -1].mean() < 0.5  # and it did converge


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"t": -1}, "t"),
        ({"distance": -1.0}, "distance"),
        ({"sigma": -1.0}, "sigma"),
        ({"mu": -1.0}, "mu"),
    ],
)
def test_negative_arguments_are_refused(change, name):
    setting = Setting(**SENSITIVITY, q=20)
    arguments = {"t": 1, "distance": 1.0, "sigma": 0.0, "mu": 0.0, **change}
    with pytest.raises(ParameterError, match=f"`{name}`"):
        distance_bound(setting, UNIT, **arguments)
