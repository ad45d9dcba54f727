"""Keep the allocator from handing memory back to the system between iterations."""

from functools import cache

import numpy as np

__all__ = ["raise_mmap_threshold"]

FREED_VALUES = 2**22 - 2**14
"""Just under 32 MB, the largest block that changes the threshold of glibc's allocator."""


@cache
def raise_mmap_threshold() -> None:
    """Free one large block, once per process.

    glibc takes blocks above a threshold straight from the system and returns them when freed; the
    pages of the next block must then be fetched again, which for arrays of a few megabytes costs
    more than filling them. It raises the threshold to the size of the largest block freed so far.
    The block is never touched, so this costs nothing; other allocators ignore it.
    """
    np.empty(FREED_VALUES)
