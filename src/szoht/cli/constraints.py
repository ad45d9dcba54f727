"""The option ``--constraint``: sets other than at most k changes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import typer

from szoht.cli.constraint_json import SETS, read_constraint
from szoht.cli.options import read_vector
from szoht.errors import ParameterError
from szoht.operators import GroupSparse, L1Ball, Operator, SparseSimplex

__all__ = ["ConstraintOption", "parse_constraint"]

FORMS = ("simplex", "simplex:TOTAL", "group:SIZE", "group:FILE", "l1:RADIUS", "FILE.json", "{...}")

ConstraintOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--constraint",
        help="A set instead of at most k changes: simplex[:TOTAL], at most k weights that sum to 1 "
        "or TOTAL; group:SIZE or group:FILE, at most k groups of neighbors or as a NPY or JSON "
        "file numbers them; l1:RADIUS; or, without -k, JSON or a file with it, such as "
        '{"set": "tree_sparse", "k": 5, "parents": "parents.npy"}, with arrays as lists or NPY '
        f"files. Sets: {', '.join(SETS)}.",
        autocompletion=lambda: ["simplex", "group:", "l1:"],
    ),
]


def parse_constraint(text: str | None, k: int | None) -> Operator | None:
    """Return the set that a text means, of size k where it has one."""
    if text is None:
        return None
    if text.lstrip().startswith("{") or (text.endswith(".json") and ":" not in text):
        if k is not None:
            raise ParameterError(f"`k` must be stated in the JSON of `constraint`; got k={k}.")
        return read_constraint(text)
    kind, _, argument = text.partition(":")
    if kind not in READERS:
        raise ParameterError(f"`constraint` must read {', '.join(FORMS)}; got {text!r}.")
    if k is None and kind != "l1":
        raise ParameterError(f"`k` must be given for constraint={text!r}; got k=None.")
    return READERS[kind](argument, k or 0)


def _simplex(total: str, k: int) -> Operator:
    return SparseSimplex(k, total=_number("total", total) if total else 1.0)


def _group(argument: str, k: int) -> Operator:
    if argument.isdecimal():
        return GroupSparse(k=k, size=int(argument))
    labels = read_vector("constraint", Path(argument))
    if not np.array_equal(labels, np.rint(labels)):
        raise ParameterError(f"`constraint` must number the groups; {argument} has other numbers.")
    return GroupSparse(k=k, groups=labels.astype(np.intp))


def _l1(radius: str, k: int) -> Operator:
    if k:
        raise ParameterError(f"`k` must not be given beside constraint='l1:{radius}'; got k={k}.")
    return L1Ball(_number("radius", radius))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"`constraint` must have a number as {name}; got {text!r}.") from error


READERS: Mapping[str, Callable[[str, int], Operator]] = {
    "simplex": _simplex,
    "group": _group,
    "l1": _l1,
}
