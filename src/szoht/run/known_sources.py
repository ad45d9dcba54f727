"""Where known evaluations come from: arrays, data frames, CSV files, and the runs of a store."""

import os
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from szoht.core.csv_text import parse_csv
from szoht.core.ledger import Ledger
from szoht.core.sparse_vector import SparseVector
from szoht.core.text_files import read_text
from szoht.core.variables import Variables
from szoht.errors import ParameterError, ParameterTypeError, SzohtError
from szoht.store import RunSpec, Store, open_store
from szoht.store.rounds import load_rounds
from szoht.types import Vector

__all__ = ["Known", "read_known"]

Known: TypeAlias = Any
"""A pair (points, values), the path of a CSV file, or a store or its path."""

MOST_VALUES = 2**25
"""Numbers that are read from a store: evaluations of the newest runs, times the dimension."""


def read_known(known: Known, d: int, variables: Variables | None) -> tuple[Vector, Vector]:
    """Return points of shape (n, d), finite, and values of shape (n,)."""
    names = () if variables is None else variables.names
    if isinstance(known, Store) or (_is_path(known) and Path(known).suffix.lower() != ".csv"):
        return _from_store(known, d, names)
    if _is_path(known):
        known = _from_csv(Path(known), d, names)
    try:
        given, stated = known
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            "`known` must be a pair (points, values), the path of a .csv file, or a store; got "
            f"{type(known).__name__}."
        ) from error
    if names and hasattr(given, "columns"):
        given = _columns(given, names)
    try:
        points = np.atleast_2d(np.array(given, dtype=np.float64))
        values = np.atleast_1d(np.array(stated, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"`known` must be numbers: {error}.") from error
    if points.ndim != 2 or points.shape != (values.size, d) or values.ndim != 1:  # noqa: PLR2004
        raise ParameterError(
            f"`known` must be points of shape (n, {d}) and values of shape (n,); got shapes "
            f"{np.shape(given)} and {np.shape(stated)}."
        )
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        raise ParameterError(
            f"`known` points must be finite; got {points[row, column]} in row {row}, column "
            f"{column}."
        )
    return points, values


def _is_path(known: Known) -> bool:
    return isinstance(known, str | os.PathLike)


def _columns(frame: Any, names: tuple[str, ...]) -> Any:
    """Return the columns of a DataFrame in the order of the variables."""
    _check_names([str(column) for column in frame.columns], names, "the DataFrame")
    return frame[list(names)]


def _check_names(columns: list[str], names: tuple[str, ...], where: str) -> None:
    lost = [name for name in names if name not in columns]
    unknown = [column for column in columns if column not in names]
    if lost or unknown or len(columns) != len(names):
        what = f"lacks {lost[0]!r}" if lost else f"has {(unknown or columns)[0]!r} besides"
        raise ParameterError(
            f"`known` must have one column for each variable, by name; {where} {what}."
        )


def _from_csv(path: Path, d: int, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Read a file with a header: a column for each variable, and one called ``value``."""
    rows = parse_csv(read_text(path), str(path)).rows
    header = rows[0][1] if rows else []
    if header.count("value") != 1:
        raise ParameterError(
            f"`known` must have a header with one column 'value' beside the variables; {path} has "
            f"{', '.join(header[:8]) or 'none'}."
        )
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise ParameterError(
                f"`known` must have {len(header)} cells in each line, as in the header; line "
                f"{line} of {path} has {len(row)}."
            )
    at = header.index("value")
    columns = header[:at] + header[at + 1 :]
    if names:
        _check_names(columns, names, str(path))
        where = [header.index(name) for name in names]
    else:
        where = [i for i in range(len(header)) if i != at]
    values = [row[at] or "nan" for _, row in rows[1:]]
    points = [[row[i] for i in where] for _, row in rows[1:]]
    return (points, values) if points else (np.empty((0, d)), values)


def _from_store(known: Known, d: int, names: tuple[str, ...]) -> tuple[Vector, Vector]:
    """Return the evaluations of the runs of a store that have the same variables, newest first."""
    points, values = [np.empty((0, d))], [np.empty(0)]
    left = MOST_VALUES // d
    with open_store(known, create=False) as store:
        for run in reversed(store.runs()):
            try:
                spec = store.spec(run.name)
            except SzohtError:  # of another version, and listed all the same
                continue
            theirs = () if spec.variables is None else spec.variables.names
            if left > 0 and spec.x0.size == d and theirs == names:
                x, found = _evaluations(store, run.name, spec)
                points.append(x[:left])
                values.append(found[:left])
                left -= len(x)
    return np.vstack(points), np.concatenate(values)


def _evaluations(store: Store, name: str, spec: RunSpec) -> tuple[Vector, Vector]:
    """Return what a run has evaluated, as far as its points are kept, in the user's numbers."""
    ledger = Ledger(spec.x0)
    is_sampled = spec.n_samples is not None or spec.stochastic
    if not (is_sampled or isinstance(cast(object, spec.x0), SparseVector)):
        load_rounds(ledger, store.open_readonly(name).rounds.all())
    values = ledger.values
    rows = [row for row in np.flatnonzero(np.isfinite(values)).tolist() if ledger.keeps(row)]
    points = np.array([ledger.point(row) for row in rows]).reshape(len(rows), spec.x0.size)
    if spec.variables is not None and rows:
        points = spec.variables.to_x(points)
    return points, values[rows]
