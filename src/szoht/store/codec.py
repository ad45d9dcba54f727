"""Values as JSON and arrays: what a store holds in place of pickles.

Only data can be written down: numbers, strings, containers, arrays, and the library's own frozen
records by the names of their classes. Reading back calls the constructors of those classes, which
check what they are given, and nothing else.
"""

import dataclasses
import enum
import importlib
import io
import json
from typing import Any, NamedTuple

import numpy as np

from szoht._validate import frozen
from szoht.errors import EncodingError

__all__ = ["Encoded", "decode", "encode"]

PACKAGE = __name__.partition(".")[0]


class Encoded(NamedTuple):
    """JSON text, and the arrays that it refers to by number, as NPY one after another."""

    text: str
    arrays: bytes


def encode(value: Any) -> Encoded:
    """Return ``value`` as text and bytes, or raise `EncodingError` naming what is not data.

    >>> encode({"step": 0.5, "sizes": (1, 2)}).text
    '{"dict": [["step", 0.5], ["sizes", {"tuple": [1, 2]}]]}'
    """
    writer = _Writer()
    text = json.dumps(writer.tree(value))
    return Encoded(text, writer.file.getvalue())


def decode(encoded: Encoded) -> Any:
    """Return what was encoded; its arrays are read-only.

    >>> decode(encode((1.5, None, "text", float("inf"))))
    (1.5, None, 'text', inf)
    """
    file = io.BytesIO(encoded.arrays)
    arrays = []
    while file.tell() < len(encoded.arrays):
        arrays.append(frozen(np.lib.format.read_array(file, allow_pickle=False)))
    return _Reader(arrays).value(json.loads(encoded.text))


class _Writer:
    def __init__(self) -> None:
        self.file = io.BytesIO()
        self.count = 0

    def tree(self, value: Any) -> Any:
        """Return what JSON can hold, writing arrays to the file on the way."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if type(value) in (tuple, list, dict):
            return self._container(value)
        return self._record(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {"dict": [[self.tree(key), self.tree(item)] for key, item in value.items()]}
        items = [self.tree(item) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items

    def _array(self, array: np.ndarray) -> dict[str, int]:
        if array.dtype.kind not in "biuf":
            raise EncodingError(f"an array of type {array.dtype} is not stored")
        np.lib.format.write_array(self.file, array, allow_pickle=False)
        self.count += 1
        return {"array": self.count - 1}

    def _record(self, value: Any) -> dict[str, Any]:
        if isinstance(value, enum.Enum):
            return {"member": _name(value), "name": value.name}
        if not _is_record(type(value)):
            raise EncodingError(f"{value!r} of type {type(value).__name__} is not stored")
        fields = {name: self.tree(getattr(value, name)) for name in _fields(type(value))}
        return {"record": _name(value), "fields": fields}


class _Reader:
    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays

    def value(self, tree: Any) -> Any:
        """Return what the tree stands for."""
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        (kind, content), *rest = tree.items()
        return getattr(self, f"_{kind}")(content, *(part for _, part in rest))

    def _array(self, number: int) -> Any:
        return self.arrays[number]

    def _tuple(self, items: list[Any]) -> Any:
        return tuple(self.value(item) for item in items)

    def _dict(self, items: list[Any]) -> Any:
        return {self.value(key): self.value(item) for key, item in items}

    def _member(self, kind: str, name: str) -> Any:
        return _class(kind)[name]

    def _record(self, kind: str, fields: dict[str, Any]) -> Any:
        return _class(kind)(**{name: self.value(item) for name, item in fields.items()})


def _is_record(kind: type) -> bool:
    ours = kind.__module__.partition(".")[0] == PACKAGE
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return ours and (dataclasses.is_dataclass(kind) or named)


def _fields(kind: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    names: tuple[str, ...] = kind._fields
    return names


def _name(value: Any) -> str:
    kind = type(value)
    if kind.__module__.partition(".")[0] != PACKAGE:
        raise EncodingError(f"{value!r} of type {kind.__name__} is not stored")
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> Any:
    """Return one of the library's own records or enumerations, and nothing else."""
    module, _, attribute = name.partition(":")
    if module.partition(".")[0] != PACKAGE:
        raise EncodingError(f"{name} is not a class of this library")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise EncodingError(f"this version of the library has no {name}") from error
    if not (isinstance(kind, type) and (_is_record(kind) or issubclass(kind, enum.Enum))):
        raise EncodingError(f"{name} is not a record")
    return kind
