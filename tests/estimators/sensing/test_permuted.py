import numpy as np

from szoht.core.random import Key
from szoht.estimators.sensing import PermutedRows


def test_columns_and_sums_agree_with_the_rows():
    free = np.arange(5, 60)
    rows = PermutedRows(key=Key(seed=3), d=64, free=free)
    block = rows.block(1, 20)
    assert set(np.unique(block[:, free])) == {-1.0, 1.0}
    assert not block[:, :5].any()
    support = np.array([7, 30, 59])
    assert np.array_equal(rows.columns(1, 20, support), block[:, support])
    weights = np.linspace(-1, 1, 19)
    assert np.allclose(rows.correlate(1, weights), weights @ block)


def test_no_column_is_constant():
    # it could not be told from what all rows have in common
    for seed in range(20):
        block = PermutedRows(key=Key(seed=seed), d=32, free=np.arange(32)).block(0, 31)
        assert (np.ptp(block, axis=0) > 0).all()
