"""The solver that needs no tuning, in parts: measure, recover, solve on a support."""

from szoht.algorithms.auto.factory import auto as auto
from szoht.algorithms.auto.solver import Auto as Auto
