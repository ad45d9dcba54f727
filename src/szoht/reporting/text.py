"""Text helpers: counts with their nouns, tables, and strings that are safe to print."""

from collections.abc import Sequence

__all__ = ["format_count", "format_seconds", "format_table", "printable"]


def format_count(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun in the right number.

    >>> format_count(1, "iteration"), format_count(0, "query", "queries")
    ('1 iteration', '0 queries')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def format_seconds(seconds: float) -> str:
    """Return a duration with two units at most.

    >>> [format_seconds(s) for s in (0.2, 12.3, 90, 3600, 9000)]
    ['under 1 s', '12 s', '1 min 30 s', '1 h', '2 h 30 min']
    """
    if seconds < 1:
        return "under 1 s"
    total = round(seconds)
    for unit, name, next_unit, next_name in ((3600, "h", 60, "min"), (60, "min", 1, "s")):
        if total >= unit:
            rest = total % unit // next_unit
            return f"{total // unit} {name}" + (f" {rest} {next_name}" if rest else "")
    return f"{total} s"


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines with aligned columns.

    >>> print(format_table([("name", "value"), ("a", "1")]))
    name  value
    a     1
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def printable(text: str) -> str:
    r"""Return ``text`` with control characters, including ANSI escapes, backslash-escaped.

    >>> print(printable("a\x1b[31mb\r\nc"))
    a\x1b[31mb\r\nc
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
