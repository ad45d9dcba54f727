"""The calibration solver: supports found, bounds kept, noise, missing outputs, honest ends."""

import numpy as np
import pytest

import szoht
from algorithms.calibration.problems import Simulator
from outcomes import always, most_seeds
from szoht import Status, Variables, least_squares


def solve(simulator, x0=None, fun=None, **options):
    start = np.zeros(simulator.truth.size) if x0 is None else x0
    options = {"k": 3, "observed": simulator.observed, "rng": 0, "max_queries": 150} | options
    return least_squares(fun or simulator, start, **options)


@most_seeds
def test_the_support_and_its_values_are_found(seed):
    simulator = Simulator(seed=seed)
    result = solve(simulator, rng=seed)
    always(result.nfev == len(simulator.calls))
    np.testing.assert_array_equal(result.support, simulator.support)
    np.testing.assert_allclose(result.x, simulator.truth, atol=1e-5)
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.nfev < 60


@most_seeds
def test_a_thousand_variables_take_few_simulations(seed):
    simulator = Simulator(d=1000, m=20, n=5, noise=0.01)
    result = solve(simulator, rng=seed)
    np.testing.assert_array_equal(result.support, simulator.support)
    assert result.nfev <= 40
    assert result.status is Status.EXHAUSTED
    assert "Fresh noise explains the residuals" in result.message


@most_seeds
def test_sigma_says_when_the_measurements_are_explained(seed):
    simulator = Simulator()
    errors = np.random.default_rng([seed, 7]).standard_normal(simulator.observed.size)
    result = solve(simulator, observed=simulator.observed + 0.05 * errors, sigma=0.05, rng=seed)
    assert result.status is Status.CONVERGED
    assert 2 * result.cost < 25
    np.testing.assert_array_equal(result.support, simulator.support)


@pytest.mark.parametrize("where", ["low", "high"])
@most_seeds
def test_no_point_leaves_the_bounds_where_the_start_is_at_one(seed, where):
    simulator = Simulator()
    simulator.truth = np.abs(simulator.truth) * (1 if where == "low" else -1)
    bounds = (0.0, 1.2) if where == "low" else (-1.2, 0.0)
    result = solve(simulator, bounds=bounds, rng=seed)
    points = np.array(simulator.calls)
    always((points >= bounds[0]).all())
    always((points <= bounds[1]).all())
    np.testing.assert_array_equal(result.support, simulator.support)


@most_seeds
def test_changes_are_counted_from_the_nominal_values(seed):
    simulator = Simulator()
    nominal = np.linspace(1, 2, simulator.truth.size)
    observed = simulator.observed
    result = least_squares(
        lambda x: simulator(x - nominal), nominal, k=3, observed=observed, unit=1.0, rng=seed
    )
    np.testing.assert_array_equal(result.support, simulator.support)
    np.testing.assert_allclose(result.x, nominal + simulator.truth, atol=1e-4)


@most_seeds
def test_another_start_may_have_changes_already(seed):
    simulator = Simulator()
    start = np.zeros(simulator.truth.size)
    start[simulator.columns[0]] = 0.3
    result = solve(simulator, Variables(np.zeros(start.size), unit=1.0, start=start), rng=seed)
    np.testing.assert_array_equal(result.support, simulator.support)


@most_seeds
def test_integers_stay_integers(seed):
    simulator = Simulator()
    simulator.truth[simulator.support] = [2.0, -3.0, 1.0]
    scale, points = 0.2, []

    def scaled(x):
        points.append(x)
        return simulator(scale * x)

    result = least_squares(
        scaled,
        np.zeros(simulator.truth.size),
        k=3,
        observed=simulator.outputs(scale * simulator.truth),
        bounds=(-5, 5),
        integer=True,
        rng=seed,
    )
    always(np.array_equal(points, np.rint(points)))
    np.testing.assert_array_equal(result.x, simulator.truth)


