"""One process per run: a lock that the system releases when its holder ends, however it ends.

All locks of a store are bytes of one file beside it, one byte for each run, far behind a record
of the holder. Locks belong to the process, not to the open file: forked workers that outlive a
killed holder do not keep them.
"""

import json
import math
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

__all__ = ["LockHolder", "acquire", "holder", "lock_path", "release"]

HOLDER_RECORD_BYTES = 256
LOCKED_BYTES_OFFSET = 2**40
"""Where the locked bytes begin: on some systems locked bytes cannot be read by others."""

READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""A pipe of that name, made by a stranger, is not waited for."""


class LockHolder(NamedTuple):
    """The process that has locked a run, or did so last.

    ``seconds`` is the time that the run had taken before.
    """

    pid: int
    host: str
    since: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"

    @classmethod
    def this_process(cls, seconds: float = 0.0) -> Self:
        """Return this process."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return cls(os.getpid(), platform.node(), now, seconds)

    @classmethod
    def parse(cls, record: bytes) -> Self | None:
        """Return the holder that a record names, None if it names none."""
        try:
            pid, host, since, *more = json.loads(record.strip(b"\0 "))
            (seconds,) = more or (0.0,)  # version 0.1 wrote three entries
        except (ValueError, TypeError, RecursionError):
            return None
        typed = type(pid) is int and isinstance(host, str) and isinstance(since, str)
        timed = type(seconds) is float and 0 <= seconds < math.inf
        return cls(pid, host, since, seconds) if typed and timed else None

    @property
    def elapsed(self) -> float:
        """How many seconds the run has taken by now, if the process is still at it."""
        try:
            locked = datetime.fromisoformat(self.since)
            return self.seconds + (datetime.now(UTC) - locked).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return self.seconds

    @property
    def alive(self) -> bool:
        """Whether the process still exists, as far as this machine can tell."""
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
    locked: set[int] = field(default_factory=set)


_OPEN_FILES: dict[Path, _File] = {}
"""Open lock files. Closing any descriptor of a file releases all its locks, so there is one."""

_FILES_LOCK = threading.RLock()


def lock_path(store: Path) -> Path:
    """Return the path of the file with the locks of a store."""
    return store.with_name(store.name + "-lock")


def acquire(store: Path, number: int, seconds: float = 0.0) -> bool:
    """Acquire the lock of run ``number``; False if it is locked, by this process or another.

    ``seconds`` is the time that the run has taken so far.
    """
    path = lock_path(store.resolve())
    with _FILES_LOCK, _writing(path):
        file = _OPEN_FILES.setdefault(path, _OPEN_FILES.get(path) or _File(_open(path)))
        if number in file.locked or not _lock(file.descriptor, number):
            _close_if_idle(path, file)
            return False
        try:
            _write_holder(file.descriptor, number, json.dumps(LockHolder.this_process(seconds)))
        except OSError:
            _unlock(file.descriptor, number)
            _close_if_idle(path, file)
            raise
        file.locked.add(number)
        return True


def release(store: Path, number: int) -> None:
    """Release the lock of a run; without effect if it is not locked here."""
    path = lock_path(store.resolve())
    with _FILES_LOCK:
        file = _OPEN_FILES.get(path)
        if file is None or number not in file.locked:
            return
        file.locked.discard(number)
        with suppress(OSError):  # a record that remains names a process that has ended
            _write_holder(file.descriptor, number, "")
        _unlock(file.descriptor, number)
        _close_if_idle(path, file)


def holder(store: Path, number: int) -> LockHolder | None:
    """Return the last process that locked a run and has not released it, if there is one."""
    path = lock_path(store.resolve())
    with _FILES_LOCK:
        file = _OPEN_FILES.get(path)
        try:
            # a second descriptor would release the locks when it is closed
            descriptor = os.open(path, READ_FLAGS) if file is None else file.descriptor
        except OSError:
            return None
        try:
            os.lseek(descriptor, number * HOLDER_RECORD_BYTES, os.SEEK_SET)
            return LockHolder.parse(os.read(descriptor, HOLDER_RECORD_BYTES))
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
    # the name may be a link made by another user: links are not followed
    flags = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)


def _write_holder(descriptor: int, number: int, text: str) -> None:
    os.lseek(descriptor, number * HOLDER_RECORD_BYTES, os.SEEK_SET)
    os.write(descriptor, text.encode().ljust(HOLDER_RECORD_BYTES))


def _close_if_idle(path: Path, file: _File) -> None:
    if not file.locked:
        os.close(file.descriptor)
        del _OPEN_FILES[path]


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, number: int) -> bool:
        os.lseek(descriptor, LOCKED_BYTES_OFFSET + number, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, number: int) -> None:
        os.lseek(descriptor, LOCKED_BYTES_OFFSET + number, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, number: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCKED_BYTES_OFFSET + number)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, number: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, LOCKED_BYTES_OFFSET + number)
