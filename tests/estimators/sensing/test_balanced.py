import numpy as np

from szoht.core.random import Key
from szoht.estimators.sensing import BalancedRows, HadamardRows, PermutedRows


def test_rows_sum_to_zero_and_agree_with_their_columns_and_sums():
    for d in (5, 64, 100):
        free = np.arange(d)
        for inner in (
            HadamardRows(key=Key(seed=1), d=d, free=free),
            PermutedRows(key=Key(seed=1), d=d, free=free),
        ):
            rows = BalancedRows(inner=inner)
            block = rows.block(2, 9)
            assert np.abs(block.sum(axis=1)).max() <= 1e-12 * d
            support = np.array([0, 3, 4])
            assert np.allclose(rows.columns(2, 9, support), block[:, support])
            weights = np.arange(7.0)
            assert np.allclose(rows.correlate(2, weights), weights @ block)
