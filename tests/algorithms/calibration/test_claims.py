"""A success is what was tested: sigma explains the residuals, and every column was measured."""

from dataclasses import replace

import numpy as np
import pytest

import szoht
from algorithms.calibration.problems import Simulator
from szoht import SparseBox, Status, least_squares
from szoht.algorithms.calibration.columns import unmeasured
from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.posterior import JacobianPosterior
from szoht.algorithms.calibration.probing import Domain
from szoht.algorithms.calibration.residuals import Residuals
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.generator import SolverContext

D, SIGMA = 60, 0.05


def noisy(simulator, seed=7, sigma=SIGMA):
    """Return the measurements of a simulator, with errors."""
    errors = np.random.default_rng(seed).standard_normal(simulator.observed.size)
    return simulator.observed + sigma * errors


def solve(simulator, fun=None, **options):
    options = {"k": 3, "sigma": SIGMA, "rng": 0, "max_queries": 200} | options
    options.setdefault("observed", noisy(simulator))
    return least_squares(fun or simulator, np.zeros(simulator.truth.size), **options)


def moved_alone(points, answer, near):
    """Return which variables were moved alone from somewhere near the answer."""
    found = set()
    for point in points:
        moved = np.abs(point - answer) > near
        rest = np.where(moved, answer, point)
        if moved.sum() == 1 and np.abs(rest - answer).max() <= near:
            found.add(int(np.flatnonzero(moved)[0]))
    return found


@pytest.fixture
def search():
    """Return a search of four variables, the last of which cannot change, and three outputs."""
    found = CalibrationSearch(
        outer=SolverContext(seed=0, x=np.zeros(4), sample=None),
        domain=Domain.of(SparseBox(2, low=[-1, -1, -1, 0], high=[1, 1, 1, 0]), 4, None),
        residuals=Residuals(observed=None, sigma=None),
        loss="linear",
        f_scale=1.0,
        k=2,
        policy=CalibrationPolicy(),
        length=0.05,
    )
    found.begin_at(np.zeros(4), np.ones(3))
    return found


def test_a_column_counts_as_measured_as_far_as_differences_reach(search):
    known = JacobianPosterior.empty(3, 1.0).widened(np.arange(4), np.ones(4)).measured([0, 2])
    assert unmeasured(search).tolist() == [0, 1, 2]
    search.posterior = known.drifted(0.04, search.policy)
    assert unmeasured(search).tolist() == [1]
    search.posterior = known.drifted(0.06, search.policy)
    assert unmeasured(search).tolist() == [0, 1, 2]


def test_a_column_is_its_difference_whatever_was_believed(search):
    known = JacobianPosterior.empty(3, 1.0).widened(np.arange(4), np.full(4, 1e-6))
    search.posterior = replace(known, mean=np.full((3, 4), 10.0))
    step, change = np.array([0.0, 0.05, 0.0, 0.0]), np.array([0.1, -0.2, 0.3])
    search.learn_column(step, np.ones(3) + change)
    np.testing.assert_allclose(search.known.mean[:, 1], change / 0.05, atol=0.01)
    assert unmeasured(search).tolist() == [0, 2]
    search.learn_column(np.array([0.05, 0.0, 0.0, 0.0]), np.full(3, np.nan))
    assert unmeasured(search).tolist() == [0, 2], "a simulation that failed measures nothing"


@pytest.mark.parametrize("d", [D, 450])
def test_a_success_has_measured_every_column_at_the_answer(d):
    """Of more than 400 variables, not all columns are kept."""
    simulator = Simulator(d=d)
    result = solve(simulator, max_queries=d + 100)
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.unmeasured.size == 0
    np.testing.assert_array_equal(result.support, simulator.support)
    others = set(range(d)) - set(result.support.tolist())
    assert moved_alone(simulator.calls, result.x, near=0.02) >= others
    assert "the columns of all variables were measured" in result.message
    assert result.evidence.slopes == f"differences at the answer, of {d} of {d} variables"


def test_where_the_budget_is_too_small_for_it_nothing_is_claimed():
    simulator = Simulator()
    result = solve(simulator, max_queries=60)
    np.testing.assert_array_equal(result.support, simulator.support)
    assert result.status is Status.QUERIES
    assert not result.success
    assert result.nfev < 45, "columns are measured all at once, or not at all"
    assert result.unmeasured.size > 40
    assert "The next step needs" in result.message
    named = ", ".join(f"x[{i}]" for i in result.unmeasured[:5])
    more = result.unmeasured.size - 5
    assert f"the columns of {named} and {more} more were not measured." in result.message
    assert result.alternatives == ()


def test_a_raised_budget_measures_them(tmp_path):
    simulator = Simulator()
    path = tmp_path / "runs.db"
    first = solve(simulator, max_queries=60, store=path)
    whole = solve(Simulator())
    resumed = szoht.resume(path, simulator, run=first.run, max_queries=200).fit
    assert resumed.success
    assert resumed.nfev == whole.nfev
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_a_column_that_fails_is_not_measured():
    simulator = Simulator()
    fails = next(i for i in range(D) if i not in simulator.columns)

    def fragile(x):
        return np.full(15, np.nan) if x[fails] and np.count_nonzero(x) < 6 else simulator(x)

    result = solve(simulator, fragile, on_error="skip")
    np.testing.assert_array_equal(result.support, simulator.support)
    assert result.unmeasured.tolist() == [fails]
    assert result.status is Status.EXHAUSTED
    assert f"the columns of x[{fails}] were not measured" in result.message


