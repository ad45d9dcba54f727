"""How the iterate moves, one update per file."""

from szoht.updates.accelerated import (
    AcceleratedConditionalGradient as AcceleratedConditionalGradient,
)
from szoht.updates.adaptive import Adaptive as Adaptive
from szoht.updates.forward_backward import ForwardBackward as ForwardBackward
from szoht.updates.frank_wolfe import FrankWolfe as FrankWolfe
from szoht.updates.line_search import LineSearch as LineSearch
from szoht.updates.momentum import Momentum as Momentum
