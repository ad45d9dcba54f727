"""How an objective is called: shapes, samples, chunks, and arguments that it may overwrite."""

import numpy as np
import pytest

from szoht import Status, errors, minimize
from szoht.core.objective import Objective
from szoht.core.query import Query
from szoht.evaluation.chunks import CHUNK_VALUES
from szoht.evaluation.evaluate import as_values
from szoht.evaluation.oracle import Oracle, _try_empty_stack


def never(*_):
    pytest.fail("a query was spent")


def test_bad_parameters_name_the_rule():
    with pytest.raises(errors.SzohtError, match="must be"):
        Oracle(objective=Objective(value=never), on_error="maybe")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda points: 1.0,
        lambda points: points.sum(axis=1, keepdims=True),
        lambda points: points,
        lambda points: [[1.0]],
    ],
)
def test_a_vectorised_function_of_the_wrong_shape_spends_nothing(wrong):
    seen = []

    def fun(points):
        seen.extend(points)
        return wrong(points)

    with pytest.raises(errors.AnswerShapeError, match="declared vectorized"):
        minimize(fun, np.zeros(5), k=1, vectorized=True, max_queries=100, method="szoht")
    assert seen == []


@pytest.mark.parametrize("refuses_empty", [False, True])
@pytest.mark.parametrize("method", ["szoht", "auto"])
def test_a_vectorized_function_that_returns_gradients_too(method, refuses_empty):
    def fun(points):
        if refuses_empty and len(points) == 0:
            raise RuntimeError("no points")
        return (points**2).sum(axis=1), 2 * points

    with pytest.raises(errors.AnswerShapeError) as caught:
        minimize(fun, np.zeros(5), k=1, vectorized=True, max_queries=100, method=method)
    assert "a tuple of 2 entries" in str(caught.value)
    assert "pass the gradient as `gradient=`" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        ((np.zeros(3), np.zeros((3, 5))), "a tuple of 2 entries"),
        ((np.zeros(3), np.zeros(3), np.zeros(3), 0), "a tuple of 4 entries"),
        ([[0.0, 1.0], [2.0]], "a list of 2 entries"),
        ((np.zeros(3), np.zeros(3)), "a tuple of 2 entries"),
        ([[0.0], [1.0], [2.0]], "(3, 1)"),
    ],
)
def test_wrong_shapes_are_described_without_numpy(answer, got):
    with pytest.raises(errors.AnswerShapeError) as caught:
        as_values(answer, 3)
    assert got in str(caught.value)
    assert "inhomogeneous" not in str(caught.value)


def test_rows_of_numbers_may_be_lists_and_tuples():
    assert as_values((1, 2.5), 2).tolist() == [1.0, 2.5]
    assert as_values([[1], [2]], 2, 1).tolist() == [[1.0], [2.0]]


def test_a_vectorized_function_of_several_outputs_may_see_an_empty_stack():
    objective = Objective(value=never, values=lambda points, sample: points[:, :2], n_outputs=2)
    _try_empty_stack(objective, Query(base=np.zeros(5)))


def test_a_vectorised_function_may_refuse_an_empty_stack():
    def fun(points):
        if len(points) == 0:
            raise RuntimeError("no points")
        return ((points - 1) ** 2).sum(axis=1)

    result = minimize(
        fun, np.zeros(5), k=1, vectorized=True, max_queries=100, rng=0, method="szoht"
    )
    assert result.nfev > 0


def test_a_vectorised_function_that_changes_shape_later_is_found_then():
    def fun(points):
        return np.zeros(len(points) + (len(points) > 3))

    with pytest.raises(errors.AnswerShapeError, match="must have shape"):
        minimize(fun, np.zeros(5), k=1, vectorized=True, max_queries=100, method="szoht")


def test_a_gradient_of_the_wrong_shape():
    with pytest.raises(errors.AnswerShapeError, match="`gradient` must have shape"):
        minimize(lambda x: 0.0, np.zeros(5), k=1, method="iht", gradient=lambda x: x[:2])


def test_dense_points_are_rationed():
    d = 1000
    sizes = []

    def fun(points):
        sizes.append(len(points))
        return (points**2).sum(1)

    minimize(
        fun,
        np.zeros(d),
        k=1,
        vectorized=True,
        options={"q": 1200, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert max(sizes) == CHUNK_VALUES // d


def test_the_base_of_a_sparse_aware_query_sees_the_sample():
    seen = []

    def value(x, sample):
        seen.append(tuple(sample))
        return 0.0

    def along(x, indices, offsets, sample):
        seen.append(tuple(sample))
        return offsets.sum(1)

    minimize(
        value,
        np.zeros(5),
        k=1,
        n_samples=9,
        along=along,
        options={"q": 3, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert seen[0] == seen[1]


def test_a_gradient_may_scribble():
    def gradient(x):
        slope = x - 1.0
        x[:] = np.nan
        return slope

    result = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=gradient,
        options={"step_size": 0.5},
        max_iterations=3,
        rng=0,
    )
    assert result.status is Status.ITERATIONS


def test_candidates_of_a_search_are_one_call():
    sizes = []

    def fun(points):
        sizes.append(len(points))
        return ((points - 1) ** 2).sum(axis=1)

    minimize(
        fun,
        np.zeros(30),
        k=2,
        options={"q": 10, "mu": 1e-6},
        vectorized=True,
        max_iterations=2,
        rng=0,
        method="szoht",
    )
    assert sizes == [0, 11, 17, 11, 3]
