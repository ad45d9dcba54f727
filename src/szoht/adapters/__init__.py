"""Thin facades over `minimize` for other libraries' interfaces."""

from szoht.adapters.scipy import scipy_method as scipy_method
