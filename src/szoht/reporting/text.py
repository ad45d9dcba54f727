"""Small matters of text: what is safe to print, and plurals."""

__all__ = ["counted", "printable"]


def counted(count: int, what: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "iteration"), counted(0, "query", "queries")
    ('1 iteration', '0 queries')
    """
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def printable(text: str) -> str:
    r"""Return ``text`` with control characters, ANSI escapes among them, written out.

    >>> print(printable("a\x1b[31mb\r\nc"))
    a\x1b[31mb\r\nc
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
