"""The default solver with gradients: what it finds, what it asks for, and when it does not."""

from itertools import combinations

import numpy as np
import pytest
import scipy.optimize

import szoht
from outcomes import always, most_seeds
from szoht import AskTell, GroupSparse, SparseSimplex, Variables, minimize
from szoht.algorithms.auto.restricted.best_subset import Quadratic, best_subset
from szoht.errors import CapabilityError, GradientWarning, ParameterError


class Counted:
    """Correlated least squares; calls are counted."""

    def __init__(self, seed, *, d=60, k=4, n=80, rho=0.8):
        rng = np.random.default_rng(seed)
        self.design = rng.standard_normal((n, d)) * np.sqrt(1 - rho)
        self.design += np.sqrt(rho) * rng.standard_normal((n, 1))
        best = np.zeros(d)
        best[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
        self.y = self.design @ best + 0.3 * rng.standard_normal(n)
        self.values = self.gradients = 0

    def fun(self, x):
        self.values += 1
        return float(((self.design @ x - self.y) ** 2).mean())

    def gradient(self, x):
        self.gradients += 1
        return 2 * self.design.T @ (self.design @ x - self.y) / len(self.y)

    def both(self, x):
        self.gradients -= 1
        return self.fun(x), self.gradient(x)

    def least(self, k):
        def value(chosen):
            fit = np.linalg.lstsq(self.design[:, chosen], self.y, rcond=None)[0]
            return float(((self.design[:, chosen] @ fit - self.y) ** 2).mean())

        return min(value(list(c)) for c in combinations(range(self.design.shape[1]), k))


@most_seeds
def test_the_best_of_all_supports_is_found_in_few_calls(seed):
    case = Counted(seed, d=18, k=4)
    result = minimize(case.fun, np.zeros(18), k=4, gradient=case.gradient, rng=seed)
    always((result.nfev, result.njev) == (case.values, case.gradients))
    assert result.fun <= case.least(4) * (1 + 1e-6)
    assert result.nfev < 120
    assert result.success


@pytest.mark.parametrize("seed", range(30))
def test_the_best_subset_of_a_quadratic(seed):
    rng = np.random.default_rng(seed)
    n, k = 9, 3
    factor = rng.standard_normal((n, 6))
    hessian = factor @ factor.T + 0.1 * np.eye(n)
    model = Quadratic.around(np.zeros(n), rng.standard_normal(n), hessian, np.array([2]))
    chosen, gain = best_subset(model, np.arange(k), restarts=20, generator=rng)
    supports = [np.array(c) for c in combinations(range(n), k) if 2 in c]
    assert 2 in chosen
    assert gain == pytest.approx(max(model.minimum(support)[2] for support in supports))
    z = np.zeros(n)
    z[chosen] = model.minimum(chosen)[0]
    assert -model(z) == pytest.approx(gain)


def test_value_and_gradient_from_one_call():
    apart, joint = Counted(0), Counted(0)
    first = minimize(apart.fun, np.zeros(60), k=4, gradient=apart.gradient, rng=0)
    second = minimize(joint.both, np.zeros(60), k=4, jac=True, rng=0)
    assert np.array_equal(first.x, second.x)
    assert (first.nfev, first.njev) == (second.nfev, second.njev)
    assert joint.values == second.nfev


@most_seeds
def test_a_wrong_gradient_is_not_used(seed):
    case = Counted(1)
    with pytest.warns(GradientWarning, match="check_grad"):
        wrong = minimize(
            case.fun, np.zeros(60), k=4, gradient=lambda x: 0.5 * case.gradient(x), rng=seed
        )
    right = minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, rng=seed)
    assert wrong.fun <= right.fun * (1 + 1e-6)
    assert any("disagrees" in line for line in wrong.explain)


@pytest.mark.filterwarnings("error::szoht.errors.GradientWarning")
@most_seeds
def test_a_gradient_that_vanishes_at_the_start(seed):
    def fun(x):
        return float((x[3] * x[7] - 1) ** 2)

    def gradient(x):
        g = np.zeros_like(x)
        g[[3, 7]] = 2 * (x[3] * x[7] - 1) * x[[7, 3]]
        return g

    result = minimize(fun, np.zeros(12), k=2, gradient=gradient, max_queries=3_000, rng=seed)
    assert result.fun < 1e-8


@pytest.mark.filterwarnings("error::szoht.errors.GradientWarning")
@most_seeds
def test_values_that_are_noisy(seed):
    case, rng = Counted(2), np.random.default_rng(seed)
    result = minimize(
        lambda x: case.fun(x) + 0.01 * rng.standard_normal(),
        np.zeros(60),
        k=4,
        gradient=case.gradient,
        max_queries=3_000,
        rng=seed,
    )
    assert case.fun(result.x) < 0.3 * case.fun(np.zeros(60))


@most_seeds
def test_maximizing_in_the_users_units(seed):
    case = Counted(3)
    scale = np.exp(np.random.default_rng(0).uniform(-2, 2, 60))
    plain = minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, rng=seed)
    scaled = szoht.maximize(
        lambda x: -case.fun(x / scale),
        Variables(np.zeros(60), low=-9 * scale, high=9 * scale, unit=scale),
        k=4,
        gradient=lambda x: -case.gradient(x / scale) / scale,
        rng=seed,
    )
    assert -scaled.fun == pytest.approx(plain.fun, rel=1e-6)
    assert np.array_equal(scaled.support, plain.support)
    assert scaled.njev > 0


