"""ZORO and AdaZORO against their pseudo-code, their theory and their documented cost."""

import math

import numpy as np
import pytest

from algorithms.runs import run
from outcomes import most_seeds
from reference import compressed_sensing as naive
from reference.hard_thresholding import hard_threshold
from szoht import AskTell, Minibatch, SoftThreshold, Sparse, errors, minimize
from szoht.algorithms import registry
from szoht.algorithms.zoro import ada_zoro, zoro
from szoht.estimators.sparse_recovery import default_measurements
from szoht.testing import check_algorithm

D = 60


def problem(n_active):
    """A function of n_active coordinates, neither quadratic nor separable."""
    rng = np.random.default_rng(8)
    a = rng.standard_normal((12, n_active)) / math.sqrt(12)
    b = rng.standard_normal(12)
    active = rng.permutation(D)[:n_active]

    def f(x):
        return float(np.log(np.cosh(a @ x[active] - b)).sum() + 0.05 * (x[active] ** 4).sum())

    return f


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.05])
@pytest.mark.parametrize(("s", "tol"), [(3, 0.5), (6, 0.01), (10, 0.2)])
def test_zoro_equals_its_pseudo_code(s, tol, penalty, centered):
    f, iterations = problem(6), 5
    settings = {"mu": 1e-3, "step_size": 0.3, "penalty": penalty, "tol": tol, "centered": centered}
    algorithm = zoro(sparsity=s, n_measurements=40, max_passes=7, **settings)
    x0 = np.linspace(-1, 1, D)
    ours, directions = run(algorithm, f, x0, iterations)
    signs = np.array(directions[0])
    assert all(np.array_equal(signs, later) for later in directions)
    assert np.array_equal(np.abs(signs), np.ones((40, D)))
    reference = naive.zoro(f, x0, signs, iterations, s=s, passes=7, **settings)
    assert np.allclose(ours, reference, rtol=1e-6, atol=1e-8)
    assert not np.allclose(ours[-1], x0, atol=1e-2)


def test_zoro_with_hard_thresholding_keeps_the_k_largest():
    f = problem(6)
    (ours,), directions = run(zoro(k=3, sparsity=6, mu=1e-4, step_size=0.3), f, np.zeros(D), 1)
    dense_step = naive.zoro(
        f,
        np.zeros(D),
        np.array(directions[0]),
        1,
        s=6,
        mu=1e-4,
        step_size=0.3,
        penalty=0.0,
        tol=0.01,
        passes=10,
        centered=True,
    )[0]
    assert np.allclose(ours, hard_threshold(dense_step, 3), atol=1e-8)


@pytest.mark.parametrize(("n_active", "phi_cosamp"), [(5, 0.4), (5, 0.1), (9, 0.1), (60, 0.1)])
def test_ada_zoro_equals_its_pseudo_code(n_active, phi_cosamp):
    f, iterations = problem(n_active), 6
    settings = {"mu": 1e-6, "step_size": 0.3, "growth": 1.2, "phi_lstsq": 0.1, "tol": 0.01}
    algorithm = ada_zoro(oversampling=1.5, phi_cosamp=phi_cosamp, centered=False, **settings)
    asked = AskTell(np.linspace(-1, 1, D), method=algorithm, max_iterations=iterations, rng=4)
    iterates, costs, sizes, signs, spent = [], [], [], [], 0
    while asked.state.iteration < iterations and not asked.done:
        plan = asked.ask()
        new = asked.state.estimator_memory.values.size == 0
        if not asked.state.estimator_memory.dense:
            rows = (plan.points()[int(new) :] - asked.state.x) / 1e-6
            first = max(0, asked.state.estimator_memory.values.size - 1)
            signs[first : first + len(rows)] = list(np.sign(rows))
        spent += plan.cost
        asked.tell([f(point) for point in plan.points()])
        if asked.state.iteration > len(iterates):
            iterates.append(np.array(asked.state.x))
            costs.append(spent)
            sizes.append(asked.state.estimator_memory.sparsity)
            spent = 0
    signs = np.array(signs)
    reference, their_costs, their_sizes = naive.ada_zoro(
        f, np.linspace(-1, 1, D), signs, iterations, b=1.5, phi_cosamp=phi_cosamp, **settings
    )
    assert costs == their_costs
    assert sizes == their_sizes
    assert np.allclose(iterates, reference, rtol=1e-5, atol=1e-6)