@most_seeds
def test_outputs_that_are_missing_in_part(seed):
    simulator = Simulator(m=20)
    holes = np.random.default_rng([seed, 5])

    def partly(x):
        return np.where(holes.random(20) < 0.1, np.nan, simulator(x))

    observed = simulator.observed
    observed[3] = np.nan
    result = least_squares(
        partly, np.zeros(60), k=3, observed=observed, rng=seed, max_queries=150, sigma=0.01
    )
    np.testing.assert_array_equal(result.support, simulator.support)
    assert np.isnan(result.fun[3])


@pytest.mark.parametrize("sigma", [None, 0.1])
@most_seeds
def test_an_output_is_not_lost_for_gain(seed, sigma):
    """The best of all points that have the output, up to its edge, is x = (0.5, 0.5)."""

    def fun(x):
        return np.array([1.0 - x[0] if x[0] < 0.5 else np.nan, 0.5 - x[1], 0.1 * x[2]])

    result = least_squares(fun, np.zeros(6), k=2, sigma=sigma, rng=seed, max_queries=60)
    assert np.isfinite(result.fun).all()
    np.testing.assert_allclose(result.x[:2], 0.5, atol=0.02)


@most_seeds
def test_integers_where_an_output_is_lost(seed):
    def fun(x):
        return np.array([3.0 - x[0] if x[0] < 3 else np.nan, 2 - x[1], 0.1 * x[2], 2 - x[0] + x[1]])

    options = {"bounds": (-6, 6), "integer": True, "rng": seed, "max_queries": 60}
    result = least_squares(fun, np.zeros(6), k=2, **options)
    assert any("outputs were lost" in line for line in result.explain)
    assert result.x[:2].tolist() == [2, 1], "the best of all points that have the output"


@most_seeds
def test_an_output_is_lost_where_the_others_are_worth_it(seed):
    simulator = Simulator(seed=1, m=20)
    first = simulator.support[0]

    def partly(x):
        outputs = simulator(x)
        if abs(x[first]) > 0.6 * abs(simulator.truth[first]):
            outputs[0] = np.nan
        return outputs

    result = solve(simulator, fun=partly, rng=seed)
    np.testing.assert_allclose(result.x, simulator.truth, atol=1e-3)
    assert np.flatnonzero(np.isnan(result.fun)).tolist() == [0]


@most_seeds
def test_simulations_may_fail(seed):
    simulator = Simulator()

    def fragile(x):
        if np.abs(x).sum() > 2.6 and np.count_nonzero(x) > 3:
            raise RuntimeError("no convergence")
        return simulator(x)

    result = least_squares(
        fragile,
        np.zeros(60),
        k=3,
        observed=simulator.observed,
        rng=seed,
        max_queries=150,
        on_error="skip",
    )
    assert result.counts.failures > 0
    np.testing.assert_array_equal(result.support, simulator.support)


def test_where_most_simulations_fail_the_run_says_so():
    def fun(x):
        return np.full(4, np.nan) if x.any() else np.ones(4)

    result = least_squares(fun, np.zeros(10), k=2, rng=0, max_queries=60, on_error="skip")
    assert result.status is Status.MOSTLY_FAILED
    assert not result.success
    assert not result.x.any()


@pytest.mark.parametrize("after", [5, 25, 45])
@most_seeds
def test_outputs_that_change_for_good_end_the_run(seed, after):
    simulator = Simulator(noise=0.01)

    def fun(x):
        outputs = simulator(x)
        prefix = "a" if len(simulator.calls) <= after else "b"
        return {f"{prefix}{i}": value for i, value in enumerate(outputs)}

    observed = {f"a{i}": value + 5.0 for i, value in enumerate(simulator.observed)}
    result = solve(
        simulator, fun=fun, observed=observed, max_queries=340, on_error="skip", rng=seed
    )
    always(not result.success)
    always(np.isfinite(result.cost))
    assert result.status is Status.MOSTLY_FAILED
    assert result.nfev <= after + 40
    assert result.explain[-1].endswith("simulations failed: the search ends.")


