"""CoSaMP against its transcription, and where its least squares are degenerate."""

import math
import pickle

import numpy as np
import pytest

from estimators.recovery import sparse_vector
from reference import compressed_sensing as naive
from szoht.errors import ParameterError, ParameterTypeError
from szoht.estimators.sensing import cosamp as cosamp_module
from szoht.estimators.sensing.cosamp import GramRows, cosamp, least_squares


def signs(rng, m, d):
    return rng.choice([-1.0, 1.0], size=(m, d))


@pytest.mark.parametrize(("d", "s"), [(400, 4), (400, 10), (300, 30)])
def test_cosamp_recovers_exactly_sparse_vectors(d, s):
    m = math.ceil(4 * s * math.log(d / s))
    recovered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        matrix, g = signs(rng, m, d), sparse_vector(rng, d, s)
        found = cosamp(matrix, matrix @ g, sparsity=s, tol=1e-6)
        recovered += np.linalg.norm(found.solution - g) <= 1e-8 * np.linalg.norm(g)
    assert recovered >= 99


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("tol", "noise"), [(0.5, 0.0), (1e-3, 0.0), (0.1, 0.3), (0.0, 1.0)])
def test_cosamp_equals_its_transcription(seed, tol, noise):
    rng = np.random.default_rng(seed)
    m, d, s = int(rng.integers(20, 60)), 80, int(rng.integers(1, 7))
    matrix = rng.standard_normal((m, d))
    y = matrix @ sparse_vector(rng, d, s) + noise * rng.standard_normal(m)
    found = cosamp(matrix, y, sparsity=s, tol=tol, max_passes=6)
    g, ratio = naive.cosamp(matrix, y, s=s, tol=tol, passes=6)
    assert np.allclose(found.solution, g, rtol=1e-7, atol=1e-9)
    assert found.residual == pytest.approx(ratio, rel=1e-6, abs=1e-7)
    assert np.count_nonzero(found.solution) == s


def test_cosamp_takes_the_passes_it_is_given():
    rng = np.random.default_rng(3)
    matrix, y = rng.standard_normal((30, 80)), rng.standard_normal(30)
    ratios = [ratio for _, ratio in naive.cosamp_passes(matrix, y, s=5, passes=7)]
    for passes in (1, 3, 7):
        found = cosamp(matrix, y, sparsity=5, tol=0.0, max_passes=passes)
        assert found.passes == passes
        assert found.residual == pytest.approx(min(ratios[:passes]))


def test_cosamp_stops_when_a_pass_would_repeat():
    rng = np.random.default_rng(0)
    matrix, g = signs(rng, 60, 100), sparse_vector(rng, 100, 3)
    y = matrix @ g + 0.01 * rng.standard_normal(60)
    found = cosamp(matrix, y, sparsity=3, tol=0.0, max_passes=1000)
    assert 1 < found.passes < 20
    assert np.allclose(found.solution, g, atol=0.02)
    longer, _ = naive.cosamp(matrix, y, s=3, tol=0.0, passes=30)
    assert np.allclose(found.solution, longer)


def test_correlations_that_are_rounding_bring_no_columns():
    found = cosamp(np.eye(6), np.array([0, 1.0, 0, 1e-14, 0, 0]), sparsity=3)
    assert np.flatnonzero(found.solution).tolist() == [1]


@pytest.mark.parametrize("s", [5, 6, 9, 10])
def test_cosamp_with_as_many_candidates_as_columns(s):
    rng = np.random.default_rng(s)
    matrix, g = rng.standard_normal((25, 10)), sparse_vector(rng, 10, s)
    assert np.allclose(cosamp(matrix, matrix @ g, sparsity=s, tol=1e-6).solution, g)


def test_cosamp_finds_a_single_entry():
    rng = np.random.default_rng(1)
    matrix, g = signs(rng, 40, 200), np.zeros(200)
    g[77] = -3.0
    assert np.allclose(cosamp(matrix, matrix @ g, sparsity=1).solution, g)


