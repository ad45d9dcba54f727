"""What a report of a problem should say about the machine."""

import os
import platform
import sqlite3
from importlib import metadata

import numpy as np

from szoht.core.version import __version__

__all__ = ["show_versions"]

PACKAGES = (
    *("numpy", "scipy", "typer", "rich", "matplotlib", "pandas", "pooch", "distributed", "ray"),
    *("torch", "onnxruntime", "pillow", "PyWavelets"),
)
SETTINGS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "OMP_NUM_THREADS")


def show_versions() -> None:
    """Print the versions of szoht, Python and the packages in use, and how NumPy computes here.

    Runs are the same bit for bit where these are the same.

    Examples
    --------
    >>> import szoht
    >>> szoht.show_versions()  # doctest: +ELLIPSIS
    szoht: ...
    """
    lines = {
        "szoht": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "sqlite": sqlite3.sqlite_version,
        **{name: _version(name) for name in PACKAGES},
        **_arithmetic(),
        **{name: os.environ[name] for name in SETTINGS if name in os.environ},
    }
    text = "\n".join(f"{name}: {value}" for name, value in lines.items())
    print(text)  # noqa: T201  (what it is for)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _arithmetic() -> dict[str, str]:
    """Return the linear algebra that NumPy was built with, and the instructions that it uses."""
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    found = config.get("SIMD Extensions", {}).get("found", [])
    return {
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "instructions": ", ".join(found) or "baseline",
    }
