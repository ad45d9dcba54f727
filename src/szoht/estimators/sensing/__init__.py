"""Finding a sparse gradient from few directional slopes: rows to probe, and recovery from them."""

from szoht.estimators.sensing.recovery import Recovery, matching_pursuit, prony
from szoht.estimators.sensing.rows import FourierRows, HadamardRows, Measurements, RowSlice

__all__ = [
    "FourierRows",
    "HadamardRows",
    "Measurements",
    "Recovery",
    "RowSlice",
    "matching_pursuit",
    "prony",
]
