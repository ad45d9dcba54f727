"""Recovery whose sparsity grows, and which tries the old support first."""

import numpy as np
import pytest

from estimators.recovery import estimate, linear
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.errors import ParameterError
from szoht.estimators.adaptive_recovery import AdaptiveRecovery
from szoht.estimators.sparse_recovery import default_measurements


def test_an_old_support_is_given_up_where_too_few_probes_are_answered():
    estimator = AdaptiveRecovery(mu=1e-3, sparsity=4)
    slope = np.zeros(400)
    slope[[1, 20, 300]] = [1.0, 2.0, -1.0]
    _, memory, _ = estimate(estimator, slope)
    plan = estimator.plan(np.zeros(400), None, memory, Key(seed=0, iteration=1))
    values = plan.points() @ slope
    values[memory.support.size + 1 :] = np.nan
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is None
    plan = estimator.plan(np.zeros(400), None, memory, Key(seed=0, iteration=1, round=1))
    found, memory = estimator.combine(plan, linear(slope, plan), memory)
    assert np.allclose(found.gradient, slope, atol=1e-6)


def test_sparsity_grows_until_it_explains_the_slopes_and_only_new_rows_are_asked():
    slope = np.zeros(400)
    slope[::80] = [1.0, -1.0, 1.2, 0.9, -1.1]
    estimator = AdaptiveRecovery(mu=1e-3, growth=1.0, phi_cosamp=0.05)
    x, memory, sizes = np.zeros(400), estimator.init(slope), []
    seen, found = [], None
    while found is None:
        plan = estimator.plan(x, None, memory, Key(seed=0, round=len(sizes)))
        seen.append(plan.points())
        sizes.append(plan.cost)
        found, memory = estimator.combine(plan, linear(slope, plan), memory)
    rows = [default_measurements(s, 400) for s in range(2, 6)]
    assert sizes == [rows[0] + 1, *np.diff(rows).tolist()]
    assert memory.sparsity == 5
    assert memory.support.tolist() == [0, 80, 160, 240, 320]
    assert not memory.support.flags.writeable
    assert not memory.values.flags.writeable
    assert np.allclose(found.gradient, slope, atol=1e-6)
    points = np.concatenate(seen)
    assert len(np.unique(points, axis=0)) == len(points), "no point is asked twice"


def test_an_old_support_that_still_holds_is_cheap():
    estimator = AdaptiveRecovery(mu=1e-3, sparsity=4)
    slope = np.zeros(400)
    slope[[1, 20, 300]] = [1.0, 2.0, -1.0]
    _, memory, first = estimate(estimator, slope)
    slope[[1, 20, 300]] = [-3.0, 0.5, 0.7]
    found, memory, second = estimate(estimator, slope, memory=memory)
    n = memory.support.size
    assert (first, second) == (default_measurements(4, 400) + 1, 1 + n + max(n, 10))
    assert np.allclose(found.gradient, slope, atol=1e-6)
    # and one that does not hold is noticed, at no extra query
    slope[[20, 200]] = [0.0, 2.0]
    found, memory, third = estimate(estimator, slope, memory=memory)
    assert third == default_measurements(4, 400) + 1
    assert np.allclose(found.gradient, slope, atol=1e-6)
    assert 200 in memory.support


def test_a_dense_gradient_is_measured_along_all_axes():
    slope = np.linspace(1, 2, 40)
    estimator = AdaptiveRecovery(mu=1e-3, phi_cosamp=0.05)
    found, memory, cost = estimate(estimator, slope)
    assert memory.dense
    assert np.allclose(found.gradient, slope, atol=1e-6)
    assert cost > 41
    found, memory, cost = estimate(estimator, 3 * slope, memory=memory)
    assert cost == 41
    assert np.allclose(found.gradient, 3 * slope, atol=1e-6)


def test_rounding_does_not_make_the_gradient_look_dense():
    estimator = AdaptiveRecovery(sparsity=3)
    x, memory = np.zeros(200), estimator.init(np.zeros(200))
    plan = estimator.plan(x, None, memory, Key(seed=0))
    rng = np.random.default_rng(0)
    values = 1e3 * (1 + 2e-16 * rng.integers(-4, 5, size=plan.n_points))
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is not None
    assert memory.sparsity == 3
    # nor does an old support look wrong
    assert memory.support.size == 3
    plan = estimator.plan(x, None, memory, Key(seed=0, iteration=1))
    values = 1e3 * (1 + 2e-16 * rng.integers(-4, 5, size=plan.n_points))
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is not None
    assert memory.support.size == 3


@pytest.mark.parametrize(
    "changes",
    [{"growth": 0.9}, {"oversampling": 0.0}, {"compression": 0.0}, {"phi_lstsq": -1}],
)
def test_bad_adaptive_settings_are_refused(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        AdaptiveRecovery(**changes)