def test_cosamp_of_nothing_is_nothing():
    matrix = signs(np.random.default_rng(0), 5, 9)
    found = cosamp(matrix, np.zeros(5), sparsity=2)
    assert (found.residual, found.passes) == (0.0, 0)
    assert not found.solution.any()
    # measurements that no column has anything to do with
    lonely = np.zeros((3, 4))
    lonely[0] = 1.0
    found = cosamp(lonely, np.array([0.0, 1.0, 1.0]), sparsity=2)
    assert found.residual == 1.0
    assert not found.solution.any()


def test_cosamp_survives_dependent_columns():
    rng = np.random.default_rng(2)
    matrix = signs(rng, 30, 60)
    matrix[:, 40:] = matrix[:, :20]
    matrix[:, 39] = -matrix[:, 38]
    y = matrix @ sparse_vector(rng, 60, 4)
    found = cosamp(matrix, y, sparsity=8, tol=1e-6, max_passes=20)
    assert np.linalg.norm(matrix @ found.solution - y) <= 1e-6 * np.linalg.norm(y)
    assert np.abs(found.solution).max() < 10  # the shortest solution, not a huge one


def test_cosamp_with_more_columns_than_measurements():
    rng = np.random.default_rng(5)
    matrix, y = signs(rng, 6, 40), rng.standard_normal(6)
    found = cosamp(matrix, y, sparsity=5, tol=0.0)
    g, ratio = naive.cosamp(matrix, y, s=5, tol=0.0, passes=10)
    assert np.allclose(found.solution, g, atol=1e-8)
    assert found.residual == pytest.approx(ratio)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_of_dependent_columns_is_the_shortest_solution(seed):
    rng = np.random.default_rng(seed)
    columns, y = signs(rng, 20, 9), rng.standard_normal(20)
    columns[:, 2], columns[:, 6] = columns[:, 1], -columns[:, 4]
    shortest = np.linalg.lstsq(columns, y, rcond=None)[0]
    assert np.allclose(least_squares(columns, y), shortest, atol=1e-10)
    columns[:, 2] += 1e-9 * rng.standard_normal(20)  # nearly dependent
    assert np.allclose(least_squares(columns, y), shortest, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"sparsity": 0}, ParameterError, r"`sparsity` .* \[1, d\]; got sparsity=0 with d=8"),
        ({"sparsity": 9}, ParameterError, r"got sparsity=9 with d=8"),
        ({"sparsity": 2.0}, ParameterTypeError, "got sparsity=2.0"),
        ({"tol": -1}, ParameterError, "`tol` must be a finite number >= 0"),
        ({"max_passes": 0}, ParameterError, "`max_passes`"),
        ({"measurements": np.ones(4)}, ParameterError, "`measurements` must have 5 entries; got 4"),
        ({"measurements": np.full(5, np.nan)}, ParameterError, "`measurements` must be finite"),
        ({"matrix": np.ones(5)}, ParameterError, r"`matrix` must have shape \(m, d\)"),
    ],
)
def test_cosamp_refuses(changes, error, message):
    good = {"matrix": np.ones((5, 8)), "measurements": np.ones(5), "sparsity": 2} | changes
    with pytest.raises(error, match=message):
        cosamp(good.pop("matrix"), good.pop("measurements"), **good)


def test_gram_rows_are_fetched_once_and_bounded(monkeypatch):
    fetched = []

    class System:
        shape = (3, 50)

        def gram_rows(self, indices):
            fetched.append(indices.tolist())
            return np.multiply.outer(indices, np.arange(50.0))

    gram = GramRows(50)
    gram.fetch(np.array([4, 9]), System())
    gram.fetch(np.array([2, 4, 9]), System())
    assert fetched == [[4, 9], [2]]
    assert np.array_equal(gram.block(np.array([2, 9])), [[4, 18], [18, 81]])
    assert gram.combination(np.array([4, 2]), np.array([1.0, 10.0]))[3] == 12 + 60
    monkeypatch.setattr(cosamp_module, "CACHE_BYTES", 5 * 50 * 8)
    gram.fetch(np.array([4, 5, 6]), System())
    assert fetched[-1] == [4, 5, 6], "beyond its bound the cache starts anew"
    assert np.array_equal(gram.block(np.array([5])), [[25]])
    assert len(pickle.dumps(gram)) < 200
