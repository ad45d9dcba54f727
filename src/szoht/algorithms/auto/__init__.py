"""The default solver, from parts: see `solver` for the order of its steps."""

from szoht.algorithms.auto.factory import auto

__all__ = ["auto"]
