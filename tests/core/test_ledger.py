"""The ledger: every evaluation, points in few numbers, and the best that may be an answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import szoht
from szoht.core import ledger as ledgers
from szoht.core.directions import ArrayDirections, SampledDirections, ScaledDirections
from szoht.core.distributions import SphereDistribution
from szoht.core.ledger import Ledger
from szoht.core.query import Answer, Plan, Query, one_point
from szoht.core.random import Key
from szoht.core.repeats import ROUNDINGS, same_value

D = 7


def record(ledger, x, value):
    plan = one_point(np.asarray(x, dtype=float), None)
    ledger.record(plan, plan.answered(np.array([float(value)])))


def sparse(k):
    return lambda x: np.count_nonzero(x) <= k


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, -1.0]))
def test_the_best_is_that_of_a_plain_list(seed, sign):
    rng = np.random.default_rng(seed)
    start = rng.integers(-1, 2, D).astype(float)
    ledger, listed = Ledger(start, allowed=sparse(4), sign=sign), []
    for _ in range(12):
        if rng.random() < 0.5:
            queries = [Query(base=rng.integers(-1, 2, D).astype(float)) for _ in range(2)]
        else:
            rows = ArrayDirections(
                d=D,
                indices=np.array([rng.choice(D, 2, replace=False) for _ in range(3)]),
                values=rng.integers(-2, 3, (3, 2)).astype(float),
            )
            base = rng.integers(-1, 2, D).astype(float)
            queries = [Query(base=base, directions=rows, mirrored=bool(rng.random() < 0.5))]
        answers = []
        for query in queries:
            values = rng.integers(0, 50, query.n_points).astype(float)
            values[rng.random(values.size) < 0.2] = np.nan
            left_out = rng.random(values.size) < 0.2
            answers.append(Answer(values=values, left_out=left_out))
            kept = zip(query.points(), values, left_out, strict=True)
            listed += [(x, value) for x, value, left in kept if not left]
        ledger.record(Plan(queries=tuple(queries)), answers)
    assert len(ledger) == len(listed)
    assert np.array_equal(ledger.values, [value for _, value in listed], equal_nan=True)
    for row, (x, _) in enumerate(listed):
        assert np.array_equal(ledger.point(row), x)
    allowed = [(sign * v, i) for i, (x, v) in enumerate(listed) if sparse(4)(x) and not np.isnan(v)]
    best = ledger.best()
    if not allowed:
        assert best is None
        return
    assert best.value == min(allowed)[0]
    at_best = [listed[i][0] for value, i in allowed if value == best.value]
    assert any(np.array_equal(best.x, x) for x in at_best)


def test_the_best_for_each_number_of_changes():
    ledger = Ledger(np.zeros(D), allowed=lambda _: True, count=np.count_nonzero)
    for x, value in (([0] * D, 9), ([1] + [0] * 6, 5), ([2] + [0] * 6, 4), ([1, 1] + [0] * 5, 4.5)):
        record(ledger, x, value)
    assert ledger.best(0).value == 9
    assert ledger.best(1).value == 4
    assert ledger.best(2).value == 4
    assert np.count_nonzero(ledger.best(2).x) == 1


def test_points_that_repeat_tell_noise_from_rounding():
    ledger = Ledger(np.zeros(D))
    record(ledger, np.ones(D), 0.1 + 0.2)
    record(ledger, np.ones(D), 0.3)
    record(ledger, np.zeros(D), np.nan)
    record(ledger, np.zeros(D), np.nan)
    assert ledger.is_repeatable
    record(ledger, np.ones(D), 0.3 + 1e-12)
    assert not ledger.is_repeatable


def test_values_of_a_sample_are_not_repeatable():
    ledger = Ledger(np.zeros(D))
    plan = one_point(np.ones(D), np.array([3]))
    ledger.record(plan, plan.answered(np.array([1.0])))
    assert not ledger.is_repeatable


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_a_few_roundings(size):
    eps = np.finfo(float).eps
    assert same_value(size, size * (1 + (ROUNDINGS - 1) * eps))
    assert not same_value(size, size * (1 + 3 * ROUNDINGS * eps))
    assert not same_value(size, -size)
    assert not same_value(size, np.nan)
    assert not same_value(size, np.inf)
    assert same_value(np.inf, np.inf)


def test_a_value_is_found_again():
    ledger = Ledger(np.zeros(D))
    record(ledger, np.eye(D)[2], 3.5)
    assert ledger.find(np.eye(D)[2]) == 3.5
    assert ledger.find(np.eye(D)[3]) is None


def test_nothing_of_size_q_times_d_is_kept():
    d, q = 20_000, 50
    directions = SampledDirections(
        distribution=SphereDistribution(support_size=20_000), key=Key(seed=0), d=d, count=q
    )
    scaled = ScaledDirections(inner=directions, scale=np.full(d, 2.0))
    ledger = Ledger(np.zeros(d))
    for part in (directions, scaled):
        query = Query(base=np.ones(d), directions=part, radius=0.5)
        points = query.points()  # fills the cache of the directions
        ledger.record(Plan(queries=(query,)), [Answer(values=np.arange(q + 1.0))])
        kept = ledger._blocks[-1].query.directions
        inner = kept.inner if isinstance(kept, ScaledDirections) else kept
        assert inner._cache == {}
        assert np.array_equal(ledger.point(len(ledger) - 1), points[-1])


def test_points_that_are_no_answers_are_dropped_beyond_a_bound(monkeypatch):
    monkeypatch.setattr(ledgers, "OTHER_POINTS_BYTES", 2_000)
    ledger = Ledger(np.zeros(D), allowed=sparse(2))
    rng = np.random.default_rng(0)
    for i in range(60):
        record(ledger, rng.standard_normal(D), 100 - i)
    first_dropped = next(row for row in range(60) if not ledger.keeps(row))
    assert 2_000 / (16 * D) - 1 <= first_dropped < 60
    assert ledger.n_dropped == 60 - first_dropped
    assert np.isnan(ledger.point(59)).all()
    record(ledger, np.eye(D)[1], 50)
    assert ledger.keeps(60)
    record(ledger, np.eye(D)[1] + np.eye(D)[4], 70)  # no better, and allowed all the same
    assert ledger.keeps(61)
    assert ledger.best().value == 50
    assert np.array_equal(ledger.values, [*(100.0 - i for i in range(60)), 50, 70])


def test_constant_values_are_counted():
    ledger = Ledger(np.zeros(D))
    for i in range(5):
        record(ledger, i * np.ones(D), 2.0 if i else np.nan)
    assert ledger.is_constant
    assert ledger.n_equal == 4
    record(ledger, -np.ones(D), 2.1)
    assert not ledger.is_constant


def test_sparse_points():
    start = szoht.SparseVector(10**9, [5], [1.0])
    ledger = Ledger(start)
    point = szoht.SparseVector(10**9, [7, 123_456_789], [2.0, 3.0])
    plan = one_point(point, None)
    ledger.record(plan, plan.answered(np.array([1.0])))
    assert np.array_equal(ledger.point(0), point)
