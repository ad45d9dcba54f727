"""Gradient estimators, one per file: which points to ask, and what the answers mean."""

from szoht.estimators.adaptive_recovery import AdaptiveRecovery as AdaptiveRecovery
from szoht.estimators.anchored import SARAH as SARAH
from szoht.estimators.anchored import SVRG as SVRG
from szoht.estimators.coordinate import Coordinate as Coordinate
from szoht.estimators.exact import Exact as Exact
from szoht.estimators.gaussian import Gaussian as Gaussian
from szoht.estimators.memory import MemoryTable as MemoryTable
from szoht.estimators.sketch import Sketch as Sketch
from szoht.estimators.sparse_recovery import SparseRecovery as SparseRecovery
from szoht.estimators.sphere import Sphere as Sphere
