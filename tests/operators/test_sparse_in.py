"""Sparse in a basis: the nearest point, transforms of all kinds, and refusals."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator
from scipy.stats import ortho_group

from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.operators import Sparse, SparseIn, TreeSparse

Q = ortho_group.rvs(8, random_state=0)


@pytest.mark.parametrize("transform", ["dct", "haar", Q, Q[:, :5]], ids=["dct", "haar", "Q", "Q5"])
def test_it_is_the_nearest_point(transform):
    rng = np.random.default_rng(0)
    operator = SparseIn(transform, k=2)
    operator.check(8)
    n = 8 if isinstance(transform, str) else transform.shape[1]
    matrix = np.column_stack([operator.synthesis(column) for column in np.eye(n)])
    assert matrix.T @ matrix == pytest.approx(np.eye(n), abs=1e-12)
    for _ in range(20):
        y = rng.standard_normal(8)
        x = operator.prox(y, 1.0)
        assert operator.contains(x)
        assert operator.coefficients(y) == pytest.approx(matrix.T @ y)
        errors = []
        for support in combinations(range(n), 2):
            part = matrix[:, list(support)]
            errors.append(((part @ np.linalg.lstsq(part, y, rcond=None)[0] - y) ** 2).sum())
        assert ((x - y) ** 2).sum() == pytest.approx(min(errors))


def test_any_linear_operator():
    operator = LinearOperator((8, 8), matvec=lambda z: Q @ z, rmatvec=lambda x: Q.T @ x)
    y = np.arange(8.0)
    ours = SparseIn(operator, k=3)
    ours.check(8)
    assert ours.prox(y, 1.0) == pytest.approx(SparseIn(Q, k=3).prox(y, 1.0))
    assert SparseIn(np.eye(8), k=3).prox(y, 1.0).tolist() == Sparse(3).prox(y, 1.0).tolist()


def test_coefficients_of_haar_wavelets_are_a_tree():
    """A step is the mean and the wavelets across it: one at each level, parents i // 2."""
    step = np.where(np.arange(16) < 5, 1.0, 0.0)
    z = SparseIn("haar", k=1).coefficients(step)
    parents = np.arange(16) // 2
    parents[0] = -1
    assert TreeSparse(5, parents).contains(np.where(np.abs(z) < 1e-12, 0.0, z))


@pytest.mark.parametrize("transform", [2 * np.eye(8), Q + 0.1, np.ones((8, 9))])
def test_transforms_without_orthonormal_columns_name_the_remedy(transform):
    with pytest.raises(CapabilityError, match="Minimize over z instead"):
        SparseIn(transform, k=1).check(8)


def test_a_wrong_transpose_is_noticed():
    wrong = LinearOperator((8, 8), matvec=lambda z: Q @ z, rmatvec=lambda x: Q @ x)
    with pytest.raises(CapabilityError, match="`rmatvec` must be its transpose"):
        SparseIn(wrong, k=1).check(8)


@pytest.mark.parametrize(
    ("transform", "k", "complaint"),
    [
        ("fft", 1, "`transform` must be one of 'dct', 'haar'"),
        (np.eye(4), 1, "must have d rows; got 4 with d=6"),
        (np.eye(6)[:, :2], 3, "got k=3 with number of coefficients=2"),
        ("haar", 1, "needs a power of two; got d=6"),
        (np.ones(6), 1, "must be 2-d and finite"),
        (object(), 1, "or an object with shape, matvec"),
    ],
)
def test_bad_parameters(transform, k, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        SparseIn(transform, k).check(6)