def test_outputs_that_never_change_are_an_error():
    result = least_squares(lambda x: np.ones(4), np.zeros(10), k=2, rng=0, max_queries=60)
    assert result.status is Status.FAILED
    assert "none of the 4 outputs changed" in result.message
    assert result.cost == 2.0
    assert result.counts.queries < 20


def test_a_start_that_explains_the_measurements_stays():
    simulator = Simulator()
    start = np.zeros(60)
    result = least_squares(simulator, start, k=3, observed=simulator.outputs(start), rng=0)
    assert result.status is Status.CONVERGED
    assert result.nfev == 2
    assert not result.x.any()


def test_nothing_can_be_improved():
    """The residuals are orthogonal to all columns."""

    def fun(x):
        return np.array([1.0, x[0] + 0.1 * x[1], x[1] - 0.2 * x[2], x[2]])

    result = least_squares(fun, np.zeros(6), k=2, rng=0, max_queries=150)
    assert result.status is Status.NO_PROGRESS
    assert not result.success


@most_seeds
def test_a_robust_loss_is_not_led_by_outliers(seed):
    simulator = Simulator(m=30)
    observed = simulator.observed
    observed[[4, 11, 20]] += [30.0, -40.0, 25.0]
    linear = solve(simulator, observed=observed, sigma=0.05, rng=seed)
    robust = solve(simulator, observed=observed, sigma=0.05, loss="cauchy", rng=seed)
    assert np.abs(linear.x - simulator.truth).max() > 0.1
    np.testing.assert_array_equal(robust.support, simulator.support)
    np.testing.assert_allclose(robust.x, simulator.truth, atol=0.02)


@most_seeds
def test_smooth_fields_take_few_simulations(seed):
    d = 100
    places = np.arange(d)
    sensors = np.linspace(5, 95, 12)
    kernel = np.exp(-0.5 * ((sensors[:, np.newaxis] - places) / 8) ** 2)
    truth = np.zeros(d)
    truth[[20, 70]] = [1.0, -0.7]
    result = least_squares(
        lambda x: kernel @ x, np.zeros(d), k=2, observed=kernel @ truth, unit=1.0, rng=seed
    )
    np.testing.assert_allclose(result.x, truth, atol=1e-3)
    assert result.nfev < 60
    assert any("neighbors are alike" in line for line in result.explain)


def test_the_budget_is_kept_to_the_last_simulation():
    for limit in (1, 2, 3, 7, 20):
        simulator = Simulator()
        result = solve(simulator, max_queries=limit)
        assert result.nfev == len(simulator.calls) <= limit
        assert result.status is Status.QUERIES


@most_seeds
def test_batches_come_in_one_plan(seed):
    run = szoht.LeastSquaresAskTell(np.zeros(60), k=3, rng=seed, max_queries=100)
    simulator = Simulator()
    sizes = []
    while not run.done:
        points = run.ask().points()
        sizes.append(len(points))
        run.tell(np.array([simulator(x) - simulator.observed for x in points]))
    assert max(sizes) >= 7
    np.testing.assert_array_equal(run.fit.support, simulator.support)


@most_seeds(seeds=(0, 2, 7, 8, 9))
def test_a_misfit_within_chi_square_does_not_choose_between_supports(seed):
    """A near twin explains 600 outputs within chi-square, too, but is decisively worse."""
    generator = np.random.default_rng(seed)
    jacobian = np.zeros((600, 30))
    jacobian[:, :12] = 20 * generator.standard_normal((600, 12))
    jacobian[:, 5] = jacobian[:, 2] + 0.3 * generator.standard_normal(600)
    truth = np.zeros(30)
    truth[[2, 7]] = 0.8, -0.6

    def simulate(x):
        linear = jacobian @ x
        return linear + 0.004 * linear**2

    observed = simulate(truth) + generator.standard_normal(600)
    options = {"observed": observed, "sigma": 1.0, "max_queries": 100}
    result = least_squares(simulate, np.zeros(30), k=2, rng=seed, **options)
    assert result.status is Status.CONVERGED
    assert result.support.tolist() == [2, 7]
