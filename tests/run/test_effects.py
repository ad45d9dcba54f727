"""What each change is worth, measured where the budget allows."""

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht.core.query import Answer
from szoht.run.effects import EffectMeasurement

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
    assert result.changes[0].bound == "high"
    assert [one.bound for one in result.changes[1:]] == ["", ""]
    assert result.nfev == result.history["queries"][-1] == result.counts.queries


def test_a_spent_budget_measures_nothing_more():
    result = szoht.minimize(fun, knobs(), k=3, max_queries=60, rng=0)
    assert result.nfev == 60
    assert result.fun < fun(NOMINAL)
    assert "not measured" in str(result.changes)


def test_what_was_evaluated_before_is_not_evaluated_again():
    v, find = szoht.Variables([1.0, 2.0]), {(0.0, 1.0): 7.0}
    measurement = EffectMeasurement(
        v,
        np.array([0.5, 1.0]),
        3.0,
        None,
        szoht.Status.QUERIES,
        find=lambda z: find.get(tuple(z.tolist())),
    )
    assert [query.base.tolist() for query in measurement.plan.queries] == [[0.5, 0.0]]
    assert measurement.effects() == {0: 4.0}
    assert measurement.effects([Answer(values=np.array([3.5]))]) == {0: 4.0, 1: 0.5}


def test_no_effect_is_inferred():
    """CVaR is no quadratic: a model of what was evaluated would say -1.6e6 for +0.06."""
    losses = np.random.default_rng(0).standard_t(2, (500, 12))

    def cvar(x):
        return float(np.sort(losses @ (x - 1))[-25:].mean())

    knobs = szoht.Variables(np.ones(12), low=np.zeros(12), high=np.full(12, 3.0))
    for seed in range(3):
        result = szoht.minimize(cvar, knobs, k=4, max_queries=150, rng=seed)
        for one in result.changes:
            back = result.x.copy()
            back[one.index] = 1.0
            assert np.isnan(one.effect) or one.effect == pytest.approx(cvar(back) - result.fun)


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
        assert all(np.isnan(one.effect) for one in result.changes)


def test_an_interrupted_measurement_ends_nothing():
    calls = []

    def impatient(x):
        calls.append(fun(x))
        if len(calls) > 1 and min(calls[:-1]) < LEAST + 1e-9:
            raise KeyboardInterrupt
        return calls[-1]

    with pytest.raises(KeyboardInterrupt) as stop:
        szoht.minimize(impatient, knobs(), k=3, target=LEAST + 1e-9, rng=0)
    result = stop.value.result
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
    for one in result.changes:
        back = result.x.copy()
        back[one.index] = NOMINAL[one.index]
        assert one.effect == pytest.approx(fun(back) - fun(result.x), abs=1e-9)


def test_values_of_other_samples_are_not_compared():
    v = szoht.Variables([1.0, 2.0])
    z = np.array([0.5, 0.0])
    sample = np.array([7])
    measurement = EffectMeasurement(v, z, 100.0, sample, szoht.Status.QUERIES, find=lambda _: 1.0)
    assert [query.base.tolist() for query in measurement.plan.queries] == [[0.5, 0], [0, 0]]
    assert all(query.sample is sample for query in measurement.plan.queries)
    answers = [Answer(values=np.array([value])) for value in (10.0, 12.5)]
    assert measurement.effects(answers) == {0: 2.5}


@most_seeds
def test_without_variables_nothing_is_measured(seed):
    result = szoht.minimize(lambda x: float(((x - STEPS) ** 2).sum()), np.zeros(30), k=3, rng=seed)
    assert [one.name for one in result.changes] == ["x[2]", "x[11]", "x[25]"]
    assert all(np.isnan(one.effect) for one in result.changes)


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
