"""The solver that needs no tuning, in parts: measure, recover, solve on a support."""

from szoht.algorithms.automatic.factory import auto as auto
from szoht.algorithms.automatic.solver import Auto as Auto
