"""Text helpers: counts with their nouns, and strings that are safe to print."""

__all__ = ["format_count", "printable"]


def format_count(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun in the right number.

    >>> format_count(1, "iteration"), format_count(0, "query", "queries")
    ('1 iteration', '0 queries')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def printable(text: str) -> str:
    r"""Return ``text`` with control characters, including ANSI escapes, backslash-escaped.

    >>> print(printable("a\x1b[31mb\r\nc"))
    a\x1b[31mb\r\nc
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
