"""Run a command with the arithmetic of another processor, which rounds differently.

    python tests/other_processor.py [--core-type NAME] command ...

OpenBLAS takes the kernels of another kind of processor (``OPENBLAS_CORETYPE``), and NumPy those
without any of the instructions that it found (``NPY_DISABLE_CPU_FEATURES``). Which core types this
processor can execute is found out in child processes, for one that it cannot ends its process.
"""

import argparse
import os
import subprocess
import sys

import numpy as np

CORE_TYPES = ("Haswell", "SkylakeX", "Nehalem", "Zen")

PROBE = """
import hashlib, numpy as np, scipy.linalg
rng = np.random.default_rng(0)
a, b = rng.standard_normal((150, 150)), rng.standard_normal(150)
parts = a @ a, a @ b, b @ b, scipy.linalg.blas.dgemm(1.0, a, a), scipy.linalg.solve(a, b)
print(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
"""


def rounding(core_type=None):
    """Return a digest of what linear algebra rounds to, or None if the process was ended."""
    environment = os.environ | ({"OPENBLAS_CORETYPE": core_type} if core_type else {})
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def other_core_types():
    """Return the core types that can be executed here and round differently."""
    here = rounding()
    return [name for name in CORE_TYPES if rounding(name) not in (None, here)]


def environment_of(core_type):
    """Return the variables that choose the kernels of OpenBLAS and of NumPy."""
    found = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    return {"OPENBLAS_CORETYPE": core_type, "NPY_DISABLE_CPU_FEATURES": " ".join(found)}


def main():
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--core-type", help="of OpenBLAS; by default the first that differs")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.core_type and rounding(given.core_type) is None:
        parser.error(f"this processor cannot execute the core type {given.core_type}")
    core_type = given.core_type or next(iter(other_core_types()), None)
    if core_type is None:
        print("no core type that rounds differently can be executed here")  # noqa: T201
        return 0
    environment = environment_of(core_type)
    print(*(f"{name}={value!r}" for name, value in environment.items()), flush=True)  # noqa: T201
    return subprocess.run(given.command, env=os.environ | environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
