"""Many numbers in a file, by name or not: JSON, CSV and NPY."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from szoht.core.csv_text import is_number, parse_csv
from szoht.core.json_text import parse_json
from szoht.core.npy_files import read_npy
from szoht.core.text_files import read_text
from szoht.errors import DataError

__all__ = ["OutputFormat", "OutputTable", "Outputs", "parse_answer", "read_outputs"]

OutputFormat: TypeAlias = Literal["json", "npy", "csv"]

Outputs: TypeAlias = list[float] | dict[str, float]
"""Numbers, by name if they have names; NaN is one that is missing."""

OUTPUT_COLUMNS = ("name", "value", "sigma")


@dataclass(frozen=True, kw_only=True)
class OutputTable:
    """The columns of a CSV file: values, and what else it has; an empty cell is NaN."""

    value: list[float]
    name: list[str] | None = None
    sigma: list[float] | None = None

    @classmethod
    def parse(cls, text: str) -> "OutputTable":
        r"""Return the columns of a text, or raise a ValueError that says what is wrong.

        A header names columns in any order: name, value, sigma. Without one, lines read
        ``value``, ``name,value`` or ``name,value,sigma``.

        >>> OutputTable.parse("name,value\na,1\nb,").outputs
        {'a': 1.0, 'b': nan}
        >>> OutputTable.parse("1.5\n2.5").outputs
        [1.5, 2.5]
        """
        rows = parse_csv(text, "it").rows
        if not rows:
            raise ValueError("it is empty")
        if any(map(is_number, rows[0][1])):
            header = ["value"] if len(rows[0][1]) == 1 else list(OUTPUT_COLUMNS[: len(rows[0][1])])
        else:
            header = [cell.lower() for cell in rows[0][1]]
            rows = rows[1:]
            _check_header(header)
        for line, row in rows:
            if len(row) != len(header):
                raise ValueError(f"line {line} has {len(row)} cells, and others {len(header)}")
        if not rows:
            raise ValueError("it has a header and no numbers")
        columns = dict(zip(header, zip(*(row for _, row in rows), strict=True), strict=True))
        lines = [line for line, _ in rows]
        sigma = columns.get("sigma")
        return cls(
            value=_numbers(columns["value"], lines),
            name=_names(columns["name"], lines) if "name" in columns else None,
            sigma=None if sigma is None else _numbers(sigma, lines),
        )

    @property
    def outputs(self) -> Outputs:
        """The values, by name if there are names."""
        return self.by_name(self.value)

    def by_name(self, column: list[float]) -> Outputs:
        """Return a column, by name if there are names."""
        return column if self.name is None else dict(zip(self.name, column, strict=True))


def read_outputs(path: Path, kind: OutputFormat) -> Outputs:
    """Return the numbers in a file, or raise a ValueError that says what is wrong.

    JSON is a list or an object, or either under "value": all of the file, or its last line.
    """
    if kind == "npy":
        array = read_npy(path, "it")
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"its array has shape {array.shape}, and not one of one axis")
        return [_number(entry) for entry in array.tolist()]
    text = read_text(path, "it")
    return OutputTable.parse(text).outputs if kind == "csv" else _from_json(text)


def parse_answer(text: str) -> Any:
    r"""Return what JSON says, all of a text or its last line, or raise a `DataError`.

    >>> parse_answer("converged\n[1.5, 2]\n")
    [1.5, 2]
    """
    text = text.strip()
    try:
        return parse_json(text, "it")
    except DataError:
        return parse_json(text.splitlines()[-1] if text else "", "it")


def _from_json(text: str) -> Outputs:
    answer = parse_answer(text)
    if isinstance(answer, dict) and isinstance(answer.get("value"), list | dict):
        answer = answer["value"]
    if not isinstance(answer, list | dict) or not answer:
        raise ValueError("it is neither a list nor an object of numbers")
    if isinstance(answer, dict):
        return {name: _number(entry) for name, entry in answer.items()}
    return [_number(entry) for entry in answer]


def _number(entry: Any) -> float:
    if entry is None:
        return math.nan
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        raise ValueError(f"{entry!r:.40} is not a number")  # noqa: TRY004  (of a file, not a type)
    return float(entry)


def _check_header(header: list[str]) -> None:
    for column in header:
        if column not in OUTPUT_COLUMNS:
            raise ValueError(f"it has a column {column!r}; columns are {', '.join(OUTPUT_COLUMNS)}")
        if header.count(column) > 1:
            raise ValueError(f"it has two columns {column!r}")
    if "value" not in header:
        raise ValueError("it has no column 'value'")


def _numbers(cells: tuple[str, ...], lines: list[int]) -> list[float]:
    for line, cell in zip(lines, cells, strict=True):
        if cell and not is_number(cell):
            raise ValueError(f"{cell!r:.40} in line {line} is not a number")
    return [float(cell) if cell else math.nan for cell in cells]


def _names(cells: tuple[str, ...], lines: list[int]) -> list[str]:
    seen: set[str] = set()
    for line, cell in zip(lines, cells, strict=True):
        if not cell:
            raise ValueError(f"line {line} has no name")
        if cell in seen:
            raise ValueError(f"two lines have the name {cell!r}")
        seen.add(cell)
    return list(cells)
