"""One process per run: a lock that the system takes back when its owner dies, however it dies.

All locks of a store are bytes of one file beside it, one byte for each run, far behind a record
that says who holds it. Locks of the process, not of the open file: workers that were forked and
outlive a killed owner do not keep them.
"""

import json
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

from szoht.errors import StoreWriteError

__all__ = ["Owner", "acquire", "owner", "release", "sidecar"]

RECORD_BYTES = 256
LOCKS = 2**40
"""Where the locked bytes begin: on some systems locked bytes cannot be read by others."""


class Owner(NamedTuple):
    """Who is, or was last, at work on a run."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"

    @classmethod
    def me(cls) -> Self:
        """Return this process."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(os.getpid(), platform.node(), now)

    @classmethod
    def parsed(cls, record: bytes) -> Self | None:
        """Return the owner that a record names, None if it names none."""
        try:
            pid, host, since = json.loads(record.strip(b"\0 "))
        except (ValueError, TypeError, RecursionError):
            return None
        typed = type(pid) is int and isinstance(host, str) and isinstance(since, str)
        return cls(pid, host, since) if typed else None

    @property
    def alive(self) -> bool:
        """Whether the process is still there, as far as can be seen from here."""
        if self.host != platform.node() or os.name != "posix":
            return True
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True


@dataclass
class _File:
    descriptor: int
    held: set[int] = field(default_factory=set)


_FILES: dict[Path, _File] = {}
"""Open lock files. Closing any descriptor of a file gives up all its locks, so there is one."""

_GUARD = threading.RLock()


def sidecar(store: Path) -> Path:
    """Return the path of the file with the locks of a store."""
    return store.with_name(store.name + "-lock")


def acquire(store: Path, number: int) -> bool:
    """Take the lock of run ``number``; False if somebody has it, in this process or another."""
    path = sidecar(store.resolve())
    with _GUARD, _writing(path):
        file = _FILES.setdefault(path, _FILES.get(path) or _File(_open(path)))
        if number in file.held or not _lock(file.descriptor, number):
            _close_if_idle(path, file)
            return False
        try:
            _sign(file.descriptor, number, json.dumps(Owner.me()))
        except OSError:
            _unlock(file.descriptor, number)
            _close_if_idle(path, file)
            raise
        file.held.add(number)
        return True


def release(store: Path, number: int) -> None:
    """Give the lock of a run back; without effect if it is not held."""
    path = sidecar(store.resolve())
    with _GUARD:
        file = _FILES.get(path)
        if file is None or number not in file.held:
            return
        file.held.discard(number)
        with suppress(OSError):  # a signature that stays names a process that will be gone
            _sign(file.descriptor, number, "")
        _unlock(file.descriptor, number)
        _close_if_idle(path, file)


def owner(store: Path, number: int) -> Owner | None:
    """Return who took the lock of a run last and has not given it back, if anybody."""
    path = sidecar(store.resolve())
    with _GUARD:
        file = _FILES.get(path)
        try:
            # a second descriptor would give up the locks when it is closed
            descriptor = os.open(path, os.O_RDONLY) if file is None else file.descriptor
        except OSError:
            return None
        try:
            os.lseek(descriptor, number * RECORD_BYTES, os.SEEK_SET)
            return Owner.parsed(os.read(descriptor, RECORD_BYTES))
        except (OSError, OverflowError):
            return None
        finally:
            if file is None:
                os.close(descriptor)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreWriteError(
            f"The lock file {path} cannot be written: {error.strerror}. Make room for it, or copy "
            "the store to a folder that can be written."
        ) from error


def _open(path: Path) -> int:
    # the name may be a link that somebody else made: we write into no file but our own
    flags = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)


def _sign(descriptor: int, number: int, text: str) -> None:
    os.lseek(descriptor, number * RECORD_BYTES, os.SEEK_SET)
    os.write(descriptor, text.encode().ljust(RECORD_BYTES))


def _close_if_idle(path: Path, file: _File) -> None:
    if not file.held:
        os.close(file.descriptor)
        del _FILES[path]


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, number: int) -> bool:
        os.lseek(descriptor, LOCKS + number, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, number: int) -> None:
        os.lseek(descriptor, LOCKS + number, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, number: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCKS + number)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, number: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, LOCKS + number)
