import math

import numpy as np
import pytest

from szoht.theory import (
    Constants,
    Regularity,
    Setting,
    batched,
    bias_bound,
    eps_abs,
    eps_f,
    eps_fc,
    eps_mu,
    error_bound,
    error_second_moment,
    one_direction,
    second_moment,
    second_moment_bound,
)

D, SIZE = 30, 6


def directions(n, support_size, rng, d=D):
    raw = rng.standard_normal((n, support_size))
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    if support_size == d:
        return raw
    vectors = np.zeros((n, d))
    supports = rng.random((n, d)).argsort(axis=1)[:, :support_size]
    np.put_along_axis(vectors, supports, raw, axis=1)
    return vectors


def exponential(points):
    """Return sum(exp(-x)), smooth with L = 1 wherever x >= 0."""
    return np.exp(-points).sum(axis=-1)


def standard_error(sample):
    return sample.std(ddof=1, axis=0) / math.sqrt(sample.shape[0])


def test_proposition_1_constants_by_hand():
    """d=11, s=3, s2=6, q=4: the bracket is 2*5/10 + 3 = 4, and 2*11/(4*8) = 11/16."""
    setting = Setting(d=11, k=1, k_star=1, q=4, support_size=6)
    regularity = Regularity(smoothness=2.0, convexity=1.0)
    assert eps_f(setting) == pytest.approx(11 / 16 * 4 + 2)
    assert eps_fc(setting) == pytest.approx(11 / 16 * 1.5)
    assert eps_mu(setting, regularity) == 4 * 3 * 11
    assert eps_abs(setting, regularity) == pytest.approx(2 * 4 * 3 * 11 * 1.25)
    case = {"on": 2.0, "off": 3.0, "mu": 0.1}
    moment = eps_f(setting) * 2 + eps_fc(setting) * 3 + eps_abs(setting, regularity) * 0.01
    assert second_moment_bound(setting, regularity, **case) == pytest.approx(moment)
    assert error_bound(setting, regularity, **case) == pytest.approx(2 * moment + 2 * 2)
    assert bias_bound(setting, regularity, mu=0.1) == pytest.approx(1.32)
    printed = 2 * 11 * 4 * 3 * 6 / 4 * 2 + 4 * 3 * 11
    assert eps_abs(setting, regularity, version="paper") == pytest.approx(printed)


def test_lemma_c2_and_c3_compose_to_proposition_1():
    setting = Setting(d=50, k=3, k_star=2, q=7, support_size=10)
    regularity = Regularity(smoothness=3.0)
    one = one_direction(setting, regularity)
    whole = batched(one, eps_mu=eps_mu(setting, regularity), q=setting.q)
    assert whole.eps_f == eps_f(setting)
    assert whole.eps_fc == eps_fc(setting)
    assert whole.eps_abs == eps_abs(setting, regularity)
    assert batched(Constants(eps_f=6.0, eps_fc=2.0, eps_abs=1.0), eps_mu=5.0, q=2) == Constants(
        eps_f=5.0, eps_fc=1.0, eps_abs=10.5
    )


def test_the_printed_eps_abs_is_200_times_too_large_at_full_support():
    setting = Setting(d=50, k=3, k_star=2, q=1, support_size=50)
    regularity = Regularity()
    assert eps_abs(setting, regularity) == 1600.0
    assert eps_abs(setting, regularity, version="paper") == 320_400.0
    one = one_direction(setting, regularity, version="paper")
    # Lemma C.3 would add eps_mu twice
    assert batched(one, eps_mu=400.0, q=1).eps_abs == 320_800.0


def test_the_printed_and_corrected_constants_agree_for_single_coordinates():
    setting = Setting(d=50, k=3, k_star=2, q=1, support_size=1)
    one = one_direction(setting, Regularity(), version="paper")
    assert one.eps_abs == one_direction(setting, Regularity()).eps_abs == 2 * 8 * 50


