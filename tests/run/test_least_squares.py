"""`least_squares`: outputs by name, misuse, stores, workers, ask/tell, and what it reports."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

import szoht
from algorithms.calibration.problems import Simulator
from outcomes import always, most_seeds
from szoht import Status, least_squares
from szoht.core.algorithm import PathPoint
from szoht.errors import ParameterError, ParameterTypeError, SkippedPointWarning
from szoht.run import external as remote
from szoht.run.least_squares_fit import with_answer

D = 40


@pytest.fixture
def simulator():
    return Simulator(d=D)


@pytest.fixture
def named(simulator):
    return lambda x: {f"sensor {i}": value for i, value in enumerate(simulator(x))}


OPTIONS = {"k": 3, "rng": 0, "max_queries": 120}


def same(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    assert one.cost == other.cost
    assert one.nfev == other.nfev
    np.testing.assert_array_equal(one.fun, other.fun)
    np.testing.assert_array_equal(one.covariance, other.covariance)


@most_seeds
def test_scipys_names_mean_what_they_mean_there(seed):
    simulator = Simulator(d=D)
    observed, sigma = simulator.observed + 0.01, 0.05

    def residuals(x):
        return (simulator.outputs(x) - observed) / sigma

    result = least_squares(
        simulator, np.zeros(D), observed=observed, sigma=sigma, **OPTIONS | {"rng": seed}
    )
    always(result.nfev == len(simulator.calls))
    always(result.cost == pytest.approx(0.5 * (residuals(result.x) ** 2).sum()))
    always(np.allclose(result.fun, residuals(result.x)))
    always(result.jac.shape == (15, 3))
    always(result.grad.shape == (3,))
    on = result.support

    def on_support(values):
        x = np.zeros(D)
        x[on] = values
        return residuals(x)

    reference = scipy.optimize.least_squares(on_support, result.x[on])
    assert result.cost <= 1.001 * reference.cost
    np.testing.assert_allclose(result.jac, reference.jac, rtol=0.1, atol=1.0)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy"])
def test_losses_are_those_of_scipy(loss):
    residuals = np.array([0.3, -2.0, 8.0])
    ours = least_squares(
        lambda x: residuals + 0 * x[0], np.zeros(2), k=1, loss=loss, f_scale=1.5, max_queries=2
    )
    theirs = scipy.optimize.least_squares(
        lambda x: residuals + 0 * x[0], np.zeros(1), loss=loss, f_scale=1.5
    )
    assert ours.cost == pytest.approx(theirs.cost)


def test_outputs_by_name(simulator, named):
    plain = least_squares(simulator, np.zeros(D), observed=simulator.observed, **OPTIONS)
    shuffled = list(enumerate(simulator.observed))[::-1]
    observed = {f"sensor {i}": value for i, value in shuffled}
    result = least_squares(named, np.zeros(D), observed=observed, **OPTIONS)
    np.testing.assert_array_equal(result.support, plain.support)
    row = result.residual_table[0]
    assert row.name == "sensor 14"
    assert row.observed == simulator.observed[14]
    assert row.value == pytest.approx(simulator.outputs(result.x)[14])
    assert result.to_frame().index[0] == "sensor 14"


@most_seeds
def test_a_series_is_read_by_its_index(seed, simulator, named):
    pandas = pytest.importorskip("pandas")
    observed = pandas.Series(named(simulator.truth))
    result = least_squares(
        lambda x: pandas.Series(named(x)),
        np.zeros(D),
        observed=observed,
        sigma=0.1,
        **OPTIONS | {"rng": seed},
    )
    np.testing.assert_array_equal(result.support, simulator.support)
    assert result.residual_table[2].name == "sensor 2"


@most_seeds
def test_without_measurements_outputs_are_residuals_and_are_asked_for_once(seed, simulator, named):
    def residuals(x):
        return {
            name: value - target
            for (name, value), target in zip(named(x).items(), simulator.observed, strict=True)
        }

    simulator.calls.clear()
    result = least_squares(residuals, np.zeros(D), **OPTIONS | {"rng": seed})
    always(result.nfev == len(simulator.calls))
    always(result.residual_table[1].name == "sensor 1")
    np.testing.assert_array_equal(result.support, simulator.support)


def test_a_vectorized_function(simulator):
    def many(points):
        linear = points @ simulator.jacobian.T
        return linear + 0.1 * linear**2

    one = least_squares(simulator, np.zeros(D), observed=simulator.observed, **OPTIONS)
    result = least_squares(
        many, np.zeros(D), observed=simulator.observed, vectorized=True, **OPTIONS
    )
    np.testing.assert_allclose(result.x, one.x, atol=1e-8)
    residuals = least_squares(
        lambda points: many(points) - simulator.observed, np.zeros(D), vectorized=True, **OPTIONS
    )
    np.testing.assert_array_equal(residuals.support, result.support)


def quadratic(x):
    linear = np.array([x[3] - 1.0, x[7] + 2.0 * x[3], x[7] - x[11], 0.5 * x[11] + 0.2])
    return linear + 0.05 * linear**2


def test_workers_change_nothing():
    one = least_squares(quadratic, np.zeros(30), k=3, rng=0, max_queries=25)
    two = least_squares(quadratic, np.zeros(30), k=3, rng=0, max_queries=25, workers=2)
    same(one, two)


def test_a_stored_run_is_resumed_to_the_same_end(tmp_path):
    path = tmp_path / "runs.db"
    whole = least_squares(quadratic, np.zeros(30), k=3, rng=0, max_queries=30)
    part = least_squares(quadratic, np.zeros(30), k=3, rng=0, max_queries=30, store=path)
    same(whole, part)
    calls = []

    def counted(x):
        calls.append(x)
        return quadratic(x)

    def stop(progress):
        return progress.queries >= 12

    first = least_squares(
        counted, np.zeros(30), k=3, rng=0, max_queries=30, store=path, callback=stop
    )
    assert first.status is Status.CALLBACK
    assert len(calls) == first.nfev
    with szoht.Store(path) as store:
        assert len(list(store.runs())) == 2
    resumed = szoht.resume(path, counted, run=first.run, max_queries=45)
    extended = szoht.resume(path, quadratic, run=part.run, max_queries=45)
    same(extended.fit, resumed.fit)
    assert len(calls) == resumed.nfev > part.nfev
    assert resumed.fun == resumed.fit.cost


def test_points_are_simulated_elsewhere(tmp_path):
    whole = least_squares(quadratic, np.zeros(30), k=3, rng=0, max_queries=25)
    run = szoht.LeastSquaresAskTell(np.zeros(30), k=3, rng=0, max_queries=25)
    while not run.done:
        run.tell(np.array([quadratic(x) for x in run.ask().points()]))
    same(whole, run.fit)
    with szoht.Store(tmp_path / "runs.db") as store:
        again = szoht.LeastSquaresAskTell(np.zeros(30), k=3, rng=0, max_queries=25)
        name = remote.begin(store, again, np.zeros(30), limits={"max_queries": 25})
        while points := remote.waiting(store, name):
            replies = [remote.Reply(p.id, quadratic(p.x).tolist()) for p in points]
            told = remote.answer(store, name, replies)
        assert told.result.fun == whole.cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 0.0}, "`sigma` must be finite and > 0"),
        ({"sigma": [1.0, -1.0, 1.0, 1.0]}, r"sigma\[1\]=-1"),
        ({"sigma": [1.0, 2.0], "observed": np.zeros(4)}, "observed values; got 2"),
        ({"observed": np.full(4, np.nan)}, "`observed` must have a finite entry"),
        ({"observed": [0.0, 1.0, -np.inf, 2.0]}, r"NaN for a measurement .*observed\[2\]=-inf"),
        ({"observed": np.zeros((2, 2))}, "`observed` must be 1-d"),
        ({"observed": {"a": 1.0}, "sigma": {"b": 1.0}}, "no 'a'"),
        ({"loss": "square"}, "`loss` must be one of"),
        ({"f_scale": 0.0}, "`f_scale`"),
        ({"k": 0}, "`k` must be an integer in"),
        ({"level": 1.0}, "`level`"),
    ],
)
def test_misuse_is_found_before_anything_is_simulated(options, message):
    def never(x):
        raise AssertionError

    with pytest.raises(ParameterError, match=message):
        least_squares(never, np.zeros(5), **({"observed": np.zeros(4)} | options))


def test_measurements_must_be_numbers():
    with pytest.raises(ParameterTypeError, match="`observed` must be numbers"):
        least_squares(quadratic, np.zeros(30), observed=["a", "b"])


def test_measurements_that_do_not_match_the_outputs():
    with pytest.raises(szoht.SzohtError, match="must return 3 outputs at every point; got 4"):
        least_squares(quadratic, np.zeros(30), observed=np.zeros(3))
    with pytest.raises(szoht.SzohtError, match="lacks 'c'"):
        least_squares(lambda x: {"a": 1.0, "b": x[0]}, np.zeros(3), observed={"a": 1, "c": 2})


@most_seeds
def test_outputs_that_change_their_number_are_failures_and_nothing_is_lost(seed, simulator):
    calls = []

    def changing(x):
        calls.append(x)
        outputs = simulator(x)
        return outputs[:-1] if len(calls) == 9 else outputs

    with pytest.warns(SkippedPointWarning, match="15 outputs at every point; got 14"):
        result = least_squares(
            changing, np.zeros(D), observed=simulator.observed, **OPTIONS | {"rng": seed}
        )
    always(result.counts.failures == 1)
    np.testing.assert_array_equal(result.support, simulator.support)


@most_seeds
def test_k_may_be_more_than_there_are_variables(seed):
    result = least_squares(lambda x: np.array([x[0] - 0.3, x[1] + 0.2]), np.zeros(2), rng=seed)
    np.testing.assert_allclose(result.x, [0.3, -0.2], atol=1e-6)


@most_seeds
def test_names_bounds_and_tables(seed, simulator):
    names = [f"knob {i}" for i in range(D)]
    sigma = 0.05
    errors = sigma * np.random.default_rng(1).standard_normal(simulator.observed.size)
    result = least_squares(
        simulator,
        np.zeros(D),
        observed=simulator.observed + errors,
        sigma=sigma,
        names=names,
        bounds=(-2, 2),
        **OPTIONS | {"rng": seed},
    )
    assert {change.name for change in result.changes} == {names[i] for i in simulator.support}
    assert [entry.name for entry in result.intervals] == [names[i] for i in result.support]
    for entry, i in zip(result.intervals, result.support, strict=True):
        assert entry.low < entry.value < entry.high
        assert abs(entry.value - simulator.truth[i]) < 5 * entry.standard_error
    text = str(result)
    assert "knob" in text
    assert "simulations" in text
    assert "95 %, linearized, at this support: knob" in text


@most_seeds
def test_standard_errors_are_those_of_linear_regression(seed):
    generator = np.random.default_rng(4)
    matrix = np.zeros((30, 20))
    matrix[:, :4] = generator.standard_normal((30, 4))
    sigma = 0.1
    truth = np.zeros(20)
    truth[[0, 2]] = [1.0, -1.0]
    observed = matrix @ truth + sigma * generator.standard_normal(30)
    result = least_squares(
        lambda x: matrix @ x, np.zeros(20), k=2, observed=observed, sigma=sigma, unit=1.0, rng=seed
    )
    on = matrix[:, [0, 2]]
    covariance = sigma**2 * np.linalg.inv(on.T @ on)
    scale = max(1.0, 2 * result.cost / 28)
    np.testing.assert_allclose(result.covariance, scale * covariance, rtol=0.02)


@most_seeds
def test_variables_that_the_data_cannot_tell_apart(seed):
    """Two variables with the same effect: each is an alternative to the other."""

    def fun(x):
        return np.array([x[0] + x[1], 2 * (x[0] + x[1]) + x[2], x[2], 0.3 * x[3]])

    result = least_squares(
        fun, np.zeros(8), k=2, observed=[1.0, 2.5, 0.5, 0.0], sigma=0.1, unit=1.0, rng=seed
    )
    supports = {frozenset(result.support.tolist())}
    supports |= {frozenset(np.flatnonzero(other.x).tolist()) for other in result.alternatives}
    assert {frozenset({0, 2}), frozenset({1, 2})} <= supports
    assert any("other supports" in line for line in result.warnings)
    assert all(other.output.startswith("output[") for other in result.alternatives)


@most_seeds
def test_a_combination_that_is_not_determined(seed):
    matrix = np.array([[1.0, 1.01, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.1]])
    observed = matrix @ [1.0, 1.0, 0.0]
    result = least_squares(
        lambda x: matrix @ x, np.zeros(3), k=2, observed=observed, sigma=1e-4, unit=1.0, rng=seed
    )
    assert result.support.tolist() == [0, 1]
    assert result.condition > 1e4
    assert any("hard to tell apart" in line for line in result.warnings)


def test_a_path_has_the_answer_also_where_it_was_bettered_since():
    zeros, answer = np.zeros(3), np.array([1.0, 0.0, 0.0])
    path = (PathPoint(0, zeros, 5.0), PathPoint(1, zeros, 4.0), PathPoint(2, zeros, 4.0))
    run = SimpleNamespace(path=path, x=answer, fun=3.0)
    assert with_answer(run, 1) == (path[0], PathPoint(1, answer, 3.0), path[2])
    assert with_answer(run, None) == path


def test_chi_square_needs_sigma(simulator):
    with pytest.raises(ParameterError, match="`sigma` must be given with k='chi2'"):
        least_squares(simulator, np.zeros(D), k="chi2", observed=simulator.observed)


@pytest.mark.parametrize("k", [D, 61])
@most_seeds
def test_as_many_changes_as_there_are_variables(seed, simulator, k):
    """Fifteen outputs of forty variables: every one of them can be explained."""
    result = least_squares(
        simulator, np.zeros(D), k=k, observed=simulator.observed, rng=seed, max_queries=1000
    )
    start = 0.5 * ((simulator.outputs(np.zeros(D)) - simulator.observed) ** 2).sum()
    assert result.cost < 1e-6 * start
    assert result.nfev < 600
