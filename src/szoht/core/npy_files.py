"""Arrays from files, whoever wrote them: NumPy's NPY format and no other."""

from pathlib import Path

import numpy as np

from szoht.errors import DataError
from szoht.types import Vector

__all__ = ["read_npy"]

NPY_MAGIC = b"\x93NUMPY"


def read_npy(path: Path, name: str | None = None) -> Vector:
    """Return the array in a file, or raise a `DataError` that says what is wrong.

    A file is never taken for an archive or for pickled objects, and no more is read than it has:
    a header may promise any size. ``name`` is what the message calls the file.
    """
    name = name or str(path)
    with path.open("rb") as file:
        start = file.read(len(NPY_MAGIC))
    if start != NPY_MAGIC:
        archive = " but an archive of arrays (NPZ)" if start.startswith(b"PK") else ""
        raise DataError(f"{name} is not an array in NPY format{archive}. Write it with numpy.save.")
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r")
    except OSError:
        raise
    except Exception as error:  # whatever NumPy stumbles over in bytes from anywhere
        why = str(error).rstrip(".") or type(error).__name__
        raise DataError(f"{name} is not a whole array in NPY format: {why}.") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold real numbers; its array is of type {array.dtype}.")
    return np.array(array)