def sparse_quadric(d, s, seed=0):
    """f = ||x_S||^2 / 2 with |S| = s, the problem of the paper's experiments; L = 1."""
    rng = np.random.default_rng(seed)
    active = rng.permutation(d)[:s]
    return (lambda x: 0.5 * float((x[active] ** 2).sum())), rng.standard_normal(d)


@pytest.mark.parametrize("method", [zoro, ada_zoro])
@most_seeds
def test_converges_as_fast_as_gradient_descent(seed, method):
    """Theory: with exact recovery the error contracts by (1 - alpha nu) in each iteration."""
    f, x0 = sparse_quadric(300, 10)
    start, step, iterations = f(x0), 0.5, 12
    algorithm = method(sparsity=10, step_size=step, tol=1e-3)
    result = minimize(f, x0, method=algorithm, max_iterations=iterations, rng=seed)
    descent = start * (1 - step) ** (2 * iterations)
    assert result.fun <= 3 * descent
    assert result.fun >= 0.3 * descent


@most_seeds
def test_queries_to_the_target_grow_with_s_and_log_d_only(seed):
    """O(s log d log 1/eps): twenty times the dimension costs less than twice the queries."""
    needed = []
    for d in (200, 4000):
        y = np.zeros(d)
        y[-5:] = np.arange(1, 6) / 5
        result = minimize(
            lambda x, y=y: 0.5 * float(((x - y) ** 2).sum()),
            np.zeros(d),
            method=zoro(k=5, d=d),
            target=1e-3 * 0.5 * float(y @ y),
            max_queries=3000,
            rng=seed,
        )
        assert result.success
        assert np.array_equal(np.sort(result.support), np.arange(d - 5, d))
        needed.append(result.nfev)
    assert needed[1] < 2 * needed[0]


@most_seeds
def test_twice_the_inverse_smoothness_flips_signs(seed):
    """With alpha = 2 / L exact recovery gives x -> -x: nothing is gained, as documented."""
    f, x0 = sparse_quadric(200, 5)
    result = minimize(
        f, x0, method=zoro(sparsity=5, step_size=2.0, iterate="last"), max_iterations=6, rng=seed
    )
    assert result.fun == pytest.approx(f(x0), rel=1e-3)


@most_seeds
def test_a_penalty_leads_to_the_lasso_solution(seed):
    y = np.zeros(200)
    y[[3, 50, 51]] = [1.0, -2.0, 0.3]
    result = minimize(
        lambda x: 0.5 * float(((x - y) ** 2).sum()),
        np.zeros(200),
        method=zoro(penalty=0.5, sparsity=6, step_size=0.7),
        max_iterations=40,
        rng=seed,
    )
    assert np.allclose(result.x, naive.soft(y, 0.5), atol=1e-6)


def test_cost_per_iteration_is_one_more_than_the_measurements():
    f, x0 = sparse_quadric(100, 5)
    calls = []

    def counted(x):
        calls.append(x)
        return f(x)

    result = minimize(
        counted,
        x0,
        method=zoro(sparsity=5, n_measurements=33, mu=1e-7, step_size=0.5),
        max_iterations=4,
        rng=0,
    )
    assert result.nfev == len(calls) == 4 * 34 + 1  # the last one measures the solution
    assert np.diff(result.history["queries"])[:3].tolist() == [34] * 3


def test_cost_of_an_adaptive_iteration():
    f, x0 = sparse_quadric(200, 5)
    algorithm = ada_zoro(sparsity=5, mu=1e-7, step_size=0.5, phi_cosamp=0.05)
    result = minimize(f, x0, method=algorithm, max_iterations=4, rng=0)
    first = default_measurements(5, 200) + 1
    assert result.nfev == first + 3 * (1 + 5 + 10) + 1


