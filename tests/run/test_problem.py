"""Problems as people have them: variables and the keywords that are short for them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds

import szoht
from outcomes import always, most_seeds
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.run.problem import read_bounds

D = 60
SCALES = 10.0 ** np.random.default_rng(0).integers(-8, 9, D)
NOMINAL = SCALES * np.random.default_rng(1).uniform(1, 5, D)
NAMES = [f"knob {i}" for i in range(D)]
TARGET = np.zeros(D)
TARGET[[3, 20, 41]] = [0.4, -0.3, 0.2]


def misfit(x):
    """Best where three variables are changed by some ten percent of their nominal values."""
    return float((((x - NOMINAL) / NOMINAL - TARGET) ** 2).sum())


def knobs(**settings):
    return szoht.Variables(NOMINAL, low=0.5 * NOMINAL, high=2 * NOMINAL, names=NAMES, **settings)


def recorded(fun):
    """Return a function and the list of points at which it is called."""
    points = []

    def call(x, *more):
        points.append(np.array(x))
        return fun(x, *more)

    return call, points


@most_seeds
def test_few_knobs_are_changed_from_nominal(seed):
    fun, points = recorded(misfit)
    result = szoht.minimize(fun, knobs(), k=3, max_queries=1_000, rng=seed)
    stack = np.array(points)
    always(np.array_equal(stack[0], NOMINAL))
    always((stack >= 0.5 * NOMINAL).all())
    always((stack <= 2 * NOMINAL).all())
    always(result.nfev == len(points) <= 1_000)
    always(misfit(result.x) == result.fun)
    assert result.support.tolist() == [3, 20, 41]
    assert result.fun == pytest.approx(0, abs=1e-12)
    assert result.x == pytest.approx(NOMINAL * (1 + TARGET), rel=1e-5)


def test_keywords_are_short_for_variables():
    one = szoht.minimize(misfit, knobs(), k=3, max_queries=500, rng=0)
    two = szoht.minimize(
        misfit,
        NOMINAL,
        reference=NOMINAL,
        bounds=Bounds(0.5 * NOMINAL, 2 * NOMINAL),
        names=NAMES,
        k=3,
        max_queries=500,
        rng=0,
    )
    assert np.array_equal(one.x, two.x)
    assert (one.nfev, one.changes) == (two.nfev, two.changes)


@most_seeds
def test_units_that_are_given_are_not_looked_for(seed):
    """Without bounds and with nominal values of zero, only the units say how far to go."""

    def fun(x):
        return float(((x / SCALES - TARGET) ** 2).sum())

    result = szoht.minimize(fun, np.zeros(D), unit=SCALES, k=3, max_queries=500, rng=seed)
    plain = szoht.minimize(
        lambda z: float(((z - TARGET) ** 2).sum()), np.zeros(D), k=3, max_queries=500, rng=seed
    )
    assert result.support.tolist() == plain.support.tolist() == [3, 20, 41]
    assert result.nfev <= 1.3 * plain.nfev + 3


@most_seeds
def test_given_units_are_believed(seed):
    """A function that curves over 1e6 units makes `auto` look for a scale, unless one is given."""

    def fun(x):
        return float(((x / 1e6 - TARGET) ** 2).sum())

    settings = {"k": 3, "max_queries": 500, "rng": seed}
    looked = szoht.minimize(fun, np.zeros(D), **settings)
    given = szoht.minimize(fun, np.zeros(D), unit=1.0, **settings)
    said = ["unit" in " ".join(result.explain) for result in (looked, given)]
    assert said == [True, False]


def test_a_plain_start_means_what_it_meant():
    """Bounds alone count non-zeros of x, and are those of `SparseBox`."""
    target = np.zeros(40)
    target[[2, 9]] = [1.0, -0.5]

    def fun(x):
        return float(((x - target) ** 2).sum())

    start = np.eye(40)[5]
    for method in ("szoht", "zoro"):
        bounds = szoht.minimize(
            fun, start, bounds=(-9, 9), k=2, method=method, max_iterations=12, rng=0
        )
        box = szoht.minimize(
            fun,
            start,
            constraint=szoht.SparseBox(2, low=-9, high=9),
            method=method,
            max_iterations=12,
            rng=0,
        )
        assert np.array_equal(bounds.x, box.x)
        assert bounds.history["value"][:12].tolist() == box.history["value"].tolist()


def test_names_of_a_series_change_nothing_else():
    target = pd.Series(0.0, index=list("abcdefgh"))
    target["c"] = 2.0

    def fun(x):
        return float(((x - target.to_numpy()) ** 2).sum())

    named = szoht.minimize(fun, 0 * target, k=1, target=1e-9, rng=0)
    plain = szoht.minimize(fun, np.zeros(8), k=1, target=1e-9, rng=0)
    assert np.array_equal(named.x, plain.x)
    assert [one.name for one in named.changes] == ["c"]
    assert named.nfev == plain.nfev  # with one change, putting it back is the start
    assert named.changes[0].effect == pytest.approx(4.0)


@pytest.mark.parametrize("x_as", ["dict", "series"])
@most_seeds
def test_a_function_of_named_values(seed, x_as):
    def fun(x):
        return (x["speed"] - 30) ** 2 + (x["rate"] - 2) ** 2 + sum(abs(x[n]) for n in ("a", "b"))

    nominal = {"speed": 20.0, "rate": 1.0, "a": 0.0, "b": 0.0}
    result = szoht.minimize(
        fun, nominal, reference=nominal, bounds={"speed": (0, 80)}, k=1, x_as=x_as, rng=seed
    )
    assert result.x == pytest.approx([30, 1, 0, 0], abs=1e-6)


def test_args_come_after_the_point():
    def fun(x, target, power):
        return float((np.abs(x - target) ** power).sum())

    target = np.eye(20)[4]
    result = szoht.minimize(fun, np.zeros(20), args=(target, 2), k=1, max_queries=200, rng=0)
    same = szoht.minimize(lambda x: fun(x, target, 2), np.zeros(20), k=1, max_queries=200, rng=0)
    assert np.array_equal(result.x, same.x)


@most_seeds
def test_a_start_elsewhere(seed):
    start = NOMINAL.copy()
    start[[3, 20]] = [1.3 * NOMINAL[3], 0.8 * NOMINAL[20]]
    fun, points = recorded(misfit)
    result = szoht.minimize(fun, knobs(start=start), k=3, max_queries=500, rng=seed)
    always(points[0] == pytest.approx(start, rel=1e-12))
    assert result.support.tolist() == [3, 20, 41]


@most_seeds
def test_fixed_variables_stay(seed):
    low, high = 0.5 * NOMINAL, 2 * NOMINAL
    low[20] = high[20] = NOMINAL[20]
    fun, points = recorded(misfit)
    result = szoht.minimize(
        fun, szoht.Variables(NOMINAL, low=low, high=high), k=3, max_queries=500, rng=seed
    )
    always((np.array(points)[:, 20] == NOMINAL[20]).all())
    assert {3, 41} <= set(result.support.tolist())


@pytest.mark.parametrize("method", ["szoht", "zoro", "zo_adamm", "sketch_ht"])
@most_seeds
def test_named_methods_work_in_units_and_stay_inside(seed, method):
    fun, points = recorded(misfit)
    result = szoht.minimize(fun, knobs(), k=3, method=method, max_queries=600, rng=seed)
    stack = np.array(points)
    always((stack >= 0.5 * NOMINAL).all())
    always((stack <= 2 * NOMINAL).all())
    always(result.support.size <= 3)
    assert result.fun < 0.8 * misfit(NOMINAL)


@most_seeds
def test_a_path_over_k_counts_changes(seed):
    result = szoht.minimize(misfit, knobs(), max_queries=3_000, rng=seed)
    assert result.knee == 3
    assert result.support.tolist() == [3, 20, 41]
    first = result.path[0]
    assert (first.k, first.fun) == (0, misfit(NOMINAL))
    assert np.array_equal(first.x, NOMINAL)


@most_seeds
def test_callbacks_monitor_and_history_speak_the_users_numbers(seed):
    seen, monitored = [], []

    def monitor(x):
        monitored.append(misfit(x))
        return monitored[-1]

    result = szoht.minimize(
        misfit, knobs(), k=3, max_queries=500, rng=seed, callback=seen.append, monitor=monitor
    )
    always(misfit(seen[-1].best_x) == seen[-1].best_value == result.fun)
    always(result.history["best"][-1] == result.fun)
    always(result.history["monitor"].tolist() == [misfit(progress.x) for progress in seen])
    assert seen[-1].support.tolist() == [3, 20, 41]
    assert result.history["support_size"][-1] == 3
    assert sorted(sum(result.history["entered"], ())) == [3, 20, 41]


def test_vectorized_and_workers_give_the_same_bits():
    def many(points):
        return ((((points - NOMINAL) / NOMINAL) - TARGET) ** 2).sum(axis=1)

    one = szoht.minimize(misfit, knobs(), k=3, max_queries=300, rng=0)
    two = szoht.minimize(many, knobs(), k=3, max_queries=300, rng=0, vectorized=True)
    three = szoht.minimize(misfit, knobs(), k=3, max_queries=300, rng=0, workers=2)
    assert np.array_equal(one.x, three.x)
    assert two.support.tolist() == one.support.tolist()


def test_along_is_given_offsets_within_the_bounds():
    points = []

    def along(x, indices, offsets):
        moved = np.tile(x, (len(indices), 1))
        moved[np.arange(len(indices))[:, None], indices] += offsets
        points.extend(moved)
        return np.array([misfit(row) for row in moved])

    szoht.minimize(misfit, knobs(), k=3, max_queries=300, rng=0, along=along)
    stack = np.array(points)
    assert len(stack)
    assert (stack >= 0.5 * NOMINAL).all()
    assert (stack <= 2 * NOMINAL).all()


def test_gradients_follow_the_chain_rule():
    def gradient(x):
        return 2 * ((x - NOMINAL) / NOMINAL - TARGET) / NOMINAL

    result = szoht.minimize(
        misfit, knobs(), k=3, method="iht", gradient=gradient, max_iterations=200, rng=0
    )
    assert result.support.tolist() == [3, 20, 41]
    assert result.fun < 1e-6


def test_ask_tell_speaks_the_users_numbers():
    run = szoht.AskTell(knobs(), k=3, max_queries=500, rng=0)
    assert run.ask() is run.ask()
    points = []
    while not run.done:
        stack = run.ask().points()
        points.extend(stack)
        run.tell([misfit(x) for x in stack])
    assert np.array_equal(points[0], NOMINAL)
    other = szoht.minimize(misfit, knobs(), k=3, max_queries=500, rng=0)
    assert np.array_equal(run.result.x, other.x)
    assert repr(run.result.changes) == repr(other.changes)


def test_ask_tell_takes_a_gradient_in_x():
    run = szoht.AskTell(knobs(), k=3, method="iht", max_iterations=100, rng=0)
    while not run.done:
        plan = run.ask()
        x = plan.points()[0]
        wanted = any(query.gradient for query in plan.queries)
        slope = 2 * ((x - NOMINAL) / NOMINAL - TARGET) / NOMINAL
        run.tell([misfit(one) for one in plan.points()], slope if wanted else None)
    other = szoht.minimize(
        misfit,
        knobs(),
        k=3,
        method="iht",
        gradient=lambda x: 2 * ((x - NOMINAL) / NOMINAL - TARGET) / NOMINAL,
        max_iterations=100,
        rng=0,
    )
    assert np.array_equal(run.result.x, other.x)


def test_a_failure_names_the_variable():
    def fun(x):
        if not np.array_equal(x, NOMINAL):
            raise ValueError("diverged")
        return 1.0

    result = szoht.minimize(fun, knobs(), k=3, on_error="stop", max_queries=50, rng=0)
    assert "knob" in str(result.failure)
    assert "->" in str(result.failure)
    assert (result.failure.point >= 0.5 * NOMINAL).all()


@most_seeds
def test_logarithmic_rates(seed):
    nominal = 10.0 ** np.random.default_rng(3).uniform(-12, 3, 40)
    factors = np.ones(40)
    factors[[5, 30]] = [8.0, 0.1]

    def fun(x):
        return float((np.log(x / (nominal * factors)) ** 2).sum())

    rates = szoht.Variables(nominal, log=True)
    result = szoht.minimize(fun, rates, k=2, max_queries=300, rng=seed)
    assert result.support.tolist() == [5, 30]
    assert result.x / nominal == pytest.approx(factors, rel=1e-5)


def test_a_result_prints_short_and_can_be_pickled():
    result = szoht.minimize(misfit, knobs(), k=3, max_queries=300, rng=0)
    assert max(map(len, str(result).splitlines())) < 400
    assert len(str(result).splitlines()) < 20
    assert "knob 3: " in str(result)
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert repr(again.changes) == repr(result.changes)  # an effect that was not measured is NaN


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": (1, 2)}, "`bounds` must include 0 .*reference=x0"),
        ({"bounds": [(0, 1)] * 3}, "`bounds` must have as many entries as `x0`, 4"),
        ({"bounds": (1, -1)}, r"low <= high; got \(1, -1\). Swap them"),
        ({"bounds": [(-1, 1), (0, 0), (2, -3), (0, 1)]}, r"low <= high; got \(2, -3\)"),
        ({"bounds": (np.nan, 1)}, "`bounds` must be numbers, None for no bound; got nan"),
        ({"bounds": [(0, 1)] * 3 + [(0, np.nan)]}, "None for no bound; got nan"),
        ({"bounds": {"a": (np.nan, 1)}, "names": list("abcd")}, "None for no bound; got nan"),
        ({"bounds": Bounds([0, 0, np.nan, 0], 1)}, "None for no bound; got nan"),
        ({"bounds": [1, 2, 3, 4]}, "`bounds` must be pairs"),
        ({"bounds": 3.0}, "`bounds` must be pairs"),
        ({"unit": -1.0}, "`unit` must be a finite number > 0"),
        ({"names": ["a", "b", "c", "a"]}, "`names` must differ"),
        ({"reference": [1.0, 2.0]}, "`reference` must have as many entries as `x0`, 4; got 2"),
        ({"reference": np.ones(4), "bounds": (2, 3)}, "`nominal` must lie within the bounds"),
        ({"x_as": "list"}, "`x_as` must be one of 'array', 'series', 'dict'"),
        ({"k": 9, "bounds": (0, 1)}, r"`k` must be an integer in \[1, d\]; got k=9 with d=4"),
    ],
)
def test_what_is_refused_before_a_query_is_spent(settings, message):
    fun, points = recorded(lambda x: 0.0)
    with pytest.raises(ParameterError, match=message):
        szoht.minimize(fun, np.zeros(4), **({"k": 1} | settings))
    assert points == []


def test_something_must_be_free():
    with pytest.raises(ParameterError, match="low == high for each of the 2"):
        szoht.minimize(misfit, szoht.Variables([1.0, 2.0], low=[1, 2], high=[1, 2]), k=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": ("low", "high")}, "`bounds` must be numbers, None for no bound; got str"),
        ({"integer": "speed", "names": list("abcd")}, r"got 'speed'. Pass \['speed'\]"),
        ({"names": "abcd"}, "`names` must be several strings; got 'abcd'"),
    ],
)
def test_what_is_of_another_type(settings, message):
    with pytest.raises(ParameterTypeError, match=message):
        szoht.minimize(lambda x: 0.0, np.zeros(4), **({"k": 1} | settings))


def test_messages_are_short_whatever_the_bounds_hold():
    wide = szoht.Variables(np.ones(500), low=0, high=[np.inf] + [2.0] * 499)
    with pytest.raises(ParameterError, match="needs finite bounds") as caught:
        szoht.minimize(misfit, wide, k=1, method="sparse_rs")
    assert len(str(caught.value)) < 300


def test_keywords_beside_variables_are_refused():
    with pytest.raises(ParameterError, match="`unit` is part of `Variables`"):
        szoht.minimize(misfit, knobs(), unit=1.0, k=3)


def test_a_frame_is_read_by_variables():
    with pytest.raises(ParameterTypeError, match=r"Variables\.from_frame"):
        szoht.minimize(misfit, pd.DataFrame({"nominal": NOMINAL}), k=3)


def test_a_sparse_start_has_no_columns():
    start = szoht.SparseVector(10, [1], [2.0])
    with pytest.raises(CapabilityError, match="Pass `x0` as an array"):
        szoht.minimize(misfit, start, bounds=(0, 1), k=3)


def test_a_stack_has_no_names():
    with pytest.raises(CapabilityError, match="vectorized"):
        szoht.minimize(misfit, knobs(), k=3, vectorized=True, x_as="dict")


def test_all_forms_of_bounds():
    assert read_bounds((0, 1)) == (0, 1)
    assert read_bounds([(0, 1), (None, 2)]) == ([0, None], [1, 2])
    assert read_bounds(np.array([[0.0, 1.0], [2.0, 3.0]])) == ([0, 2], [1, 3])
    assert read_bounds({"a": (0, None)}) == ({"a": 0}, {"a": None})
    low, high = read_bounds(Bounds([0, 1], [2, 3]))
    assert (low.tolist(), high.tolist()) == ([0, 1], [2, 3])


def test_integers_are_refused_by_methods_that_take_small_differences():
    whole = szoht.Variables([1.0, 2.0, 3.0], low=0, high=9, integer=True)
    with pytest.raises(CapabilityError, match="'auto', 'sparse_rs' or 'corner_search'"):
        szoht.minimize(lambda x: 0.0, whole, k=1, method="szoht")


@pytest.mark.parametrize("method", ["auto", "sparse_rs", "corner_search"])
@most_seeds
def test_integers_are_asked_only(seed, method):
    whole = szoht.Variables([1.0, 2.0, 3.0, 4.0], low=0, high=9, integer=True)
    fun, points = recorded(lambda x: float((x - [1, 9, 3, 4]) @ (x - [1, 9, 3, 4])))
    result = szoht.minimize(fun, whole, k=1, method=method, max_queries=100, rng=seed)
    stack = np.array(points)
    always(np.array_equal(stack, np.rint(stack)))
    always(((stack >= 0) & (stack <= 9)).all())
    assert result.x.tolist() == [1, 9, 3, 4]
