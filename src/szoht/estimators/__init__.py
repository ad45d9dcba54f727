"""Gradient estimators, one per file: which points to ask, and what the answers mean."""

from szoht.estimators.adaptive_recovery import AdaptiveRecovery
from szoht.estimators.anchored import SARAH, SVRG
from szoht.estimators.coordinate import Coordinate
from szoht.estimators.exact import Exact
from szoht.estimators.gaussian import Gaussian
from szoht.estimators.memory import MemoryTable
from szoht.estimators.sketch import Sketch
from szoht.estimators.sparse_recovery import SparseRecovery
from szoht.estimators.sphere import Sphere

__all__ = [
    "SARAH",
    "SVRG",
    "AdaptiveRecovery",
    "Coordinate",
    "Exact",
    "Gaussian",
    "MemoryTable",
    "Sketch",
    "SparseRecovery",
    "Sphere",
]
