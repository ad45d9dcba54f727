"""Values as JSON and arrays: what a store holds in place of pickles.

Only data can be written down: numbers, strings, containers, arrays, and the records listed in
`szoht.store.names`. Reading is typed: each value must fit the annotation of its
field, so that a record is made only where it belongs, and nothing in a file decides what is
called.
"""

import collections.abc
import dataclasses
import io
import json
import math
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from szoht.core.validation import frozen
from szoht.errors import EncodingError
from szoht.store.names import UnknownPartError, belongs, find_class, name_of, new_field

__all__ = ["Encoded", "decode", "decode_entries", "encode"]

MAX_DEPTH = 32
"""Records and containers inside each other; algorithms need about five."""

MAX_ARRAYS = 10_000

NPY_PREFIX = b"\x93NUMPY\x01\x00"
NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)


class Encoded(NamedTuple):
    """JSON text, and the arrays that it refers to by number, as NPY one after another."""

    text: str
    arrays: bytes

    @property
    def crc(self) -> int:
        """A checksum of both."""
        return zlib.crc32(self.arrays, zlib.crc32(self.text.encode()))


def encode(value: Any) -> Encoded:
    """Return ``value`` as text and bytes, or raise `EncodingError` naming what is not data.

    >>> encode({"step": 0.5, "sizes": (1, 2)}).text
    '{"dict": [["step", 0.5], ["sizes", {"tuple": [1, 2]}]]}'
    """
    writer = _Writer()
    text = json.dumps(writer.tree(value))
    return Encoded(text, writer.file.getvalue())


def decode(encoded: Encoded, annotation: Any) -> Any:
    """Return what was encoded, if it fits ``annotation``; its arrays are read-only.

    >>> decode(encode((1.5, 2.0)), tuple[float, ...])
    (1.5, 2.0)
    """
    return _Reader(encoded.arrays).value(_parsed(encoded.text), annotation)


def decode_entries(
    encoded: Encoded,
    annotations: Mapping[str, Any],
    *,
    ignore_others: bool = False,
    or_none: Collection[str] = (),
) -> dict[str, Any]:
    """Return the entries of an encoded dict, each with an annotation of its own.

    Entries in ``or_none`` are None if they hold records of another version of the library.

    >>> decode_entries(encode({"k": 3, "x": 0.5}), {"k": int}, ignore_others=True)
    {'k': 3}
    """
    reader, entries = _Reader(encoded.arrays), _parsed(encoded.text)
    read = {}
    for name, tree in _pairs(entries.get("dict") if isinstance(entries, dict) else None):
        if name in annotations:
            try:
                read[name] = reader.value(tree, annotations[name])
            except UnknownPartError:
                if name not in or_none:
                    raise
                read[name] = None
        elif not ignore_others:
            raise EncodingError(f"{name!r} is not known here")
    return read


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EncodingError(f"its text is not JSON that can be read: {error}") from error


