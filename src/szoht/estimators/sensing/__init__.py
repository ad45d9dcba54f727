"""Finding a sparse gradient from few directional slopes: rows to probe, and recovery from them."""

from szoht.estimators.sensing.balanced import BalancedRows
from szoht.estimators.sensing.cross_validation import recover_noisy
from szoht.estimators.sensing.given import GivenRows
from szoht.estimators.sensing.matrices import Matrix
from szoht.estimators.sensing.measurements import Measurements
from szoht.estimators.sensing.model_pursuit import model_pursuit
from szoht.estimators.sensing.permuted import PermutedRows
from szoht.estimators.sensing.recovery import Recovery, group_pursuit, matching_pursuit, prony
from szoht.estimators.sensing.rows import FourierRows, HadamardRows, Rows, RowSlice

__all__ = [
    "BalancedRows",
    "FourierRows",
    "GivenRows",
    "HadamardRows",
    "Matrix",
    "Measurements",
    "PermutedRows",
    "Recovery",
    "RowSlice",
    "Rows",
    "group_pursuit",
    "matching_pursuit",
    "model_pursuit",
    "prony",
    "recover_noisy",
]
