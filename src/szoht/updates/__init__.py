"""How the iterate moves, one update per file."""

from szoht.updates.accelerated import AcceleratedConditionalGradient
from szoht.updates.adaptive import Adaptive
from szoht.updates.forward_backward import ForwardBackward
from szoht.updates.frank_wolfe import FrankWolfe
from szoht.updates.line_search import LineSearch
from szoht.updates.momentum import Momentum
from szoht.updates.snapshot_search import SnapshotSearch

__all__ = [
    "AcceleratedConditionalGradient",
    "Adaptive",
    "ForwardBackward",
    "FrankWolfe",
    "LineSearch",
    "Momentum",
    "SnapshotSearch",
]
