"""Sketches: buckets of coordinates, the digits of those that respond, and their slopes."""

import numpy as np
import pytest

from szoht import AskTell, SparseVector
from szoht.core.implicit import hash_coordinates
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import Sketch
from szoht.estimators.sketch import _slopes


def sketched(sketch, fun, x, *, memory=None, iteration=1):
    """Run one iteration of an estimator; return the estimate, its memory, and the queries spent."""
    memory = sketch.init(x) if memory is None else memory
    estimate, spent = None, 0
    while estimate is None:
        plan = sketch.plan(x, None, memory, Key(seed=0, iteration=iteration))
        answers = [
            Answer(values=np.array([fun(point) for point in query.points()]))
            for query in plan.queries
        ]
        spent += sum(answer.values.size for answer in answers)
        estimate, memory = sketch.combine(plan, answers, memory)
    return estimate, memory, spent


def test_a_sketch_of_one_coordinate():
    """Eight buckets of a thousand coordinates, ten digits, and a check of what was decoded."""
    sketch, d = Sketch(count=2, mu=1e-4), 1_000
    estimate, memory, spent = sketched(sketch, lambda x: 1e6 - 5 * x[123], SparseVector(d))
    assert spent == 1 + 2 * 8 + 2 * 10 + 2
    assert np.flatnonzero(estimate.gradient).tolist() == [123]
    assert estimate.gradient[123] == pytest.approx(-5, abs=1e-5)
    assert estimate.slope == pytest.approx(5, abs=1e-5)
    assert estimate.rounding == pytest.approx(np.finfo(float).eps * 1e6 / 1e-4)
    assert memory.buckets == 8


@pytest.mark.parametrize("at_base", [1e8, 0.0])
def test_rounding_is_not_spelt(at_base):
    """Values that differ in their last bits; beside them the value at the base may be small."""
    calls = []

    def fun(x):
        calls.append(1)
        return at_base if len(calls) == 1 else np.nextafter(1e8, 1e8 + len(calls) % 3)

    estimate, _, spent = sketched(Sketch(count=2, mu=1e-4), fun, SparseVector(1_000))
    assert spent == 1 + 2 * 8
    assert not estimate.gradient.any()
    assert estimate.rounding == 0


def test_buckets_double_while_crowded_and_halve_when_quiet():
    slopes = np.random.default_rng(0).uniform(0.5, 1.0, 3_000)
    sketch, x, memory, counts = Sketch(count=3, mu=1e-2), np.zeros(3_000), None, []
    for iteration in range(1, 8):
        _, memory, _ = sketched(
            sketch, lambda x: float(slopes @ x), x, memory=memory, iteration=iteration
        )
        counts.append(memory.buckets)
    assert counts[0] == 24
    assert set(np.diff(np.log2(counts))) <= {0.0, 1.0}
    assert counts[-1] == 16 * 12
    for iteration in range(8, 14):
        _, memory, _ = sketched(sketch, lambda x: 1.0, x, memory=memory, iteration=iteration)
        counts.append(memory.buckets)
    assert counts[7:] == [96, 48, 24, 12, 12, 12]


def test_one_crowded_bucket_of_three_is_no_reason_for_more():
    """Two coordinates of a bucket spell a third that is at home elsewhere: it is not measured."""
    sketch, d = Sketch(count=3, mu=1e-4), 1_024
    x = SparseVector(d)
    signs = sketch.plan(x, None, sketch.init(x), Key(seed=0, iteration=1)).queries[-1].directions
    home = signs.bucket_of(hash_coordinates(np.arange(d), signs.seed))
    first = np.flatnonzero(home == home[0])
    second = next(i for i in first[1:] if home[first[1] & i] != home[0] and i != first[1])
    alone = [int(np.flatnonzero(home == bucket)[5]) for bucket in set(home[1:9]) - {home[0]}][:2]
    relevant = np.array([first[1], second, *alone])
    # with these slopes the two add up
    slopes = signs.entries(int(home[0]), relevant) + np.array([0.0, 0.0, 1.0, 1.0])
    estimate, memory, spent = sketched(sketch, lambda x: float(slopes @ x[relevant]), x)
    assert np.flatnonzero(estimate.gradient).tolist() == sorted(alone)
    assert spent == 1 + 2 * 12 + 2 * 3 * 10 + 2 * 2
    assert memory.buckets == 12


def test_slopes_are_true_where_all_coordinates_respond():
    """What is decoded then is mostly nonsense: beyond the end, elsewhere, or measured before."""
    d = 1_500
    rng = np.random.default_rng(1)
    slopes, x = rng.standard_normal(d), np.zeros(d)
    x[rng.permutation(d)[:700]] = 1.0
    sketch = Sketch(count=20, mu=1e-2, buckets=20)
    for iteration in range(1, 9):
        estimate, *_ = sketched(sketch, lambda x: float(slopes @ x), x, iteration=iteration)
        found = np.flatnonzero(estimate.gradient)
        assert set(found) >= set(np.flatnonzero(x))
        assert np.allclose(estimate.gradient[found], slopes[found], atol=1e-9)


def test_one_side_of_a_difference_is_enough():
    """f(x) = 5 + 3 x_0: the slope is 3, whichever side fails."""
    run = AskTell(SparseVector(9), k=1, method="sketch_ht", options={"buckets": 1}, rng=0)
    listen = run.ask().queries[-1]
    sign = listen.points()[0][0] / 1e-4
    both = 5 + 3e-4 * sign * np.array([1.0, -1.0])
    for values in (both, [np.nan, both[1]], [both[0], np.nan]):
        slopes = _slopes(listen, Answer(values=np.array(values)), 5.0)
        assert slopes == pytest.approx([3 * sign])
    assert _slopes(listen, Answer(values=np.array([np.nan, np.nan])), 5.0).tolist() == [0.0]
