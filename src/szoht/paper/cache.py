"""Finished curves on disk, so that an interrupted run goes on where it was."""

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

from szoht._version import __version__
from szoht.paper.experiment import Curve, Job, Table

__all__ = ["Cache", "code_version", "read", "save"]

UNRELATED = {"adapters", "cli", "paper", "reporting", "testing"}
"""Parts of the library that no curve depends on."""

OURS = "szoht.paper"


class Cache:
    """A folder with two files per finished job: columns in NPZ, everything else in JSON.

    A file appears under its name only when it is complete, and the JSON file last. The name is a
    hash of the experiment, the settings, the seed and the code, so a changed setting or a changed
    algorithm is run again, and nothing stale is ever read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def stem(self, job: Job, run: Callable[..., Table]) -> Path:
        """Return the path of a job's files, without the ending."""
        what = [job.experiment, job.curve, dict(job.settings), job.seed, code_version(run)]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        return self.folder / job.experiment / digest[:24]

    def load(self, job: Job, run: Callable[..., Table]) -> Curve | None:
        """Return the finished curve, or None if there is none that can be read."""
        try:
            return read(self.stem(job, run), job)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            return None


def read(stem: Path, job: Job) -> Curve:
    """Return the curve that `save` wrote."""
    facts = json.loads(stem.with_suffix(".json").read_text())
    with stem.with_suffix(".npz").open("rb") as raw:
        columns = np.load(raw, allow_pickle=False)
        table = {name: columns[name] for name in facts["columns"]}
    seconds, notes = float(facts["seconds"]), tuple(map(str, facts["notes"]))
    return Curve(job=job, table=table, seconds=seconds, notes=notes)


def save(stem: Path, curve: Curve) -> None:
    """Write a finished curve; whoever looks sees all of it or nothing."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "experiment": curve.job.experiment,
        "curve": curve.job.curve,
        "settings": dict(curve.job.settings),
        "seed": curve.job.seed,
        "columns": list(curve.table),
        "seconds": curve.seconds,
        "notes": list(curve.notes),
    }
    columns: dict[str, Any] = dict(curve.table)
    _replace(stem.with_suffix(".npz"), lambda file: np.savez_compressed(file, **columns))
    text = json.dumps(facts, indent=1).encode()
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


def code_version(run: Callable[..., Table]) -> str:
    """Return a hash of the library and of the functions that ``run`` reaches in its own file.

    A figure or a claim may change without a curve being computed again.
    """
    reached = json.dumps(_reached(run), sort_keys=True)
    return hashlib.sha256((library_version() + reached).encode()).hexdigest()


@cache
def library_version() -> str:
    """Return a hash of the sources of everything that a curve may depend on."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.json")]):
        inside = path.relative_to(root)
        if inside.parts[0] not in UNRELATED:
            digest.update(inside.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _reached(start: Callable[..., Any]) -> dict[str, str]:
    """Return the sources of ``start`` and of what it names within szoht.paper."""
    found: dict[str, str] = {}
    waiting: list[Any] = [start]
    while waiting:
        thing = waiting.pop()
        label = f"{thing.__module__}.{thing.__qualname__}"
        if label in found:
            continue
        found[label] = inspect.getsource(thing)
        for name, value in _globals(thing):
            if isinstance(value, FunctionType | type) and value.__module__.startswith(OURS):
                waiting.append(value)
            elif isinstance(value, int | float | str | tuple | dict):
                found[f"{thing.__module__}.{name}"] = repr(value)
    return found


def _globals(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the global names that a function, or the methods of a class, refer to."""
    for function in vars(thing).values() if isinstance(thing, type) else (thing,):
        if isinstance(function, FunctionType):
            for name in _names(function.__code__):
                yield name, function.__globals__.get(name)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:  # comprehensions and inner functions have code of their own
        if isinstance(constant, CodeType):
            yield from _names(constant)
