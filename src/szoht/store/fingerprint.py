"""Fingerprints: whether a function is the same when a run is resumed."""

import hashlib
import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from szoht.core.objective import check_args

__all__ = ["fingerprint", "import_path", "load_function", "matches", "stable_repr"]

MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def stable_repr(part: object) -> str:
    """Return the ``repr`` of a part without addresses in memory, which change with each process.

    >>> stable_repr(len), stable_repr(lambda x: x)
    ('<built-in function len>', '<function <lambda>>')
    """
    return MEMORY_ADDRESS.sub("", repr(part))


def fingerprint(function: Any, args: tuple[Any, ...] = ()) -> dict[str, str]:
    """Return the name of a function, and a hash of its compiled code where there is any.

    The hash covers instructions, constants and names, those of inner functions too, and neither
    line numbers nor what the function finds in its closure or its module. An object is known by
    its class and the code of its method ``value`` or ``__call__``; if it is a record, such as a
    `Program`, by its ``repr``. The arguments that a `functools.partial` adds count, and so do
    ``args``, arrays among them by their contents.
    """
    check_args(args)
    arguments: list[Any] = [args] if args else []
    while isinstance(function, partial):
        arguments.append((function.args, function.keywords))
        function = function.func
    result = {
        "name": _name(function),
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "arguments": _digest(_stable(arguments)) if arguments else "",
    }
    if hasattr(function, "__dataclass_fields__"):
        result["repr"] = stable_repr(function)
    code = _code(function)
    if code is not None:
        result["code"] = _hash(code)
    return result


def matches(stored: dict[str, str], given: dict[str, str]) -> bool:
    """Tell whether two fingerprints can be of one function.

    Code is compared only where both come from one version of Python: others compile the same
    source differently. Files of version 0.1 say nothing about arguments.
    """
    if "arguments" in stored and stored["arguments"] != given["arguments"]:
        return False
    if stored["name"] != given["name"] or stored.get("repr") != given.get("repr"):
        return False
    return stored["python"] != given["python"] or stored.get("code") == given.get("code")


def import_path(function: Any) -> str | None:
    """Return ``module:name`` if the function can be found under it, else None.

    >>> import math
    >>> import_path(math.sin), import_path(lambda x: x)
    ('math:sin', None)
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(module), name, None) is function else None


def load_function(where: str) -> Callable[..., Any]:
    """Return the function at ``module:name``; ImportError or AttributeError if there is none.

    >>> load_function("math:hypot")(3, 4)
    5.0
    """
    module, _, name = where.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _name(function: Any) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(named, "__module__", type(function).__module__)
    return f"{module}:{named.__qualname__}"


def _code(function: Any) -> CodeType | None:
    for candidate in (function, getattr(function, "value", None), type(function).__call__):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _hash(code: CodeType) -> str:
    return _digest(_parts(code))


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]


def _stable(value: Any) -> Any:
    """Return something whose ``repr`` is the same in every process, and tells contents apart."""
    code = None if isinstance(value, type) else getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        return _name(value), _parts(code)
    if isinstance(value, np.ndarray):
        return _stable_array(value)
    if isinstance(value, partial):
        value = (value.func, value.args, value.keywords)
    elif is_dataclass(value) and not isinstance(value, type):
        value = (_name(value), *(getattr(value, entry.name) for entry in fields(value)))
    if isinstance(value, tuple | list):
        return type(value).__name__, [_stable(item) for item in value]
    if isinstance(value, dict):
        value = {repr((_stable(key), _stable(item))) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(repr(_stable(item)) for item in value)
    return stable_repr(value)


def _stable_array(array: np.ndarray) -> Any:
    if array.dtype.hasobject:
        return array.shape, _stable(array.tolist())
    contents = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return str(array.dtype), array.shape, contents


def _parts(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_constant(constant) for constant in code.co_consts)
    return (code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars)


def _constant(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _parts(constant)
    if isinstance(constant, frozenset):  # its order differs between processes
        return sorted(map(repr, constant))
    if isinstance(constant, tuple):
        return tuple(_constant(item) for item in constant)
    return repr(constant)
