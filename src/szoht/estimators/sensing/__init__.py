"""Finding a sparse gradient from few directional slopes: rows to probe, and recovery from them."""

from szoht.estimators.sensing.recovery import Recovery, matching_pursuit, prony
from szoht.estimators.sensing.rows import FourierRows, Measurements, RowSlice, SignRows

__all__ = [
    "FourierRows",
    "Measurements",
    "Recovery",
    "RowSlice",
    "SignRows",
    "matching_pursuit",
    "prony",
]