def _pairs(items: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of a dict as it is encoded."""
    for item in items if isinstance(items, list) else [None]:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):  # noqa: PLR2004
            raise EncodingError("a dict is not a list of names and values")
        yield item[0], item[1]


class _Writer:
    def __init__(self) -> None:
        self.file = io.BytesIO()
        self.count = 0

    def tree(self, value: Any, depth: int = 0) -> Any:
        """Return what JSON can hold, writing arrays to the file on the way."""
        if depth > MAX_DEPTH:
            raise EncodingError(f"what is nested more than {MAX_DEPTH} deep is not stored")
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if type(value) in (tuple, list, dict):
            return self._container(value, depth)
        return self._record(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise EncodingError("a dict with other keys than strings is not stored")
            return {"dict": [[key, self.tree(item, depth + 1)] for key, item in value.items()]}
        items = [self.tree(item, depth + 1) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items

    def _array(self, array: np.ndarray) -> dict[str, int]:
        if array.dtype.kind not in "biuf":
            raise EncodingError(f"an array of type {array.dtype} is not stored")
        np.lib.format.write_array(self.file, array, version=(1, 0), allow_pickle=False)
        self.count += 1
        return {"array": self.count - 1}

    def _record(self, value: Any, depth: int) -> dict[str, Any]:
        kind: Any = type(value)
        try:
            name = name_of(kind)
        except EncodingError as error:
            what = f"{value!r} of type {kind.__name__} is not stored"
            raise EncodingError(what) from error
        fields = {
            field: self.tree(getattr(value, field), depth + 1) for field in _field_types(kind)
        }
        return {"record": name, "fields": fields}


class _Reader:
    def __init__(self, arrays: bytes) -> None:
        self.arrays = _read_arrays(arrays)

    def value(self, tree: Any, annotation: Any, depth: int = 0) -> Any:
        """Return what the tree stands for; it must fit the annotation."""
        if depth > MAX_DEPTH:
            raise EncodingError(f"it is nested more than {MAX_DEPTH} deep")
        annotations = _alternatives(annotation)
        if isinstance(tree, list):
            return self._items(tree, annotations, depth)
        if not isinstance(tree, dict):
            return _plain(tree, annotations)
        read = NODE_READERS.get(frozenset(tree))
        if read is None:
            raise EncodingError(f"{sorted(tree)!r} is not a kind of value")
        return read(self, tree, annotations, depth)

    def _items(self, items: Any, annotations: list[Any], depth: int) -> list[Any]:
        inner = _inner(annotations, (tuple, list, collections.abc.Sequence))
        return [self.value(item, inner, depth + 1) for item in items]

    def _tuple(self, tree: dict[str, Any], annotations: list[Any], depth: int) -> Any:
        if not isinstance(tree["tuple"], list):
            raise EncodingError("a tuple is not a list of values")
        return tuple(self._items(tree["tuple"], annotations, depth))

    def _dict(self, tree: dict[str, Any], annotations: list[Any], depth: int) -> Any:
        inner = _inner(annotations, (dict, collections.abc.Mapping))
        return {key: self.value(item, inner, depth + 1) for key, item in _pairs(tree["dict"])}

    def _array(self, tree: dict[str, Any], annotations: list[Any], depth: int) -> Any:
        del depth
        number = tree["array"]
        if not any(
            annotation is Any or get_origin(annotation) is np.ndarray for annotation in annotations
        ):
            raise EncodingError(f"an array does not belong where {_describe(annotations)} does")
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise EncodingError(f"there is no array {number!r}")
        return self.arrays[number]

    def _record(self, tree: dict[str, Any], annotations: list[Any], depth: int) -> Any:
        stored, fields = tree["record"], tree["fields"]
        if not isinstance(stored, str) or not isinstance(fields, dict):
            raise EncodingError("a record is not a name and fields")
        name, kind = find_class(stored)
        if not any(belongs(name, annotation) for annotation in annotations):
            raise EncodingError(f"{name!r} does not belong where {_describe(annotations)} does")
        known, values = _field_types(kind), {}
        for old, item in fields.items():
            field = new_field(name, old)
            if field not in known:
                raise UnknownPartError(f"{name!r} has no field {field!r}")
            values[field] = self.value(item, known[field], depth + 1)
        try:
            return kind(**values)
        except Exception as error:  # whatever a constructor objects to, the file is at fault
            raise EncodingError(f"{name!r} cannot be made: {error}") from error


NODE_READERS: Mapping[frozenset[str], Callable[[_Reader, Any, list[Any], int], Any]] = {
    frozenset({"array"}): _Reader._array,
    frozenset({"dict"}): _Reader._dict,
    frozenset({"tuple"}): _Reader._tuple,
    frozenset({"record", "fields"}): _Reader._record,
}
"""The kinds of JSON object that a store writes, by their keys."""


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    """Return the fields of a record that its constructor takes, with their annotations."""
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
    return {name: hints[name] for name in kind._fields}


def _alternatives(annotation: Any) -> list[Any]:
    """Return the members of a union, or the annotation alone, of an alias what it stands for."""
    alias = getattr(get_origin(annotation) or annotation, "__value__", None)
    if alias is not None:  # as NDArray from NumPy 2.5 on
        return _alternatives(alias)
    if get_origin(annotation) in (Union, UnionType):
        return [inner for member in get_args(annotation) for inner in _alternatives(member)]
    return [annotation]


def _inner(annotations: list[Any], kinds: tuple[Any, ...]) -> Any:
    """Return the annotation of what is inside a container."""
    for annotation in annotations:
        if annotation is Any:
            return Any
        if get_origin(annotation) in kinds:
            return get_args(annotation)[0 if kinds[0] is tuple else 1]
    raise EncodingError(f"a container does not belong where {_describe(annotations)} does")


def _plain(value: Any, annotations: list[Any]) -> Any:
    """Return a number, a string or None, if one of the annotations allows it."""
    for annotation in annotations:
        if get_origin(annotation) is Literal:
            fits = isinstance(value, str) and value in get_args(annotation)
        else:
            exact = annotation in (bool, int, float, str, NoneType) and type(value) is annotation
            fits = annotation is Any or exact or (annotation is float and type(value) is int)
        if fits:
            return value
    raise EncodingError(f"{value!r:.50} does not belong where {_describe(annotations)} does")


def _describe(annotations: list[Any]) -> str:
    return " | ".join(
        str(getattr(annotation, "__name__", annotation)) for annotation in annotations
    )


def _read_arrays(data: bytes) -> list[np.ndarray]:
    """Return arrays written one after another; no header may ask for more bytes than there are."""
    arrays: list[np.ndarray] = []
    start = 0
    while start < len(data):
        length = int.from_bytes(data[start + 8 : start + 10], "little")
        header = NPY_HEADER.fullmatch(data[start + 10 : start + 10 + length])
        if header is None or not data.startswith(NPY_PREFIX, start) or len(arrays) >= MAX_ARRAYS:
            raise EncodingError("an array has no header that can be read")
        try:
            dtype = np.dtype(header[1].decode())
        except TypeError as error:
            raise EncodingError(f"an array has an unknown type: {error}") from error
        shape = tuple(map(int, re.findall(rb"\d+", header[3])))
        first, start = start + 10 + length, start + 10 + length + dtype.itemsize * math.prod(shape)
        if start > len(data):
            raise EncodingError(f"an array of shape {shape} is longer than what is stored of it")
        order: Literal["C", "F"] = "F" if header[2] == b"True" else "C"
        try:
            array = np.frombuffer(data[first:start], dtype=dtype).reshape(shape, order=order)
        except ValueError as error:  # more dimensions than NumPy knows, or no entries but a size
            raise EncodingError(f"an array of shape {shape} cannot be made: {error}") from error
        arrays.append(frozen(array.astype(dtype.newbyteorder("="))))
    return arrays