@most_seeds
def test_free_coordinates(seed):
    case = Counted(4, d=14)
    case.y = case.y + 3 * case.design[:, 0]
    result = minimize(case.fun, np.zeros(14), k=2, always=[0], gradient=case.gradient, rng=seed)
    others = combinations(range(1, 14), 2)

    def value(chosen):
        columns = case.design[:, [0, *chosen]]
        return float(
            ((columns @ np.linalg.lstsq(columns, case.y, rcond=None)[0] - case.y) ** 2).mean()
        )

    assert result.fun <= min(map(value, others)) * (1 + 1e-6)


@pytest.mark.parametrize("constraint", [GroupSparse(k=2, size=5), SparseSimplex(3)], ids=str)
@most_seeds
def test_other_structures(seed, constraint):
    case = Counted(5, d=40)
    start = constraint.prox(np.ones(40), 1.0)
    with_gradient = minimize(
        case.fun, start, constraint=constraint, gradient=case.gradient, max_queries=2_000, rng=seed
    )
    values = minimize(case.fun, start, constraint=constraint, max_queries=4_000, rng=seed)
    always(constraint.contains(with_gradient.x))
    assert with_gradient.fun <= values.fun * (1 + 1e-3)
    assert with_gradient.nfev + with_gradient.njev < values.nfev


@most_seeds
def test_the_path_over_k(seed):
    case = Counted(6)
    result = minimize(case.fun, np.zeros(60), gradient=case.gradient, rng=seed)
    values = minimize(case.fun, np.zeros(60), rng=seed)
    assert result.support.size == 4
    assert result.nfev + result.njev < values.nfev


@most_seeds
def test_a_finite_sum(seed):
    case = Counted(7, n=400)
    design, y = case.design, case.y

    def residual(x, sample):
        return design[sample] @ x - y[sample]

    result = minimize(
        lambda x, sample: float((residual(x, sample) ** 2).mean()),
        np.zeros(60),
        k=4,
        n_samples=400,
        gradient=lambda x, sample: 2 * design[sample].T @ residual(x, sample) / len(sample),
        max_queries=400 * 200,
        rng=seed,
    )
    whole = minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, rng=seed)
    assert result.fun <= whole.fun * (1 + 1e-3)
    assert result.njev > 0


def test_a_stored_run_goes_on_with_its_gradient(tmp_path):
    case = Counted(8)
    options = {"k": 4, "gradient": case.gradient, "rng": 0}
    whole = minimize(case.fun, np.zeros(60), **options, max_queries=80)
    store = tmp_path / "runs"
    minimize(
        case.fun, np.zeros(60), **options, max_queries=80, store=store,
        callback=lambda progress: progress.counts.queries > 40,
    )  # fmt: skip
    with pytest.raises(CapabilityError, match=r"needs the objective's `gradient`.*Pass `gradient="):
        szoht.resume(store, case.fun, max_queries=90)
    spent = case.values
    resumed = szoht.resume(store, case.fun, gradient=case.gradient, max_queries=90)
    assert case.values - spent < resumed.nfev
    assert resumed.fun <= whole.fun


def test_workers_change_nothing():
    alone = minimize(_sum_of_squares, np.zeros(30), k=3, gradient=_slope, rng=0)
    spread = minimize(_sum_of_squares, np.zeros(30), k=3, gradient=_slope, rng=0, workers=2)
    assert np.array_equal(alone.x, spread.x)
    assert (alone.nfev, alone.njev) == (spread.nfev, spread.njev)


def _sum_of_squares(x):
    return float(((x - np.arange(30.0)) ** 2).sum())


def _slope(x):
    return 2 * (x - np.arange(30.0))


def test_ask_and_tell():
    case = Counted(9)
    run = AskTell(np.zeros(60), k=4, options={"use_gradient": True}, rng=0, max_queries=500)
    while not run.done:
        plan = run.ask()
        asked = plan.queries[0].gradient
        slope = case.gradient(plan.queries[0].base) if asked else None
        run.tell([case.fun(x) for x in plan.points()], slope)
    direct = minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, rng=0, max_queries=500)
    assert np.array_equal(run.result.x, direct.x)


def test_scipy_passes_its_own():
    case = Counted(10)
    result = scipy.optimize.minimize(
        case.both, np.zeros(60), jac=True, method=szoht.scipy_method(k=4), options={"rng": 0}
    )
    direct = minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, rng=0)
    assert np.array_equal(result.x, direct.x)
    assert result.njev == direct.njev > 0


def test_misuse():
    case = Counted(11)
    with pytest.raises(ParameterError, match="`jac` is another name"):
        minimize(case.fun, np.zeros(60), k=4, gradient=case.gradient, jac=case.gradient)
    with pytest.raises(szoht.errors.AnswerShapeError, match=r"must return \(value, gradient\)"):
        minimize(case.fun, np.zeros(60), k=4, jac=True)
    with pytest.raises(CapabilityError, match="return values only"):
        minimize(case.both, np.zeros(60), k=4, jac=True, vectorized=True)
