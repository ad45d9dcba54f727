"""Known evaluations: points and values from before a run, the best of which may be its start."""

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from szoht.core.algorithm import Algorithm, Measured
from szoht.core.query import Answer, Plan, Query, Stage
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.core.variables import Variables
from szoht.errors import (
    CapabilityError,
    KnownPointWarning,
    ParameterError,
    ParameterTypeError,
    RunMismatchError,
    warn,
)
from szoht.store import Store, open_store
from szoht.types import Indices, Sample, Vector

__all__ = ["CHECK_POINTS", "Known", "KnownCheck", "KnownStart", "best_known"]

Known: TypeAlias = Any
"""A pair (points, values), the path of a CSV file, or a store or its path."""

CHECK_POINTS = 2
"""Before a run begins at a known point, that point and x0 are measured."""

STATED_ROUNDING, CONTRADICTION = 1e-8, 0.1
"""A stated value is wrong if it is off by more than the first share of itself and the second share
of what it promises to gain."""

ON_GRID = 1e-9
"""A point that is not on the grid of its integers differs by more than this from its nearest."""


def best_known(
    known: Known,
    start: Vector,
    *,
    variables: Variables | None,
    algorithm: Algorithm,
    maximize: bool,
) -> Measured | None:
    """Return the best known point that the constraint allows, None if ``start`` is as good.

    The point is in the solver's numbers, its value as the user states it.
    """
    if known is None:
        return None
    if "n_outputs" in algorithm.requires:
        raise CapabilityError(
            f"`known` values are single numbers, and {algorithm!r} takes several."
        )
    if isinstance(start, SparseVector):
        raise CapabilityError(
            "`known` points are dense, and `x0` is sparse. Pass `x0` as an array."
        )
    points, values = _read(known, start.size, variables)
    z, usable = _to_z(points, variables)
    usable &= np.isfinite(values)
    _warn_of_dropped(points, usable)
    contains = getattr(algorithm.operator, "contains", None)
    order = np.argsort(-values if maximize else values, kind="stable")
    for i in order[usable[order]].tolist():
        if np.array_equal(z[i], start):
            return None
        if contains is None or contains(z[i]):
            return Measured(frozen(z[i]), float(values[i]))
    if usable.any():
        warn(
            f"None of the {len(values)} `known` points satisfies {algorithm.operator!r}; the run "
            "starts from `x0`.",
            KnownPointWarning,
        )
    return None


class KnownStart(NamedTuple):
    """Where a run begins after all, the answer that was measured there, and why."""

    x: Vector
    answer: Answer
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownCheck:
    """One plan that measures x0 and the best known point, which begins the run if it is better.

    Values that depend on a sample are measured on one, and are not compared with stated ones.
    """

    start: Vector
    known: Measured
    sample: Sample
    maximize: bool

    @property
    def plan(self) -> Plan:
        """The start first: it must not fail."""
        points = (self.start, self.known.x)
        queries = tuple(Query(base=point, sample=self.sample) for point in points)
        return Plan(queries=queries, stage=Stage.MEASURE)

    def choose(self, answers: Sequence[Answer]) -> KnownStart:
        """Return the better of both, by values as the user has them."""
        at_start, found = (float(answer.values[0]) for answer in answers)
        better = found > at_start if self.maximize else found < at_start
        if better or (math.isnan(at_start) and math.isfinite(found)):
            reason = (
                f"the best known point is the start: f = {found:.6g}, and {at_start:.6g} at x0."
            )
            where, chosen = "it", KnownStart(self.known.x, answers[1], reason)
        else:
            reason = (
                f"x0 is the start: f = {at_start:.6g}, and {found:.6g} at the best known point."
            )
            where, chosen = "`x0`", KnownStart(self.start, answers[0], reason)
        if self._contradicts(at_start, found):
            warn(
                f"`known` says that its best point has the value {self.known.value:.10g}, and "
                f"{found:.10g} was measured there: it is of another function, or noisy. The run "
                f"starts from {where}.",
                KnownPointWarning,
            )
        return chosen

    def _contradicts(self, at_start: float, found: float) -> bool:
        stated = self.known.value
        if self.sample is not None:
            return False
        promise = abs(at_start - stated) if math.isfinite(at_start) else 0.0
        tolerance = max(STATED_ROUNDING * max(abs(stated), abs(found)), CONTRADICTION * promise)
        return not abs(found - stated) <= tolerance


def _to_z(points: Vector, variables: Variables | None) -> tuple[Vector, Any]:
    """Return the points in the solver's numbers, and which of them the variables can be."""
    if variables is None:
        return points, np.ones(len(points), dtype=bool)
    z = variables.to_z(points)
    scale = np.maximum(np.abs(points), variables.scale)
    near = np.abs(variables.to_x(z) - points) <= ON_GRID * np.where(
        variables.log, np.abs(points), scale
    )
    return z, near.all(axis=1)


def _warn_of_dropped(points: Vector, usable: Any) -> None:
    dropped: Indices = np.flatnonzero(~usable)
    if dropped.size:
        shown = ", ".join(map(str, dropped[:5])) + (", ..." if dropped.size > 5 else "")  # noqa: PLR2004
        warn(
            f"{dropped.size} of {len(points)} `known` points are left out (rows {shown}, from 0): "
            "outside the bounds, between integers, or with a value that is not finite.",
            KnownPointWarning,
        )


def _read(known: Known, d: int, variables: Variables | None) -> tuple[Vector, Vector]:
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
    text = path.read_text(encoding="utf-8-sig")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(row)]
    header = [cell.strip() for cell in rows[0]] if rows else []
    if header.count("value") != 1:
        raise ParameterError(
            f"`known` must have a header with one column 'value' beside the variables; {path} has "
            f"{', '.join(header[:8]) or 'none'}."
        )
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise ParameterError(
                f"`known` must have {len(header)} cells in each row, as in the header; row {line} "
                f"of {path} has {len(row)}."
            )
    at = header.index("value")
    columns = header[:at] + header[at + 1 :]
    if names:
        _check_names(columns, names, str(path))
        where = [header.index(name) for name in names]
    else:
        where = [i for i in range(len(header)) if i != at]
    values = [row[at].strip() or "nan" for row in rows[1:]]
    points = [[row[i] for i in where] for row in rows[1:]]
    return (points, values) if points else (np.empty((0, d)), values)


def _from_store(known: Known, d: int, names: tuple[str, ...]) -> tuple[Vector, Vector]:
    """Return the best point of each run of a store that has the same variables."""
    points, values = [], []
    with open_store(known, create=False) as store:
        for run in store.runs():
            try:
                spec, snapshot = store.spec(run.name), store.snapshot(run.name)
            except RunMismatchError:  # of another version, and listed all the same
                continue
            best = None if snapshot is None else snapshot.best
            theirs = () if spec.variables is None else spec.variables.names
            if best is None or best.x.size != d or theirs != names:
                continue
            x = np.asarray(best.x.toarray() if hasattr(best.x, "toarray") else best.x)
            points.append(x if spec.variables is None else spec.variables.to_x(x))
            values.append(-best.value if spec.maximize else best.value)
    return np.array(points).reshape(-1, d), np.array(values, dtype=np.float64)
