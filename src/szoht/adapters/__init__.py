"""Thin facades over `minimize` for other libraries' interfaces."""

from szoht.adapters.scipy import scipy_method

__all__ = [
    "scipy_method",
]
