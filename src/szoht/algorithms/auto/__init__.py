"""The default solver, from parts: see `solver` for the order of its steps."""

from szoht.algorithms.auto.factory import auto
from szoht.algorithms.auto.path import AutoPath
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.solver import Auto

__all__ = ["Auto", "AutoPath", "Policy", "auto"]
