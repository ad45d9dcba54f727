"""On-disk cache of computed curves, so that an interrupted run can continue."""

import hashlib
import inspect
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from szoht.core.version import __version__
from szoht.paper.experiment import Curve, Job, Table

__all__ = ["Cache", "code_hash", "read_curve", "write_curve"]

EXCLUDED_PACKAGES = {"adapters", "cli", "paper", "reporting", "testing"}
"""Packages whose changes do not affect any curve."""

OWN_PACKAGE = "szoht.paper"


class Cache:
    """A folder with two files per finished job: columns in NPZ, everyitem else in JSON.

    Files are written atomically, the JSON file last. Their name is a hash of the experiment, the
    settings, the seed and the code, so a changed setting or algorithm is never read from cache.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hashes: dict[Callable[..., Table], str] = {}  # of 220 jobs they took a minute

    def stem(self, job: Job, run: Callable[..., Table]) -> Path:
        """Return the path of a job's files, without suffix."""
        owner = job.shared or job.experiment
        if run not in self._hashes:
            self._hashes[run] = code_hash(run)
        key = [owner, job.curve, dict(job.settings), job.seed, self._hashes[run]]
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / owner / digest[:24]

    def load(self, job: Job, run: Callable[..., Table]) -> Curve | None:
        """Return the cached curve, or None if there is no readable one."""
        try:
            return read_curve(self.stem(job, run), job)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None


def read_curve(stem: Path, job: Job) -> Curve:
    """Return the curve that `write_curve` wrote."""
    metadata = json.loads(stem.with_suffix(".json").read_text())
    with stem.with_suffix(".npz").open("rb") as raw:
        columns = np.load(raw, allow_pickle=False)
        table = {name: columns[name] for name in metadata["columns"]}
    seconds, warnings = float(metadata["seconds"]), tuple(map(str, metadata["warnings"]))
    return Curve(job=job, table=table, seconds=seconds, warnings=warnings)


def write_curve(stem: Path, curve: Curve) -> None:
    """Write a curve atomically."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    metadata = {
        "experiment": curve.job.experiment,
        "curve": curve.job.curve,
        "settings": dict(curve.job.settings),
        "seed": curve.job.seed,
        "columns": list(curve.table),
        "seconds": curve.seconds,
        "warnings": list(curve.warnings),
    }
    columns: dict[str, Any] = dict(curve.table)
    _replace(stem.with_suffix(".npz"), lambda file: np.savez_compressed(file, **columns))
    text = json.dumps(metadata, indent=1).encode()
    _replace(stem.with_suffix(".json"), lambda file: file.write(text))


def _replace(path: Path, write: Callable[[Any], Any]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            write(file)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def code_hash(run: Callable[..., Table]) -> str:
    """Return a hash of the library and of the code of this package that ``run`` depends on.

    Changes to figures or claims do not invalidate curves.
    """
    sources = json.dumps(_dependencies(run), sort_keys=True)
    return hashlib.sha256((library_hash() + sources).encode()).hexdigest()


@cache
def library_hash() -> str:
    """Return a hash of all sources that a curve may depend on."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.json")]):
        inside = path.relative_to(root)
        if inside.parts[0] not in EXCLUDED_PACKAGES:
            digest.update(inside.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _dependencies(start: Callable[..., Any]) -> dict[str, str]:
    """Return the sources of ``start`` and of all names in szoht.paper that it refers to."""
    found: dict[str, str] = {}
    queue: list[Any] = [start]
    while queue:
        item = queue.pop()
        label = f"{item.__module__}.{item.__qualname__}"
        if label in found:
            continue
        found[label] = inspect.getsource(item)
        for name, value in _globals(item):
            if isinstance(value, FunctionType | type) and value.__module__.startswith(OWN_PACKAGE):
                queue.append(value)
            elif isinstance(value, int | float | str | tuple | dict):
                found[f"{item.__module__}.{name}"] = repr(value)
    return found


def _globals(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield the global names that a function, or the methods of a class, refer to."""
    for function in vars(item).values() if isinstance(item, type) else (item,):
        if isinstance(function, FunctionType):
            for name in _names(function.__code__):
                yield name, function.__globals__.get(name)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:  # comprehensions and inner functions have code of their own
        if isinstance(constant, CodeType):
            yield from _names(constant)
