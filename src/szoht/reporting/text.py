"""Text from files and programs, made safe to print."""

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Return ``text`` with control characters, ANSI escapes among them, written out.

    >>> print(printable("a\x1b[31mb\r\nc"))
    a\x1b[31mb\r\nc
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
