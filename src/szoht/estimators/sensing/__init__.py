"""Finding a sparse gradient from few directional slopes: rows to probe, and recovery from them."""

from szoht.estimators.sensing.balanced import BalancedRows
from szoht.estimators.sensing.permuted import PermutedRows
from szoht.estimators.sensing.recovery import Recovery, group_pursuit, matching_pursuit, prony
from szoht.estimators.sensing.rows import FourierRows, HadamardRows, Measurements, Rows, RowSlice

__all__ = [
    "BalancedRows",
    "FourierRows",
    "HadamardRows",
    "Measurements",
    "PermutedRows",
    "Recovery",
    "RowSlice",
    "Rows",
    "group_pursuit",
    "matching_pursuit",
    "prony",
]
