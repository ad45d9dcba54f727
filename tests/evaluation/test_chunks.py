"""Plans in chunks: the same bits in any order, recorded one by one, never asked twice."""

import numpy as np
import pytest

from szoht import AskTell, Objective, algorithms, minimize
from szoht.core.query import Plan, Query, one_point
from szoht.errors import AnswerShapeError, CapabilityError
from szoht.evaluation.chunks import Chunk, ChunkValues, merge, split
from szoht.evaluation.evaluate import evaluate_chunk
from szoht.evaluation.oracle import Oracle, PointFailure

D = 12
Y = np.linspace(-1, 1, D)


def value(x, sample):
    return float(((x - Y) ** 2).sum())


def values(points, sample):
    return np.array([value(x, sample) for x in points])


def along(x, indices, offsets, sample):
    points = np.tile(x, (len(offsets), 1))
    np.put_along_axis(points, indices, np.take_along_axis(points, indices, 1) + offsets, 1)
    return values(points, sample)


OBJECTIVES = {
    "plain": Objective(value=value),
    "vectorized": Objective(value=value, values=values),
    "sparse-aware": Objective(value=value, along=along),
}


def difference_plan(q=9, **options):
    method = algorithms.szoht(k=3, q=q, mu=1e-3, step_size=0.1, support_size=4, **options)
    return AskTell(np.zeros(D), method=method, max_queries=1000, rng=0).ask()


def plan_of_points(n):
    return Plan(queries=tuple(Query(base=Y * i) for i in range(n)))


PLANS = {
    "forward": difference_plan(),
    "central": difference_plan(central=True),
    "one point": one_point(Y, None),
    "points": plan_of_points(7),
    "mixed": Plan(queries=(*difference_plan().queries, *plan_of_points(2).queries)),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
@pytest.mark.parametrize("chunk_size", [None, 1, 3, 100])
def test_chunks_cover_a_plan_once_and_give_its_values_in_any_order(plan, objective, chunk_size):
    chunks = split(plan, objective, chunk_size)
    expected = values(plan.points(), None)
    answers = [evaluate_chunk(objective, plan, chunk) for chunk in chunks]
    assert sum(chunk.n_points for chunk in chunks) == plan.n_points
    for some in (answers, answers[::-1]):
        together = np.concatenate([answer.values for answer in merge(plan, some)])
        assert np.array_equal(together, expected)
    oracle = Oracle(objective=objective, chunk_size=chunk_size)
    at_once = np.concatenate([answer.values for answer in oracle(plan)])
    assert np.array_equal(at_once, expected)


def test_a_plain_function_is_recorded_point_by_point_before_the_next_call():
    events = []

    def watched(x, sample):
        events.append("call")
        return value(x, sample)

    plan = difference_plan()
    oracle = Oracle(objective=Objective(value=watched), on_error="stop")
    oracle(plan, on_chunk=lambda answer: events.append("recorded"), one_by_one=True)
    assert events == ["call", "recorded"] * plan.n_points


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_known_chunks_are_not_evaluated_again(objective):
    plan = PLANS["mixed"]
    oracle = Oracle(objective=objective, chunk_size=2)
    record, rest = {}, {}
    complete = oracle(
        plan, on_chunk=lambda answer: record.setdefault(answer.chunk, answer), one_by_one=True
    )
    assert set(record) == set(split(plan, objective, 2))
    known = {chunk: record[chunk] for chunk in split(plan, objective, 2)[::2]}
    again = oracle(plan, known=known, on_chunk=lambda a: rest.setdefault(a.chunk, a))
    assert set(rest) == set(record) - set(known)
    for one, other in zip(complete, again, strict=True):
        assert np.array_equal(one.values, other.values)


def test_the_gradient_comes_with_the_base_point():
    objective = Objective(value=value, gradient=lambda x, sample: 2 * (x - Y))
    plan = Plan(queries=(Query(base=np.zeros(D), gradient=True),))
    record = []
    (answer,) = Oracle(objective=objective)(plan, on_chunk=record.append)
    assert np.array_equal(answer.gradient, -2 * Y)
    assert np.array_equal(record[0].gradient, -2 * Y)
    (again,) = Oracle(objective=objective)(plan, known={record[0].chunk: record[0]})
    assert np.array_equal(again.gradient, answer.gradient)


def failing_at(number):
    count = 0

    def fun(x, sample):
        nonlocal count
        count += 1
        if count == number:
            raise OSError("disk full")
        return value(x, sample)

    return Objective(value=fun)


def test_a_skipped_point_is_recorded_with_its_reason():
    record = []
    plan = difference_plan()
    Oracle(objective=failing_at(3), on_error="skip")(plan, on_chunk=record.append, one_by_one=True)
    assert len(record) == plan.n_points
    assert np.isnan(record[2].values).all()
    assert record[2].error == "the function raised OSError('disk full')"
    assert [answer.error for answer in record].count(None) == plan.n_points - 1


@pytest.mark.parametrize("on_chunk", [None, lambda answer: None])
def test_a_failure_counts_what_was_spent_and_shows_the_point(on_chunk):
    plan = difference_plan()
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=failing_at(4), on_error="stop")(plan, on_chunk=on_chunk)
    assert caught.value.spent == 4
    assert caught.value.index == 3
    assert np.array_equal(caught.value.point, plan.points()[3])
    assert isinstance(caught.value.cause, OSError)


