"""Measurement matrices stand for arrays, and every recovery takes every kind."""

import numpy as np
import pytest

from estimators.recovery import sparse_vector
from reference import compressed_sensing as naive
from szoht.core.random import Key
from szoht.estimators.sensing import HadamardRows, Measurements, RowSlice
from szoht.estimators.sensing.cosamp import cosamp
from szoht.estimators.sensing.matrices import DenseMatrix, SignMatrix, gram_rows
from szoht.estimators.sparse_recovery import SparseRecovery


@pytest.mark.parametrize("centered", [False, True])
def test_rows_of_signs_are_the_matrix_that_they_stand_for(centered):
    estimator = SparseRecovery(sparsity=2, n_measurements=70, mu=1.0)
    (query,) = estimator.plan(np.zeros(3000), None, None, Key(seed=1)).queries
    valid = np.ones(70, dtype=bool)
    valid[[0, 31, 69]] = False
    rows = SignMatrix(directions=query.directions, valid=valid, centered=centered)
    matrix = query.points()[1:][valid]
    if centered:
        matrix, _ = naive.with_intercept(matrix, np.zeros(67))
    chosen = np.array([0, 7, 2999])
    weights = np.linspace(-1, 1, 67)
    assert rows.shape == (67, 3000)
    assert np.allclose(rows.columns(chosen), matrix[:, chosen])
    assert np.allclose(rows.correlate(weights), weights @ matrix)
    assert np.allclose(rows.gram_rows(chosen), matrix[:, chosen].T @ matrix)


def hadamard(slope, count):
    rows = RowSlice(rows=HadamardRows(key=Key(seed=0), d=slope.size), start=0, count=count)
    return Measurements().more(rows, rows.columns(np.arange(slope.size)) @ slope)


def test_structured_rows_are_a_matrix_for_cosamp():
    slope = sparse_vector(np.random.default_rng(2), 300, 4)
    measurements = hadamard(slope, 80)
    found = cosamp(measurements, measurements.slopes, sparsity=4, tol=1e-9)
    assert np.allclose(found.solution, slope)


def test_inner_products_by_columns():
    measurements, support = hadamard(np.ones(20), 12), np.array([3, 17])
    dense = DenseMatrix(measurements.columns(np.arange(20)))
    assert measurements.shape == dense.shape == (12, 20)
    assert np.allclose(gram_rows(measurements, support), gram_rows(dense, support))