def test_a_misfit_that_sigma_does_not_explain_is_no_success():
    """One output is off by a hundred sigma, which no variable explains."""
    simulator = Simulator(m=30)
    observed = noisy(simulator)
    observed[4] += 100 * SIGMA
    result = solve(simulator, observed=observed)
    assert not result.success
    assert "more than `sigma` explains" in result.message
    assert any("more than `sigma` explains" in line for line in result.warnings)


@pytest.mark.parametrize("loss", ["linear", "huber"])
def test_without_a_test_of_the_residuals_there_is_no_success(loss):
    simulator = Simulator()
    sigma = None if loss == "linear" else SIGMA
    result = solve(simulator, sigma=sigma, loss=loss)
    np.testing.assert_array_equal(result.support, simulator.support)
    assert result.status is Status.EXHAUSTED
    assert "Without `sigma` and a linear `loss`" in result.message
    assert not any("sigma" in line for line in result.warnings)


def test_residuals_of_zero_need_no_sigma():
    simulator = Simulator()
    result = solve(simulator, observed=simulator.observed, sigma=None)
    assert result.success
    assert "The residuals are zero" in result.message


def test_a_message_refers_to_what_there_is():
    simulator = Simulator(m=30)
    result = solve(simulator, sigma=None)
    assert "See `evidence`" in result.message
    assert dict(result.evidence.tried)["other supports"] > 0
    cut = solve(simulator, max_queries=10)
    assert "evidence" not in cut.message


def many_outputs(size, seed):
    """Return linear outputs, of which one change of ``size`` is hardly seen in chi-square."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((600, 30))
    return matrix, size * matrix[:, 4] + generator.standard_normal(600)


@pytest.mark.parametrize(("size", "support"), [(0.25, [4]), (0.0, [])])
def test_a_start_within_chi_square_is_tested_too(size, support):
    matrix, observed = many_outputs(size, seed=3)
    assert (observed**2).sum() < 650, "explained, with or without the change"
    result = least_squares(lambda x: matrix @ x, np.zeros(30), k=1, observed=observed, sigma=1.0)
    assert result.support.tolist() == support
    assert result.success
    assert result.unmeasured.size == 0


def correlated(seed, scale):
    """Return a fit to outputs of correlated columns whose errors are a tenth of ``sigma``."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((30, 8)) @ generator.standard_normal((8, 40)) / 3
    matrix += 0.3 * generator.standard_normal((30, 40))
    truth = np.zeros(40)
    truth[generator.choice(40, 3, replace=False)] = generator.choice([-1, 1], 3) * 0.8
    observed = np.tanh(matrix @ truth / 2) + 0.05 * generator.standard_normal(30)
    result = least_squares(
        lambda x: np.tanh(matrix @ x / 2),
        np.zeros(40),
        k=3,
        observed=observed,
        sigma=0.05 * scale,
        rng=seed,
    )
    return result, np.array_equal(result.support, np.flatnonzero(truth))


def test_sigma_that_is_far_too_large_is_said_and_decides_nothing():
    fits = [correlated(seed, scale=10.0) for seed in range(5)]
    assert sum(is_right for _, is_right in fits) >= 4
    for result, _ in fits:
        assert not result.success
        assert "far less than `sigma` says" in result.message
        (line,) = [line for line in result.warnings if "far less than `sigma` says" in line]
        fitting = float(line.partition("`sigma` = ")[2].partition(",")[0])
        assert 0.02 < fitting < 0.1, "the errors are of 0.05"


def test_sigma_that_is_right_is_not_doubted():
    fits = [correlated(seed, scale=1.0) for seed in range(5)]
    assert sum(is_right for _, is_right in fits) >= 4
    assert sum(result.success for result, _ in fits) >= 3
    for result, is_right in fits:
        assert is_right or not result.success
        assert not any("would fit" in line for line in result.warnings)


def test_one_sigma_for_each_output_is_told_as_a_factor():
    simulator = Simulator(m=30)
    sigma = np.linspace(0.4, 0.6, 30)
    result = solve(simulator, sigma=sigma)
    (line,) = [line for line in result.warnings if "would fit" in line]
    assert "`sigma` 0.1" in line or "`sigma` 0.09" in line or "`sigma` 0.08" in line
    assert "times as large would fit" in line


def test_an_output_that_is_never_there_is_named():
    simulator = Simulator(m=20)

    def lost(x):
        outputs = simulator(x)
        outputs[19] = np.nan
        return {f"sensor {i}": value for i, value in enumerate(outputs)}

    observed = {f"sensor {i}": value for i, value in enumerate(noisy(simulator))}
    observed["sensor 3"] = np.nan
    result = solve(simulator, lost, observed=observed)
    np.testing.assert_array_equal(result.support, simulator.support)
    told = [line for line in result.warnings if "missing (NaN) in all" in line]
    assert len(told) == 1
    assert told[0].startswith("sensor 19: ")
    assert "left out of the fit" in told[0]
    assert f"all {result.nfev} simulations" in told[0]
