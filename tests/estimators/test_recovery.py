"""What both estimators that recover sparse gradients promise."""

import math

import numpy as np
import pytest

from estimators.recovery import estimate, sparse_vector
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.errors import ParameterError
from szoht.estimators.adaptive_recovery import AdaptiveRecovery
from szoht.estimators.sparse_recovery import SparseRecovery, default_measurements


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_sparse_slopes_are_recovered_with_their_scale(kind, scale, centered):
    rng = np.random.default_rng(7)
    slope = scale * sparse_vector(rng, 200, 6)
    x = rng.standard_normal(200)
    estimator = kind(sparsity=6, mu=1e-3, tol=1e-6, centered=centered)
    found, _, cost = estimate(estimator, slope, x=x)
    assert np.allclose(found.gradient, slope, rtol=1e-6, atol=1e-6 * scale)
    assert found.value == pytest.approx(x @ slope)
    assert found.measured
    assert cost == default_measurements(6, 200) + 1


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_rows_do_not_depend_on_the_iteration(kind):
    estimator = kind(sparsity=3)
    x = np.zeros(50)
    memory = estimator.init(x)
    first = estimator.plan(x, None, memory, Key(seed=5))
    later = estimator.plan(x, None, memory, Key(seed=5, iteration=9, round=2))
    other = estimator.plan(x, None, memory, Key(seed=6))
    assert np.array_equal(first.points(), later.points())
    assert not np.array_equal(first.points(), other.points())
    probes = first.points()[1:] * math.sqrt(50) / 1e-6
    assert np.allclose(np.abs(probes), 1)
    assert probes.shape == (default_measurements(3, 50), 50)


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_failed_measurements_are_left_out(kind):
    slope = np.zeros(100)
    slope[[3, 50]] = [1.0, -2.0]
    estimator = kind(sparsity=2, mu=1e-3)
    memory = estimator.init(slope)
    plan = estimator.plan(np.ones(100), None, memory, Key(seed=0))
    values = plan.points() @ slope
    values[[1, 8, 20]] = np.nan
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert np.allclose(found.gradient, slope, atol=1e-6)
    values[0] = np.nan
    found, _ = estimator.combine(plan, [Answer(values=values)], estimator.init(slope))
    assert math.isnan(found.value)
    assert not found.gradient.any()
    values[0], values[1:] = 1.0, np.nan
    found, _ = estimator.combine(plan, [Answer(values=values)], estimator.init(slope))
    assert found.value == 1.0
    assert not found.gradient.any()


def test_small_dimensions():
    for d in (1, 2, 3):
        for estimator in (SparseRecovery(mu=1e-3), AdaptiveRecovery(mu=1e-3)):
            found, _, cost = estimate(estimator, np.arange(1.0, d + 1))
            assert found.gradient.shape == (d,)
            assert cost <= d + 1
    found, _, _ = estimate(AdaptiveRecovery(mu=1e-3), np.arange(1.0, 4))
    assert np.allclose(found.gradient, [1, 2, 3])


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sparsity": 0}, r"`sparsity` must be an integer in \[1, d\]; got sparsity=0"),
        ({"mu": 0.0}, "`mu`"),
        ({"tol": -0.1}, "`tol`"),
        ({"max_passes": 0}, "`max_passes`"),
    ],
)
def test_bad_settings_are_refused(kind, changes, message):
    with pytest.raises(ParameterError, match=message):
        kind(**changes)


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_sparsity_beyond_the_dimension_is_refused(kind):
    kind(sparsity=10).check(10)
    with pytest.raises(ParameterError, match="got sparsity=11 with d=10"):
        kind(sparsity=11).check(10)