def test_what_was_known_counts_as_spent():
    plan = difference_plan()
    record = {}
    Oracle(objective=OBJECTIVES["plain"])(
        plan, on_chunk=lambda a: record.setdefault(a.chunk, a), one_by_one=True
    )
    known = {chunk: record[chunk] for chunk in list(record)[:5]}
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=failing_at(2), on_error="stop")(plan, known=known)
    assert caught.value.spent == 7
    assert caught.value.index == 6


@pytest.mark.parametrize("on_chunk", [None, lambda answer: None])
def test_an_interrupt_counts_what_was_spent(on_chunk):
    count = 0

    def fun(x, sample):
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(KeyboardInterrupt) as caught:
        Oracle(objective=Objective(value=fun))(difference_plan(), on_chunk=on_chunk)
    assert caught.value.points_spent == 4


def test_a_failure_in_a_stack_of_single_points_shows_the_right_one():
    plan = plan_of_points(7)
    broken = Objective(
        value=value, values=lambda points, _: np.where(points[:, 0] == 5 * Y[0], np.inf, 1.0)
    )
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=broken, chunk_size=3, on_error="stop")(plan)
    assert caught.value.index == 5
    assert caught.value.spent == 6
    assert np.array_equal(caught.value.point, 5 * Y)


def test_a_chunk_is_small_and_ordered():
    assert sorted([Chunk(1, 0, 2), Chunk(0, 3, 4), Chunk(0, 0, 3)])[0] == Chunk(0, 0, 3)
    assert Chunk(0, 3, 7).n_points == 4


def test_a_plain_function_without_a_record_is_called_in_one_loop_per_query():
    plan = PLANS["mixed"]
    assert split(plan, OBJECTIVES["plain"], by_query=True) == (
        Chunk(0, 0, 10),
        Chunk(1, 0, 1),
        Chunk(2, 0, 1),
    )
    (part,) = [
        evaluate_chunk(failing_at(4), plan, chunk)
        for chunk in split(plan, OBJECTIVES["plain"], by_query=True)[:1]
    ]
    assert part.chunk == Chunk(0, 0, 4)  # the first point that fails is the last
    assert part.failed.tolist() == [False, False, False, True]


@pytest.mark.parametrize("on_chunk", [None, lambda part: None])
def test_skipping_goes_on_behind_the_point_that_failed(on_chunk):
    plan = difference_plan()
    expected = values(plan.points(), None)
    expected[2] = np.nan
    (answer,) = Oracle(objective=failing_at(3), on_error="skip")(plan, on_chunk=on_chunk)
    assert np.array_equal(answer.values, expected, equal_nan=True)


def test_an_algorithm_for_one_number_refuses_several():
    with pytest.raises(CapabilityError, match="n_outputs=3"):
        minimize(VECTORS["plain"], np.zeros(D), k=3, max_queries=50, rng=0)


def test_a_flat_array_is_taken_point_by_point():
    assert ChunkValues(chunk=Chunk(0, 0, 2), values=np.arange(6.0)).values.tolist() == [
        [0.0, 1.0, 2.0],
        [3.0, 4.0, 5.0],
    ]


M = 3


def vector(x, sample):
    return (x[:M] - 1) ** 2


def vectors(points, sample):
    return np.array([vector(x, sample) for x in points])


VECTORS = {
    "plain": Objective(value=vector, n_outputs=M),
    "vectorized": Objective(value=vector, values=vectors, n_outputs=M),
    "sparse-aware": Objective(
        value=vector,
        along=lambda x, i, o, sample: vectors(_moved(x, i, o), sample),
        n_outputs=M,
    ),
}


def _moved(x, indices, offsets):
    points = np.tile(x, (len(offsets), 1))
    np.put_along_axis(points, indices, np.take_along_axis(points, indices, 1) + offsets, 1)
    return points


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("objective", VECTORS.values(), ids=VECTORS)
def test_several_outputs(plan, objective):
    answers = Oracle(objective=objective, chunk_size=3)(plan)
    assert np.array_equal(
        np.concatenate([answer.outputs for answer in answers]), vectors(plan.points(), None)
    )
    assert not np.concatenate([answer.values for answer in answers]).any()


@pytest.mark.parametrize("name", VECTORS)
def test_a_point_has_failed_only_if_all_of_its_outputs_have(name):
    def holes(x, sample):
        first = np.abs(x - points[3]).max() == 0
        second = np.abs(x - points[5]).max() == 0
        return np.array([np.nan if first or second else 1.0, np.inf if second else 2.0])

    objective = Objective(
        value=holes,
        values=None if name != "vectorized" else lambda p, s: np.array([holes(x, s) for x in p]),
        along=None
        if name != "sparse-aware"
        else lambda x, i, o, s: np.array([holes(p, s) for p in _moved(x, i, o)]),
        n_outputs=2,
    )
    plan = difference_plan()
    points = plan.points()
    (answer,) = Oracle(objective=objective, on_error="skip")(plan)
    assert np.flatnonzero(np.isnan(answer.values)).tolist() == [5]
    assert np.argwhere(np.isnan(answer.outputs)).tolist() == [[3, 0], [5, 0], [5, 1]]
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=objective, on_error="stop")(plan)
    assert caught.value.index == 5
    assert "nan" in caught.value.reason


@pytest.mark.parametrize("answer", [1.0, [1.0, 2.0], [[1.0, 2.0, 3.0]]], ids=str)
def test_outputs_of_the_wrong_shape(answer):
    objective = Objective(value=lambda x, sample: answer, n_outputs=3)
    with pytest.raises(AnswerShapeError, match=r"must have shape \(1, 3\)"):
        Oracle(objective=objective, on_error="skip")(one_point(Y, None))