@pytest.mark.parametrize(
    ("algorithm", "n_samples"),
    [
        (zoro(k=3, d=30), None),
        (zoro(k=3, step_size=0.5), None),
        (zoro(sparsity=3, step_size=0.5), None),
        (zoro(penalty=0.01), None),
        (zoro(constraint=SoftThreshold(0.01), n_measurements=20), None),
        (zoro(k=3, step_size=0.3, sampler=Minibatch(size=2)), 10),
        (zoro(sparsity=30, centered=False, step_size=0.3), None),
        (ada_zoro(k=3), None),
        (ada_zoro(step_size=0.5), None),
        (ada_zoro(penalty=0.01, growth=1.0), None),
        (ada_zoro(sparsity=30, step_size=0.5), None),
        (ada_zoro(k=3, step_size=0.3, sampler=Minibatch(size=2)), 10),
    ],
)
def test_conformance(algorithm, n_samples):
    check_algorithm(algorithm, n_samples=n_samples)


@pytest.mark.parametrize(("name", "factory"), [("zoro", zoro), ("ada_zoro", ada_zoro)])
@most_seeds
def test_by_name(seed, monkeypatch, name, factory):
    monkeypatch.setitem(registry.METHODS, name, factory)
    y = np.zeros(100)
    y[[3, 50]] = [1.0, -2.0]
    for limits in ({"k": 10}, {"constraint": Sparse(2)}, {"constraint": SoftThreshold(1e-3)}):
        result = minimize(
            lambda x: float(((x - y) ** 2).sum()),
            np.zeros(100),
            method=name,
            max_queries=1000,
            rng=seed,
            **limits,
        )
        assert np.allclose(result.x, y, atol=2e-3)


def test_default_sparsity_follows_k_within_d():
    assert zoro(k=5, d=100).estimator.sparsity == 10
    assert zoro(k=5, d=7).estimator.sparsity == 7
    assert zoro(k=5).estimator.sparsity == 10
    assert zoro().estimator.sparsity is None
    plan = AskTell(np.zeros(70), method=zoro(mu=1e-7), max_iterations=1, rng=0).ask()
    assert plan.cost == default_measurements(7, 70) + 1


def never(*_):
    pytest.fail("a query was spent")


@pytest.mark.parametrize("factory", [zoro, ada_zoro])
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"penalty": -0.1}, errors.ParameterError, "`penalty` .* >= 0; got penalty=-0.1"),
        ({"penalty": "l1"}, errors.ParameterTypeError, "`penalty`"),
        ({"k": 2, "penalty": 0.1}, errors.ParameterError, "`penalty` must be 0 where `k`"),
        ({"constraint": Sparse(2), "penalty": 0.1}, errors.ParameterError, "must be 0 where"),
        ({"k": 2, "constraint": Sparse(2)}, errors.ParameterError, "exactly one of"),
        ({"sparsity": 0}, errors.ParameterError, r"`sparsity` must be an integer in \[1, d\]"),
        ({"sparsity": 11}, errors.ParameterError, "got sparsity=11 with d=10"),
        ({"k": 11, "sparsity": 1}, errors.ParameterError, "got k=11 with d=10"),
        ({"mu": -1e-6}, errors.ParameterError, "`mu`"),
        ({"step_size": 0.0}, errors.ParameterError, "`step_size`"),
        ({"tol": -1.0}, errors.ParameterError, "`tol`"),
    ],
)
def test_misuse_is_found_before_the_first_query(factory, settings, error, message):
    with pytest.raises(error, match=message):
        minimize(never, np.zeros(10), method=factory(**settings), max_queries=100)


@most_seeds
def test_a_failing_start_and_failing_probes(seed):
    f, x0 = sparse_quadric(100, 3)
    flaky = np.random.default_rng(seed)

    def sometimes(x):
        return math.nan if not np.array_equal(x, x0) and flaky.random() < 0.1 else f(x)

    for method in (zoro(sparsity=3, step_size=0.5), ada_zoro(step_size=0.5)):
        result = minimize(sometimes, x0, method=method, max_iterations=8, on_error="skip", rng=seed)
        assert result.counts.failures > 0
        assert result.fun < 0.01 * f(x0)
        result = minimize(
            lambda _: math.nan, x0, method=method, max_iterations=8, on_error="skip", rng=seed
        )
        assert not result.success
