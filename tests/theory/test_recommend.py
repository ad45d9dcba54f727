import warnings

import numpy as np
import pytest
from scipy import optimize

from outcomes import most_seeds
from szoht import minimize, szoht
from szoht.errors import ParameterError
from szoht.theory import (
    Regularity,
    Setting,
    TheoryWarning,
    contraction,
    direction_factors,
    error_floor,
    queries_to,
    recommend,
    second_moment,
    step_size,
    sufficient_k,
    sufficient_q_smooth,
)

NAMES = {"k", "q", "mu", "step_size", "support_size"}


def szoht_run(gradient, x0, *, budget, rng, k, q, mu, step_size, support_size):
    """Run a bare SZOHT on a quadratic given by its gradient, curvature neglected as mu -> 0."""
    x, d, spent = x0.copy(), x0.size, 0
    assert support_size == d
    assert mu > 0
    while spent + q + 1 <= budget:
        vectors = rng.standard_normal((q, d))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        x = x - step_size * d / q * (vectors @ gradient(x)) @ vectors
        x[np.argsort(-np.abs(x))[k:]] = 0.0
        spent += q + 1
    return x


def test_inside_the_theorem_every_condition_holds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = recommend(d=5000, k_star=5, kappa=1.0, budget=10**6)
    assert found.regime == "theorem"
    assert set(found.parameters) == NAMES
    assert len(found.conditions) == 6
    assert all(condition.holds for condition in found.conditions)
    p = found.parameters
    setting = Setting(d=5000, k=p["k"], k_star=5, q=p["q"], support_size=5000)
    assert contraction(setting, Regularity()) < 1
    assert p["step_size"] == step_size(setting, Regularity())
    floor = error_floor(setting, Regularity(), sigma=0.0, mu=p["mu"])
    assert floor == pytest.approx(0.005)


def test_it_is_cheaper_than_the_corollary():
    found = recommend(d=5000, k_star=5).parameters
    k = sufficient_k(k_star=5, kappa=1.0)
    corollary = Setting(
        d=5000, k=k, k_star=5, q=sufficient_q_smooth(k=k, k_star=5), support_size=5000
    )
    chosen = Setting(d=5000, k=found["k"], k_star=5, q=found["q"], support_size=5000)
    target = {"distance": 1.0, "accuracy": 1e-6}
    cheap = queries_to(chosen, Regularity(), **target)
    assert cheap < queries_to(corollary, Regularity(), **target)
    for factor in (0.8, 1.25):  # and a local minimum
        for k_try, q_try in ((factor * found["k"], found["q"]), (found["k"], factor * found["q"])):
            other = Setting(d=5000, k=int(k_try), k_star=5, q=int(q_try), support_size=5000)
            assert cheap <= 1.001 * queries_to(other, Regularity(), **target)


def test_small_budget_is_said_and_answered():
    with pytest.warns(TheoryWarning, match=r"queries to halve its bound, the budget is 10000"):
        found = recommend(d=5000, k_star=5, budget=10_000)
    assert found.regime == "practical"
    assert found.parameters["k"] == 5
    assert [condition.holds for condition in found.conditions] == [True, *[False] * 4]
    assert [condition.statement for condition in found.conditions][3] == "Remark 4"
    assert found.conditions[2].requirement == "gamma rho < 1"


def test_the_practical_step_is_just_below_the_best_for_a_round_quadratic():
    with pytest.warns(TheoryWarning):
        p = recommend(d=1000, k_star=10, smoothness=2.0).parameters
    setting = Setting(d=1000, k=10, k_star=10, q=p["q"], support_size=1000)

    def square(step):
        """Mean squared distance after a step of f = |x|^2 from distance 1, F fixed."""
        return 1 - 4 * step + step**2 * second_moment(setting, on=4.0, off=0.0)

    best = optimize.minimize_scalar(square, bounds=(0, 1), method="bounded")
    assert 0.99 * best.x < p["step_size"] < best.x
    assert square(p["step_size"]) < 0.11
    # the noise of the curvature is one per cent of that of the direction at the accuracy
    mu = p["mu"]
    noise = second_moment(setting, on=4e-4, off=0.0, curvature=2.0, mu=mu) - second_moment(
        setting, on=4e-4, off=0.0
    )
    factor, _ = direction_factors(d=1000, support_size=1000, size=30)
    assert noise == pytest.approx(0.01 * factor * 4e-4 / p["q"])


def test_no_room_for_k_is_said_and_answered():
    with pytest.warns(TheoryWarning, match=r"no k <= \(d - k_star\) / 2 contracts"):
        found = recommend(d=1000, k_star=10)
    assert found.regime == "practical"
    assert found.parameters["q"] == 277  # 4 * 10 * log(1000), rounded up


