"""Adapters to the interfaces of other libraries."""

from szoht.adapters.scipy import scipy_method

__all__ = [
    "scipy_method",
]
