"""The posterior of the Jacobian: recovery, updates against brute force, missing outputs."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.calibration.problems import probes, smooth_jacobian, sparse_jacobian
from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.posterior import JacobianPosterior, ProbeFit

POLICY = CalibrationPolicy()
NOTHING = np.empty(0, dtype=np.intp)


def error(found, truth):
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


def test_few_columns_are_recovered_from_few_probes():
    jacobian, columns = sparse_jacobian()
    design, responses = probes(jacobian, count=22)
    posterior = ProbeFit.of(design, responses, POLICY).posterior(NOTHING, POLICY)
    assert error(posterior.mean, jacobian) < 1e-3
    sizes = np.linalg.norm(posterior.mean, axis=0)
    assert np.array_equal(np.sort(np.argsort(-sizes)[:5]), columns)


def test_of_many_variables_the_largest_columns_are_kept():
    jacobian, columns = sparse_jacobian(d=600)
    design, responses = probes(jacobian, count=30)
    posterior = ProbeFit.of(design, responses, POLICY).posterior(np.array([599]), POLICY)
    assert np.isin([*columns, 599], posterior.columns).all()
    assert posterior.columns.size <= POLICY.kept_columns + 1
    assert error(posterior.mean, jacobian[:, posterior.columns]) < 1e-2


def test_what_probes_share_is_no_column():
    jacobian, _ = sparse_jacobian()
    design, responses = probes(jacobian, count=24)
    curved = responses + 3.0
    posterior = ProbeFit.of(design, curved, POLICY).posterior(NOTHING, POLICY)
    assert error(posterior.mean, jacobian) < 1e-2


def test_smoothing_predicts_where_neighbors_are_alike():
    jacobian = smooth_jacobian()
    design, responses = probes(jacobian, count=45)
    errors = {}
    for length in (0.0, 8.0):
        fit = ProbeFit.of(design[:30], responses[:30], POLICY, length)
        errors[length] = error(fit.predicted(design[30:]), responses[30:])
        posterior = fit.posterior(NOTHING, POLICY)
        assert np.linalg.eigvalsh(posterior.covariance)[0] > -1e-5 * posterior.prior.max()
    assert errors[8.0] < 0.1
    assert errors[0.0] > 0.5


def test_missing_responses_are_left_out():
    jacobian, _ = sparse_jacobian()
    design, responses = probes(jacobian, count=30)
    holes = np.random.default_rng(1).random(responses.shape) < 0.2
    seen = np.where(holes, np.nan, responses)
    posterior = ProbeFit.of(design, seen, POLICY).posterior(NOTHING, POLICY)
    assert error(posterior.mean, jacobian) < 1e-2
    zeros = ProbeFit.of(design, np.where(holes, 0.0, responses), POLICY)
    assert error(zeros.mean[:, :-1], jacobian) > 0.1


@pytest.fixture
def posterior():
    generator = np.random.default_rng(3)
    root = generator.standard_normal((4, 4))
    return JacobianPosterior(
        columns=np.arange(4),
        mean=generator.standard_normal((3, 4)),
        covariance=root @ root.T,
        scale=2.0,
        prior=np.ones(4),
        error=0.1,
    )


def test_an_update_is_bayes_rule(posterior):
    step, change, error = np.array([1.0, -0.5, 0.0, 2.0]), np.array([1.0, 0.0, -2.0]), 0.3
    precision = np.linalg.inv(posterior.covariance) + np.outer(step, step) / error
    covariance = np.linalg.inv(precision)
    new = posterior.updated(step, change, error)
    np.testing.assert_allclose(new.covariance, covariance, rtol=1e-9)
    for j in range(3):
        weighted = np.linalg.solve(posterior.covariance, posterior.mean[j])
        mean = covariance @ (weighted + step * change[j] / error)
        np.testing.assert_allclose(new.mean[j], mean, rtol=1e-9)


def test_an_output_that_is_missing_keeps_its_row(posterior):
    new = posterior.updated(np.ones(4), np.array([1.0, np.nan, 2.0]), 0.1)
    np.testing.assert_array_equal(new.mean[1], posterior.mean[1])
    assert (new.mean[0] != posterior.mean[0]).all()
    failed = posterior.updated(np.ones(4), np.full(3, np.nan), 0.1)
    assert failed is posterior


def test_the_jacobian_drifts_with_the_center(posterior):
    near, far = posterior.drifted(0.1, POLICY), posterior.drifted(1.0, POLICY)
    added = np.diag(far.covariance - posterior.covariance)
    np.testing.assert_allclose(added, 100 * np.diag(near.covariance - posterior.covariance))
    assert (added > 0).all()
    assert posterior.variance(np.ones(4)) < far.variance(np.ones(4))


def test_a_measured_column_is_measured_near_its_center(posterior):
    known = posterior.measured([2]).drifted(0.1, POLICY).drifted(0.2, POLICY).measured([0])
    assert known.moved == {2: pytest.approx(0.3), 0: 0.0}
    assert known.updated(np.ones(4), np.ones(3), 0.1).moved == known.moved


def test_further_columns_find_their_places(posterior):
    posterior = replace(posterior, columns=np.array([1, 4, 6, 9])).measured([4])
    wide = posterior.widened(np.array([7, 0]), np.array([0.5, 0.25]))
    assert wide.columns.tolist() == [0, 1, 4, 6, 7, 9]
    old, new = [1, 2, 3, 5], [0, 4]
    np.testing.assert_array_equal(wide.mean[:, old], posterior.mean)
    np.testing.assert_array_equal(wide.covariance[np.ix_(old, old)], posterior.covariance)
    np.testing.assert_array_equal(wide.covariance[np.ix_(new, new)], np.diag([0.25, 0.5]))
    assert not wide.covariance[np.ix_(old, new)].any()
    assert not wide.mean[:, new].any()
    assert wide.moved == {4: 0.0}
    step = np.zeros(10)
    step[7] = 0.1
    change = np.array([1.0, -2.0, 3.0])
    learned = wide.updated(step, change, wide.difference_error(step, 0.0))
    np.testing.assert_allclose(learned.mean[:, 4], change / 0.1, rtol=1e-3)


def test_nothing_responds():
    fit = ProbeFit.of(np.ones((3, 6)), np.zeros((3, 2)), POLICY)
    assert not fit.mean.any()
