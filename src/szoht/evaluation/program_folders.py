"""A folder for every program that runs, by which it can be ended from anywhere on its machine.

The folder's name says for which task and in which process the program runs, and a file in it holds
the program's process group. So any process of the same user that knows the task can end the
program. When a process ends, however it ends, its guard ends the programs that it left: a small
process that runs this very file and waits for a pipe to close. The guard imports nothing but the
standard library.

Folders and marks are found by name in a folder that all users share, so those of other users are
ignored.
"""

import os
import re
import secrets
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "TaskCancelled",
    "cancel_programs",
    "die_with_parent",
    "kill_programs",
    "program_folder",
    "task_scope",
]

FOLDER_PREFIX = "szoht-"
NO_RUN = "0"
PID_FILE = "pid"
PID_LINE = re.compile(r"[1-9][0-9]{0,8}\n")

POLL_SECONDS = 0.01
"""Between two checks of something that another process is about to do."""

POLL_TIMEOUT_SECONDS = 2.0
"""How long to poll for it."""

PARENT_POLL_SECONDS = 0.5
"""Between two checks that the parent process is still the same."""


class TaskCancelled(BaseException):
    """The task was cancelled, and the program that it was running was ended.

    Not an `Exception`, so that neither the objective nor the evaluation takes it for a failure of
    the point and goes on.
    """


class _Scope(threading.local):
    """The task that a thread is working on; outside of tasks there is no run to be cancelled."""

    run: str | None = None
    task = 0
    cancelled: Callable[[], bool] | None = None


_scope = _Scope()


@contextmanager
def task_scope(run: str, task: int, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """Note which task this thread is working on, for `kill_programs`.

    ``cancelled`` tells whether the task is no longer wanted, where that can only be asked.
    """
    before = _scope.run, _scope.task, _scope.cancelled
    _scope.run, _scope.task, _scope.cancelled = run, task, cancelled
    try:
        yield
    finally:
        _scope.run, _scope.task, _scope.cancelled = before


def is_cancelled() -> Callable[[], bool] | None:
    """Return how to ask whether the task of this thread is still wanted, if that can be asked."""
    return _scope.cancelled


@contextmanager
def program_folder() -> Iterator[Path]:
    """Make a folder for one program; afterwards the program is ended and the folder removed."""
    run = _scope.run or NO_RUN
    folder = Path(mkdtemp(prefix=f"{FOLDER_PREFIX}{run}-{_scope.task}-{_guard_tag()}-"))
    try:
        _raise_if_cancelled()
        yield folder
    except Exception:
        if end_program(folder):
            raise
        raise TaskCancelled from None
    except BaseException:
        end_program(folder)
        raise
    end_program(folder)


def kill_programs(run: str, task: int) -> None:
    """End the programs of a task, in whatever process of this machine they were started."""
    _end_all(gettempdir(), f"{FOLDER_PREFIX}{run}-{task}-*")


def cancel_programs(run: str, tasks: "Sequence[Future[Any]]") -> None:
    """End all programs of a run, and let ``tasks``, which cannot be cancelled, start no others."""
    if not tasks:
        return
    mark = _cancel_mark(run)
    with suppress(OSError):  # another user has a file of that name
        mark.touch()
    _end_all(gettempdir(), f"{FOLDER_PREFIX}{run}-*")
    left = {id(task) for task in tasks}

    def forget(task: "Future[Any]") -> None:
        left.discard(id(task))
        if not left:
            with suppress(OSError):
                mark.unlink()

    for task in tasks:
        task.add_done_callback(forget)


def end_program(folder: Path) -> bool:
    """Kill a program and what it started, and remove its folder; False if another process has."""
    # A program writes its process group into the folder before it begins. Once the folder is
    # renamed, one that has not done so cannot begin any more.
    ended = folder.with_name(f"{folder.name}.ended")
    try:
        folder.rename(ended)
    except OSError:
        return False
    group = _process_group(ended / PID_FILE)
    if group is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    _wait_until(lambda: _removed(ended))
    return True


def die_with_parent() -> None:
    """End this process, a worker of `multiprocessing`, when the process that started it ends."""
    from multiprocessing import parent_process  # noqa: PLC0415  (the guard has no use for it)
    from multiprocessing.connection import wait  # noqa: PLC0415

    parent = parent_process()
    if parent is None or any(thread.name == _WATCH for thread in threading.enumerate()):
        return
    sentinel, born = parent.sentinel, os.getppid()

    def watch() -> None:
        # a forked sibling may keep the sentinel's pipe open
        while not wait([sentinel], PARENT_POLL_SECONDS) and os.getppid() == born:
            pass
        os._exit(1)

    threading.Thread(target=watch, name=_WATCH, daemon=True).start()


_WATCH = "szoht-parent-watch"


def _cancel_mark(run: str) -> Path:
    """Return the file that exists if the run was cancelled."""
    return Path(gettempdir(), f"{FOLDER_PREFIX}{run}")


def _raise_if_cancelled() -> None:
    # once the folder exists: a process that cancels a run first leaves the mark, then looks for
    # folders
    if _scope.run is not None and _own_status(_cancel_mark(_scope.run)) is not None:
        raise TaskCancelled


def _end_all(root: str, pattern: str) -> None:
    for folder in Path(root).glob(pattern):
        if _is_own_folder(folder):
            end_program(folder)


def _is_own_folder(folder: Path) -> bool:
    """Tell whether this user made a folder; a link to one does not count."""
    status = _own_status(folder)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _own_status(path: Path) -> os.stat_result | None:
    """Return the status of what this user has made; None if it is another's, or not there."""
    try:
        status = path.lstat()
    except OSError:  # removed in the meantime
        return None
    is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return status if is_own else None


def _process_group(file: Path) -> int | None:
    text = ""

    def written() -> bool:
        nonlocal text
        try:
            text = file.read_text(errors="replace")
        except OSError:
            return True  # the program never began
        return text.endswith("\n")

    if not _wait_until(written) or PID_LINE.fullmatch(text) is None:
        return None
    return int(text)


def _removed(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)  # what was killed may still be writing
    return not folder.exists()


def _wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + POLL_TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


class _Guard:
    """The guard of this process: which folders it looks after, and the pipe that it watches."""

    def __init__(self) -> None:
        import subprocess  # noqa: PLC0415  (slow to import)

        self.tag = secrets.token_hex(6)
        theirs, self.pipe = os.pipe()
        command = [sys.executable, "-I", "-S", __file__, gettempdir(), self.tag]
        process = subprocess.Popen(  # noqa: S603  (our own file)
            command,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # out of reach of a terminal's signals
        )
        process.returncode = 0  # it ends after us, and no process waits for it
        os.close(theirs)


_guard: _Guard | None = None
_guard_lock = threading.Lock()


def _guard_tag() -> str:
    """Return the mark of this process in the names of its folders; a guard looks after them."""
    global _guard  # noqa: PLW0603  (one per process)
    if os.name != "posix":
        return "0"
    with _guard_lock:
        if _guard is None:
            _guard = _Guard()
        return _guard.tag


def _forget_guard() -> None:
    """Let a forked process have a guard of its own, and not keep that of its parent waiting."""
    global _guard, _guard_lock
    if _guard is not None:
        os.close(_guard.pipe)
    _guard, _guard_lock = None, threading.Lock()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()  # until the process that is guarded has ended
    _end_all(sys.argv[1], f"{FOLDER_PREFIX}*-{sys.argv[2]}-*")
elif hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_guard)
