"""The solver that needs no tuning."""

from szoht.algorithms.automatic.factory import auto as auto
from szoht.algorithms.automatic.path import AutoPath as AutoPath
from szoht.algorithms.automatic.solver import Auto as Auto
