"""Plans in pieces: the same bits in any order, recorded one by one, never asked twice."""

import numpy as np
import pytest

from szoht import AskTell, Objective, algorithms
from szoht.core.query import Plan, Query, one_point
from szoht.evaluate import evaluate
from szoht.oracle import Oracle, PointFailure
from szoht.pieces import Piece, assemble, cut

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
    "vectorised": Objective(value=value, values=values),
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
def test_pieces_cover_a_plan_once_and_give_its_values_in_any_order(plan, objective, chunk_size):
    pieces = cut(plan, objective, chunk_size)
    expected = values(plan.points(), None)
    answers = [evaluate(objective, plan, piece) for piece in pieces]
    assert sum(piece.n_points for piece in pieces) == plan.n_points
    for some in (answers, answers[::-1]):
        together = np.concatenate([answer.values for answer in assemble(plan, some)])
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
    Oracle(objective=Objective(value=watched))(plan, landed=lambda answer: events.append("landed"))
    assert events == ["call", "landed"] * plan.n_points


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_known_pieces_are_not_evaluated_again(objective):
    plan = PLANS["mixed"]
    oracle = Oracle(objective=objective, chunk_size=2)
    record, rest = {}, {}
    complete = oracle(plan, landed=lambda answer: record.setdefault(answer.piece, answer))
    assert set(record) == set(oracle.pieces(plan))
    known = {piece: record[piece] for piece in oracle.pieces(plan)[::2]}
    again = oracle(plan, known=known, landed=lambda a: rest.setdefault(a.piece, a))
    assert set(rest) == set(record) - set(known)
    for one, other in zip(complete, again, strict=True):
        assert np.array_equal(one.values, other.values)


def test_the_gradient_comes_with_the_base_point():
    objective = Objective(value=value, gradient=lambda x, sample: 2 * (x - Y))
    plan = Plan(queries=(Query(base=np.zeros(D), gradient=True),))
    record = []
    (answer,) = Oracle(objective=objective)(plan, landed=record.append)
    assert np.array_equal(answer.gradient, -2 * Y)
    assert np.array_equal(record[0].gradient, -2 * Y)
    (again,) = Oracle(objective=objective)(plan, known={record[0].piece: record[0]})
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
    Oracle(objective=failing_at(3), on_error="skip")(plan, landed=record.append)
    assert len(record) == plan.n_points
    assert np.isnan(record[2].values[0])
    assert record[2].error == "the function raised OSError('disk full')"
    assert [answer.error for answer in record].count(None) == plan.n_points - 1


@pytest.mark.parametrize("landed", [None, lambda answer: None])
def test_a_failure_counts_what_was_spent_and_shows_the_point(landed):
    plan = difference_plan()
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=failing_at(4))(plan, landed=landed)
    assert caught.value.spent == 4
    assert caught.value.index == 3
    assert np.array_equal(caught.value.point, plan.points()[3])
    assert isinstance(caught.value.cause, OSError)


def test_what_was_known_counts_as_spent():
    plan = difference_plan()
    record = {}
    Oracle(objective=OBJECTIVES["plain"])(plan, landed=lambda a: record.setdefault(a.piece, a))
    known = {piece: record[piece] for piece in list(record)[:5]}
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=failing_at(2))(plan, known=known)
    assert caught.value.spent == 7
    assert caught.value.index == 6


@pytest.mark.parametrize("landed", [None, lambda answer: None])
def test_an_interrupt_counts_what_was_spent(landed):
    count = 0

    def fun(x, sample):
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return 0.0

    with pytest.raises(KeyboardInterrupt) as caught:
        Oracle(objective=Objective(value=fun))(difference_plan(), landed=landed)
    assert caught.value.points_spent == 4


def test_a_failure_in_a_stack_of_single_points_shows_the_right_one():
    plan = plan_of_points(7)
    broken = Objective(
        value=value, values=lambda points, _: np.where(points[:, 0] == 5 * Y[0], np.inf, 1.0)
    )
    with pytest.raises(PointFailure) as caught:
        Oracle(objective=broken, chunk_size=3)(plan)
    assert caught.value.index == 5
    assert caught.value.spent == 6
    assert np.array_equal(caught.value.point, 5 * Y)


def test_a_piece_is_small_and_ordered():
    assert sorted([Piece(1, 0, 2), Piece(0, 3, 4), Piece(0, 0, 3)])[0] == Piece(0, 0, 3)
    assert Piece(0, 3, 7).n_points == 4
