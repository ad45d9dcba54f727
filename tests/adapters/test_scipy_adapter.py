"""`scipy.optimize.minimize(fun, x0, method=szoht.scipy_method(k=10))`."""

import numpy as np
import pytest
from scipy import optimize

import szoht
from outcomes import always, most_seeds

TARGET = np.zeros(30)
TARGET[[3, 17]] = [1.0, -2.0]


def fun(x, scale=1.0):
    return scale * float(((x - TARGET) ** 2).sum())


def run(fun=fun, method=None, **options):
    limits = {"max_queries": 800, "rng": 0} | options.pop("options", {})
    method = method or szoht.scipy_method(k=2)
    return optimize.minimize(fun, np.zeros(30), method=method, options=limits, **options)


@most_seeds
def test_same_numbers_as_ours(seed):
    ours = szoht.minimize(fun, np.zeros(30), k=2, max_queries=800, rng=seed)
    theirs = run(options={"rng": seed})
    always(isinstance(theirs, optimize.OptimizeResult))
    always(np.array_equal(ours.x, theirs.x))
    always((ours.fun, ours.nfev, ours.nit) == (theirs.fun, theirs.nfev, theirs.nit))
    always(theirs.status == ours.status.code)
    always("message" in repr(theirs))
    assert theirs.success
    assert np.array_equal(theirs.support, [3, 17])


def test_extra_arguments_reach_the_function():
    assert run(args=(3.0,)).fun == pytest.approx(3 * run().fun, rel=1e-3, abs=1e-9)


def test_extra_arguments_reach_the_gradient():
    method = szoht.scipy_method(k=2, method="iht")
    seen = []

    def slopes(x, scale):
        seen.append(scale)
        return 2 * scale * (x - TARGET)

    result = run(method=method, jac=slopes, args=(0.5,))
    assert set(seen) == {0.5}
    assert np.allclose(result.x, TARGET, atol=1e-6)


def test_limits_by_the_names_that_scipy_gives_them():
    method = szoht.scipy_method(k=2, method="szoht")
    assert 60 < run(method=method, options={"maxfev": 101}).nfev <= 101
    assert run(method=method, options={"maxiter": 2}).nit == 2
    with pytest.raises(szoht.errors.ParameterError, match="got 'maxcor'"):
        run(options={"maxcor": 3})


@most_seeds
def test_bounds_become_a_sparse_box(seed):
    options = {"rng": seed}
    result = run(bounds=[(-1, None)] * 30, options=options)
    assert result.x[17] == -1.0
    assert result.x[3] > 0.5
    result = run(bounds=optimize.Bounds(-0.5, 0.5), options=options)
    always(np.abs(result.x).max() <= 0.5)
    result = run(bounds=[(None, 0.25)] * 30, options=options)
    assert result.x[3] == 0.25
    assert result.x[17] < -0.5


@most_seeds
def test_variables_are_stated_by_options(seed):
    nominal = np.full(12, 5.0)
    best = nominal.copy()
    best[[2, 7]] = [6.0, 3.5]
    result = optimize.minimize(
        lambda x: float(((x - best) ** 2).sum()),
        nominal,
        bounds=[(0, 10)] * 12,
        method=szoht.scipy_method(k=2),
        options={"reference": nominal, "max_queries": 300, "rng": seed},
    )
    assert result.support.tolist() == [2, 7]
    assert result.x == pytest.approx(best, abs=1e-5)


def test_first_order_methods_get_the_gradient():
    method = szoht.scipy_method(k=2, method="iht")
    result = run(method=method, jac=lambda x: 2 * (x - TARGET))
    assert result.njev > 0
    assert np.allclose(result.x, TARGET, atol=1e-6)


def test_both_forms_of_callback():
    points = []
    run(callback=points.append)
    assert all(len(np.flatnonzero(point)) <= 2 for point in points)
    values = [fun(point) for point in points]
    assert values == sorted(values, reverse=True)  # the best so far, each an array of its own
    points[-1][:] = 0.0

    def compare(intermediate_result):
        assert intermediate_result.fun == fun(intermediate_result.x)

    noisy = szoht.scipy_method(method=szoht.algorithms.szoht(k=2, q=3, step_size=0.3))
    assert run(method=noisy, callback=compare).nit > 10

    def stop(intermediate_result):
        if intermediate_result.fun < 1.0:
            raise StopIteration

    assert run(callback=stop).nfev < 800


def test_what_is_not_supported_says_so():
    with pytest.raises(szoht.errors.ParameterError, match="`constraints` are not supported"):
        run(constraints={"type": "eq", "fun": lambda x: x.sum()})
    with pytest.raises(szoht.errors.ParameterError, match="`tol` is not supported"):
        run(tol=1e-3)
    with pytest.raises(szoht.errors.ParameterError, match="`bounds` need `k`"):
        run(method=szoht.scipy_method(constraint=szoht.Sparse(2)), bounds=[(-1, 1)] * 30)
