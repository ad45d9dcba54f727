"""Text from files, whoever wrote them: of bounded size, UTF-8, and without NUL."""

from pathlib import Path
from typing import BinaryIO

from szoht.errors import DataError

__all__ = ["decode_text", "read_bytes", "read_text"]

MOST_MEGABYTES = 256
"""Of one file. What is read from it takes some ten times as much memory."""


def read_text(path: Path, name: str | None = None) -> str:
    """Return the text of a file, or raise a `DataError` that says why it is none.

    ``name`` is what the message calls the file, by default its path.
    """
    name = name or str(path)
    with path.open("rb") as file:
        return decode_text(read_bytes(file, name), name)


def read_bytes(file: BinaryIO, name: str) -> bytes:
    """Return all that a file holds, or raise if that is too much; a device may have no end."""
    data = file.read(MOST_MEGABYTES * 2**20 + 1)
    if len(data) > MOST_MEGABYTES * 2**20:
        raise DataError(f"{name} has more than {MOST_MEGABYTES} MB. Pass arrays, in Python.")
    return data


def decode_text(data: bytes, name: str) -> str:
    r"""Return bytes as text, without a mark of byte order, or raise.

    >>> decode_text(b"\xef\xbb\xbfspeed", "knobs.csv")
    'speed'
    >>> decode_text(b"caf\xe9", "knobs.csv")
    Traceback (most recent call last):
    ...
    szoht.errors.DataError: knobs.csv is not UTF-8: byte 3 is 0xe9. Save it as UTF-8.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name} is UTF-16. Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}. Save it as "
            "UTF-8."
        ) from error
    if "\0" in text:
        raise DataError(
            f"{name} is not text: character {text.index(chr(0))} is NUL, as in binary files and "
            "UTF-16. Save it as text in UTF-8."
        )
    return text
