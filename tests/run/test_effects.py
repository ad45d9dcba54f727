"""What each change is worth, measured where the budget allows."""

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht.core.query import Answer, Plan, Query
from szoht.run.effects import EffectMeasurement, EvaluationArchive

NOMINAL = np.linspace(1, 3, 30)
STEPS = np.zeros(30)
STEPS[[2, 11, 25]] = [0.5, -0.25, 1.0]


HIGH = np.where(STEPS == 1.0, 0.9, 2.0)
LEAST = 2.01
"""The value at the bound, 0.1 short of the minimum."""


def fun(x):
    return 2.0 + float(((x - NOMINAL - STEPS) ** 2).sum())


def knobs():
    return szoht.Variables(NOMINAL, low=NOMINAL - 2, high=NOMINAL + HIGH)


@most_seeds
def test_effects_are_measured_at_the_end(seed):
    result = szoht.minimize(fun, knobs(), k=3, target=LEAST + 1e-9, rng=seed)
    assert result.status is szoht.Status.TARGET
    assert [one.index for one in result.changes] == [25, 2, 11]  # the largest effect first
    for one in result.changes:
        back = result.x.copy()
        back[one.index] = NOMINAL[one.index]
        assert one.effect == pytest.approx(fun(back) - result.fun, abs=1e-12)
        assert one.effect_source == "measured"
    assert result.changes[0].bound == "high"
    assert [one.bound for one in result.changes[1:]] == ["", ""]
    assert result.nfev == result.history["queries"][-1] == result.counts.queries


def test_a_spent_budget_measures_nothing_more():
    result = szoht.minimize(fun, knobs(), k=3, max_queries=60, rng=0)
    assert result.nfev == 60
    assert result.fun < fun(NOMINAL)
    assert {one.effect_source for one in result.changes} <= {"unknown", "estimated"}


def test_effects_are_estimated_from_what_was_evaluated():
    whole = szoht.Variables(np.full(6, 4.0), low=0, high=9, integer=[True] * 5 + [False])
    best = np.array([7.0, 1, 4, 4, 4, 4])
    rows = np.random.default_rng(0).standard_normal((8, 6))

    def fit(x):
        return float(((rows @ (x - best)) ** 2).sum())

    result = szoht.minimize(fit, whole, k=2, max_queries=500, rng=0, on_error="raise")
    assert np.array_equal(result.x, best)
    for one in result.changes:
        back = result.x.copy()
        back[one.index] = 4.0
        assert one.effect_source == "estimated"
        assert one.effect == pytest.approx(fit(back), rel=1e-6)


def test_a_model_that_does_not_fit_is_not_believed():
    archive = EvaluationArchive()
    rng = np.random.default_rng(0)
    for z in rng.uniform(-1, 1, (60, 2)):
        query = Query(base=np.array([0.0, *z]))
        answer = Answer(values=np.array([np.sin(40 * z[0]) + np.sin(55 * z[1])]))
        archive.add(Plan(queries=(query,)), [answer])
    assert archive.effects(np.array([0.0, 0.5, 0.5]), 0.0) == {}


def test_a_failed_measurement_ends_nothing():
    calls = []

    def fragile(x):
        calls.append(fun(x))
        if len(calls) > 1 and min(calls[:-1]) < LEAST + 1e-9:
            raise ValueError("the license has expired")
        return calls[-1]

    for on_error in ("stop", "skip"):
        calls.clear()
        result = szoht.minimize(
            fragile, knobs(), k=3, target=LEAST + 1e-9, rng=0, on_error=on_error
        )
        assert result.status is szoht.Status.TARGET
        assert result.failure is None
        assert "measured" not in {one.effect_source for one in result.changes}


def test_an_interrupted_measurement_ends_nothing():
    calls = []

    def impatient(x):
        calls.append(fun(x))
        if len(calls) > 1 and min(calls[:-1]) < LEAST + 1e-9:
            raise KeyboardInterrupt
        return calls[-1]

    result = szoht.minimize(impatient, knobs(), k=3, target=LEAST + 1e-9, rng=0)
    assert result.status is szoht.Status.TARGET
    assert result.nfev == len(calls)


@most_seeds
def test_a_maximum_falls_when_a_change_is_put_back(seed):
    result = szoht.maximize(lambda x: -fun(x), knobs(), k=3, target=-LEAST - 1e-9, rng=seed)
    assert [one.index for one in result.changes] == [25, 2, 11]
    assert all(one.effect < 0 for one in result.changes)


def test_a_simulation_with_a_seed_is_compared_on_one_seed():
    def noisy(x, sample):
        return fun(x) + 5 * float(np.random.default_rng(int(sample[0])).standard_normal())

    result = szoht.minimize(
        noisy,
        knobs(),
        k=3,
        method="szoht",
        options={"iterate": "best"},
        stochastic=True,
        max_iterations=9,
        rng=0,
    )
    assert {one.effect_source for one in result.changes} == {"measured"}
    for one in result.changes:
        back = result.x.copy()
        back[one.index] = NOMINAL[one.index]
        assert one.effect == pytest.approx(fun(back) - fun(result.x), abs=1e-9)


def test_values_of_other_samples_are_not_compared():
    v = szoht.Variables([1.0, 2.0])
    z = np.array([0.5, 0.0])
    sample = np.array([7])
    measurement = EffectMeasurement(v, z, 100.0, sample, szoht.Status.QUERIES)
    assert [query.base.tolist() for query in measurement.plan.queries] == [[0.5, 0], [0, 0]]
    assert all(query.sample is sample for query in measurement.plan.queries)
    answers = [Answer(values=np.array([value])) for value in (10.0, 12.5)]
    assert measurement.effects(answers) == {0: (2.5, "measured")}


@most_seeds
def test_without_variables_nothing_is_measured(seed):
    result = szoht.minimize(lambda x: float(((x - STEPS) ** 2).sum()), np.zeros(30), k=3, rng=seed)
    assert [one.name for one in result.changes] == ["x[2]", "x[11]", "x[25]"]
    assert {one.effect_source for one in result.changes} == {"unknown"}


@most_seeds
def test_a_table_and_a_frame(seed):
    result = szoht.minimize(fun, knobs(), k=3, target=LEAST + 1e-9, rng=seed)
    lines = str(result.changes).splitlines()
    assert lines[0].split() == [
        "name",
        "nominal",
        "value",
        "bound",
        "effect",
        "when",
        "put",
        "back",
    ]
    assert lines[1].split()[0] == "x[25]"
    assert len(lines) == 4
    frame = result.changes.to_frame()
    assert frame.index.tolist() == ["x[25]", "x[2]", "x[11]"]
    assert frame["value"].tolist() == [one.value for one in result.changes]
    assert len(result.changes[1:]) == 2
