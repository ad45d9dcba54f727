"""Comma-separated values: one reader and one writer for all tables of the library."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from szoht.errors import DataError

__all__ = ["CsvTable", "is_number", "parse_csv", "write_csv"]

DELIMITERS = ",;\t"

MOST_CHARACTERS = 2**17
"""In a cell: the limit of Python's csv module, which other libraries may have raised."""

FORMULA = re.compile(r"'*(\s*[=+\-@]|[\t\r\n])")
"""The beginning of a cell that a spreadsheet runs, and what we write in place of one."""

QUOTED = frozenset('",;\t\r\n')
"""Characters of cells that are quoted: a spreadsheet may take any of the delimiters for one."""


@dataclass(frozen=True, kw_only=True)
class CsvTable:
    """The lines of a table that are not empty, each with its number in the file."""

    delimiter: str
    rows: list[tuple[int, list[str]]]


def parse_csv(text: str, name: str) -> CsvTable:
    r"""Return the cells of a text, without the blanks around them, or raise a `DataError`.

    The delimiter is the one of ``,``, ``;`` and tab that gives most columns in the first line.
    ``name`` is what a message calls the text.

    >>> parse_csv("name;value\n\n'=a; 1,5\n", "data.csv").rows
    [(1, ['name', 'value']), (3, ['=a', '1,5'])]
    """
    rows: list[tuple[int, list[str]]] = []
    delimiter = DELIMITERS[0]
    line = 1
    try:
        delimiter = _delimiter(text)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for row in reader:
            line = reader.line_num
            cells = [_stripped(cell) for cell in row]
            if max(map(len, cells), default=0) > MOST_CHARACTERS:
                raise DataError(_too_long(name, line))
            if any(cells):
                rows.append((line, cells))
            line += 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise DataError(_too_long(name, line)) from error
        what = "a quotation mark is not closed" if "end of data" in str(error) else str(error)
        raise DataError(f"{name} is not CSV: {what}, in line {line} or below.") from error
    return CsvTable(delimiter=delimiter, rows=rows)


def write_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    r"""Return a table as text.

    A cell of text that a spreadsheet would take for a formula has a quotation mark before it,
    which `parse_csv` takes off again. Numbers are left as they are.

    >>> write_csv(["name", "value"], [["=1+1", -2.5], ["-3", 4.0]])
    "name,value\n'=1+1,-2.5\n-3,4.0\n"
    """
    return "".join(",".join(map(_cell, row)) + "\n" for row in (header, *rows))


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number, which may be infinite or NaN."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _cell(value: object) -> str:
    cell = "" if value is None else str(value)
    if FORMULA.match(cell) and not is_number(cell):
        cell = f"'{cell}"
    if QUOTED.isdisjoint(cell):  # Python's writer leaves a lone carriage return as it is
        return cell
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


def _stripped(cell: str) -> str:
    """Return a cell without blanks around it, or the text that `write_csv` was given."""
    text = cell.strip(" ")
    return text[1:] if text.startswith("'") and FORMULA.match(text) else cell.strip()


def _delimiter(text: str) -> str:
    first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    return max(DELIMITERS, key=lambda char: len(next(csv.reader([first], delimiter=char), [])))


def _too_long(name: str, line: int) -> str:
    return (
        f"{name} has a cell of more than {MOST_CHARACTERS:,} characters, in line {line} or below. "
        "Is a quotation mark not closed?"
    )