@pytest.mark.parametrize("support_size", [1, 10, D])
@pytest.mark.parametrize("q", [1, 5])
@pytest.mark.parametrize("version", ["corrected", "paper"])
@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_proposition_1_bounds_a_function_that_is_not_quadratic(support_size, q, version, mu):
    """(a), (b) and (c) with a standard error; the point keeps every query where L = 1."""
    rng = np.random.default_rng(7)
    x = np.linspace(1.0, 2.5, D)
    gradient = -np.exp(-x)
    on, off = float((gradient[:SIZE] ** 2).sum()), float((gradient[SIZE:] ** 2).sum())
    vectors = directions(20_000 * q, support_size, rng)
    quotients = (exponential(x + mu * vectors) - exponential(x)) / mu
    sample = (D * quotients[:, None] * vectors).reshape(-1, q, D).mean(axis=1)[:, :SIZE]

    setting = Setting(d=D, k=2, k_star=2, q=q, support_size=support_size)
    regularity = Regularity()
    case = {"on": on, "off": off, "mu": mu, "version": version}
    squares = (sample**2).sum(axis=1)
    assert squares.mean() + 4 * standard_error(squares) < second_moment_bound(
        setting, regularity, **case
    )
    errors = ((sample - gradient[:SIZE]) ** 2).sum(axis=1)
    assert errors.mean() + 4 * standard_error(errors) < error_bound(setting, regularity, **case)
    if mu < 1:
        return  # the bias is then far below the noise of any simulation
    bias = sample.mean(axis=0) - gradient[:SIZE]
    error = np.linalg.norm(standard_error(sample))
    assert (np.linalg.norm(bias) + 4 * error) ** 2 < bias_bound(setting, regularity, mu=mu)


@pytest.mark.parametrize("support_size", [1, 7, D])
@pytest.mark.parametrize("q", [1, 3, 1000])
def test_the_bounds_exceed_the_exact_moments(support_size, q):
    setting = Setting(d=D, k=3, k_star=2, q=q, support_size=support_size)
    regularity = Regularity(smoothness=2.0)
    for on, off in ((1.0, 0.0), (0.0, 1.0), (1.0, 30.0)):
        for mu in (0.0, 0.1, 10.0):
            exact = {"on": on, "off": off, "curvature": 2.0, "mu": mu}
            case = {"on": on, "off": off, "mu": mu}
            moment = second_moment(setting, **exact)
            assert moment <= second_moment_bound(setting, regularity, **case)
            error = error_second_moment(setting, **exact)
            assert error <= error_bound(setting, regularity, **case)


def test_the_bound_b_is_twice_the_exact_moment_for_one_direction():
    setting = Setting(d=D, k=3, k_star=2, q=1, support_size=10)
    one = one_direction(setting, Regularity())
    exact = second_moment(setting, on=1.0, off=2.0)
    assert one.eps_f * 1.0 + one.eps_fc * 2.0 == pytest.approx(2 * exact)


def test_more_directions_help_and_more_coordinates_hurt():
    q = np.array([1, 10, 100, 1000])
    assert (np.diff(eps_f(Setting(d=D, k=2, k_star=1, q=q, support_size=D))) < 0).all()
    k = np.arange(2, 14)
    assert (np.diff(eps_f(Setting(d=D, k=k, k_star=1, q=3, support_size=D))) > 0).all()
    limit = eps_f(Setting(d=D, k=2, k_star=1, q=10**12, support_size=D))
    assert limit == pytest.approx(2.0)


def selected_energy(*, d, k, k_star, q, n, rng):
    """E|ghat_F|^2 with F = top k of the estimate, with supp(x*): x_t = 0, full supports."""
    target = np.arange(1, k_star + 1) / k_star
    energy = np.empty(n)
    for i in range(n):
        vectors = rng.standard_normal((q, d), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        estimate = d / q * (vectors[:, :k_star] @ target) @ vectors
        chosen = np.union1d(np.argpartition(-np.abs(estimate), k)[:k], np.arange(k_star))
        energy[i] = (estimate[chosen] ** 2).sum()
    return energy, float(target @ target)


def test_the_bound_fails_on_a_support_chosen_from_the_estimate():
    """The support of Theorem 1's proof depends on the directions, which Proposition 1 forbids."""
    d, k, k_star, q = 20_000, 10, 2, 48
    rng = np.random.default_rng(8)
    energy, on = selected_energy(d=d, k=k, k_star=k_star, q=q, n=150, rng=rng)
    setting = Setting(d=d, k=k, k_star=k_star, q=q, support_size=d)
    bound = second_moment_bound(setting, Regularity(), on=on, off=0.0, mu=0.0)
    assert bound == pytest.approx(3.75, abs=0.001)
    error = standard_error(energy)
    assert error < 0.1
    assert energy.mean() - 4 * error > bound  # it fails, beyond any doubt
    assert energy.mean() == pytest.approx(4.55, abs=4 * error)  # 1500 runs: 4.55 +- 0.03
    fixed = second_moment(setting, on=on, off=0.0, size=k + k_star)
    # the selection of the k largest of d noise entries adds about 2 k log(d/k) / q
    added = (energy.mean() - fixed) / on
    assert 0.4 < added / (2 * k * math.log(d / k) / q) < 1.0