def test_the_budget_pays_for_25_iterations():
    with pytest.warns(TheoryWarning):
        found = recommend(d=1000, k_star=10, budget=1000)
    assert 25 * (found.parameters["q"] + 1) == 1000


@pytest.mark.parametrize("d", [5000, 200])
@most_seeds
def test_the_parameters_run(seed, d):
    """The first is a theorem's setting, whose two iterations move; the second is practical."""
    y = np.zeros(d)
    y[[0, d // 2]] = (1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TheoryWarning)
        found = recommend(d=d, k_star=2)
    assert found.regime == ("theorem" if d == 5000 else "practical")
    result = minimize(
        lambda x: 0.5 * float(((x - y) ** 2).sum()),
        np.zeros(d),
        method=szoht(**found.parameters),
        max_queries=2 * (found.parameters["q"] + 1),
        rng=seed,
    )
    assert result.nit == 2
    assert result.fun < 0.9


@pytest.mark.parametrize(("d", "k_star"), [(1, 1), (2, 1), (4, 4), (5, 2)])
def test_tiny_problems(d, k_star):
    with pytest.warns(TheoryWarning):
        found = recommend(d=d, k_star=k_star, budget=2)
    assert found.parameters["k"] == k_star
    assert found.parameters["q"] == 1
    assert found.parameters["support_size"] == d
    assert found.conditions[0].holds is (3 * k_star <= d)


def test_supports_are_capped_in_huge_dimensions():
    found = recommend(d=10**6, k_star=2)
    assert found.parameters["support_size"] == 100_000
    assert found.regime == "theorem"
    assert recommend(d=10**5, k_star=2, support_size=10).parameters["support_size"] == 10


def test_the_step_scales_with_the_smoothness():
    with pytest.warns(TheoryWarning):
        one = recommend(d=500, k_star=5)
    with pytest.warns(TheoryWarning):
        ten = recommend(d=500, k_star=5, smoothness=10.0)
    assert ten.parameters["step_size"] == pytest.approx(one.parameters["step_size"] / 10)
    assert recommend(d=5000, k_star=5, smoothness=10.0).parameters["step_size"] == pytest.approx(
        recommend(d=5000, k_star=5).parameters["step_size"] / 10
    )


@pytest.mark.parametrize("kappa", [1.0, 4.0])
def test_the_practical_setting_converges(kappa):
    d, k_star, budget = 500, 5, 30_000
    with pytest.warns(TheoryWarning):
        found = recommend(d=d, k_star=k_star, kappa=kappa, budget=budget)
    curvatures = np.linspace(1 / kappa, 1.0, d)
    ends = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.zeros(d)
        y[rng.permutation(d)[:k_star]] = rng.choice([-1.0, 1.0], k_star) * rng.uniform(1, 2, k_star)
        x = szoht_run(
            lambda point, y=y: curvatures * (point - y),
            np.zeros(d),
            budget=budget,
            rng=rng,
            **found.parameters,
        )
        ends.append(np.linalg.norm(x - y) / np.linalg.norm(y))
    assert np.median(ends) < 1e-3


@most_seeds
def test_the_theorem_setting_converges(seed):
    found = recommend(d=800, k_star=1)
    assert found.regime == "theorem"
    y = np.zeros(800)
    y[3] = 1.0
    rng = np.random.default_rng(seed)
    budget = 20 * (found.parameters["q"] + 1)
    x = szoht_run(lambda p: p - y, np.zeros(800), budget=budget, rng=rng, **found.parameters)
    p = found.parameters
    setting = Setting(d=800, k=p["k"], k_star=1, q=p["q"], support_size=800)
    assert np.linalg.norm(x - y) < contraction(setting, Regularity()) ** 20 + 0.01


def test_more_directions_than_dimensions_are_pointed_out():
    assert "q exceeds d" in recommend(d=5000, k_star=5).reason
    found = recommend(d=50_000, k_star=1)
    assert found.parameters["q"] < 50_000
    assert "q exceeds d" not in found.reason


def test_it_prints_readably():
    text = str(recommend(d=5000, k_star=5, budget=10**6))
    assert text.startswith("szoht(k=")
    assert "regime: theorem" in text
    assert text.count("holds") == 6
    assert "FAILS" not in text
    with pytest.warns(TheoryWarning):
        assert "FAILS  Theorem 1: gamma rho < 1" in str(recommend(d=500, k_star=5))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"d": 0}, "d"),
        ({"k_star": 11}, "k_star"),
        ({"kappa": 0.5}, "kappa"),
        ({"budget": 1}, "budget"),
        ({"smoothness": -1.0}, "smoothness"),
        ({"support_size": 11}, "support_size"),
        ({"accuracy": 0.0}, "accuracy"),
    ],
)
def test_bad_input_is_refused(change, name):
    with pytest.raises(ParameterError, match=f"`{name}`"):
        recommend(**{"d": 10, "k_star": 2, **change})
