"""`Changes`: which variables a solution changes, how, and what each change is worth."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, overload

import numpy as np

from szoht.core.extras import import_pandas
from szoht.core.variables import Variables
from szoht.types import Vector

__all__ = ["Change", "Changes", "describe_changes"]

SHOWN_CHANGES = 10


@dataclass(frozen=True, kw_only=True)
class Change:
    """One changed variable.

    ``bound`` is "low" or "high" if the new value is at a bound, else "". ``effect`` is f with this
    variable put back to its nominal value, all others kept, minus f at the solution; NaN if that
    was not measured.
    """

    index: int
    name: str
    nominal: float
    value: float
    bound: Literal["", "low", "high"] = ""
    effect: float = math.nan


@dataclass(frozen=True)
class Changes(Sequence[Change]):
    """The changed variables of a solution, those of largest effect first.

    A sequence of `Change`; printed, a table; `to_frame` makes it a DataFrame.
    """

    records: tuple[Change, ...] = ()

    @classmethod
    def of(cls, x: Vector, variables: Variables | None, effects: Mapping[int, float]) -> Self:
        """Return the changes from the nominal values, which are zero without variables."""
        changed = np.flatnonzero(x) if variables is None else variables.changed(x)
        records = [_change(int(i), x, variables, effects) for i in changed]
        records.sort(key=lambda one: (math.isnan(one.effect), -abs(one.effect), one.index))
        return cls(tuple(records))

    @overload
    def __getitem__(self, where: int) -> Change: ...
    @overload
    def __getitem__(self, where: slice) -> "Changes": ...
    def __getitem__(self, where: int | slice) -> "Change | Changes":
        found = self.records[where]
        return Changes(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.records)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, with the names as its index."""
        columns = [name for name in Change.__dataclass_fields__ if name != "name"]
        frame = import_pandas("`to_frame`").DataFrame(
            [asdict(one) for one in self], columns=["name", *columns]
        )
        return frame.set_index("name")

    def __str__(self) -> str:
        if not self.records:
            return "nothing is changed"
        rows = [("name", "nominal", "value", "bound", "effect when put back")]
        rows += [
            (one.name, f"{one.nominal:.6g}", f"{one.value:.6g}", one.bound, _effect(one))
            for one in self
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )


def describe_changes(x: Vector, variables: Variables) -> str:
    """Say in one line which variables are changed, and to what.

    >>> describe_changes(np.array([1.0, 5.0]), Variables({"a": 1.0, "b": 2.0}))
    '1 of 2 variables changed {b: 2 -> 5}'
    """
    changed = variables.changed(x)
    shown = ", ".join(
        f"{variables.labels[i]}: {variables.nominal[i]:.6g} -> {x[i]:.6g}"
        for i in changed[:SHOWN_CHANGES]
    )
    more = ", ..." if changed.size > SHOWN_CHANGES else ""
    listed = f" {{{shown}{more}}}" if changed.size else ""
    return f"{changed.size} of {variables.d} variables changed{listed}"


def _change(i: int, x: Vector, variables: Variables | None, effects: Mapping[int, float]) -> Change:
    effect = effects.get(i, math.nan)
    value = float(x[i])
    if variables is None:
        return Change(
            index=i,
            name=f"x[{i}]",
            nominal=0.0,
            value=value,
            effect=effect,
        )
    at_low, at_high = value == variables.low[i], value == variables.high[i]
    return Change(
        index=i,
        name=variables.labels[i],
        nominal=float(variables.nominal[i]),
        value=value,
        bound="low" if at_low else "high" if at_high else "",
        effect=effect,
    )


def _effect(change: Change) -> str:
    return "not measured" if math.isnan(change.effect) else f"{change.effect:+.4g}"
