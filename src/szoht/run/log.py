"""A run in the log: a line per improvement and per minute, by `logging`, logger ``szoht``."""

import logging
import math
import threading
import time
from dataclasses import replace
from typing import Self

from szoht.errors import InternalErrorWarning, warn
from szoht.result import Progress, Result, Status

__all__ = ["LOGGER", "RunLog", "log_ending", "warn_of_internal_error"]

LOGGER = logging.getLogger("szoht")
LOGGER.addHandler(logging.NullHandler())  # a library is silent unless its user wants otherwise

MINUTE = 60.0
UNLIMITED_LINES = 100
"""So many improvements have a line each; after that there is at most one line per second."""


def log_ending(result: Result) -> None:
    """Write why a run has ended, and what it has found."""
    LOGGER.info("%s %.8g after %s queries", result.message, result.fun, f"{result.nfev:,}")


def warn_of_internal_error(result: Result) -> None:
    """Warn if an error of the solver itself has ended a run."""
    if result.status is Status.INTERNAL_ERROR:
        last = result.error.strip().rpartition("\n")[2]
        warn(
            f"An error of the solver itself ended the run ({last}). The best of {result.nfev:,} "
            "evaluations is kept, and `result.error` has the traceback. Please report it, with "
            "the run's store if there is one and with what `szoht.show_versions()` prints.",
            InternalErrorWarning,
        )


class RunLog:
    """Writes a line when a run begins, at each improvement, and each minute without one.

    As a context, the minutes are those of a thread, so that a log goes on while one call of the
    function takes hours. A run that is driven by its user has no such context: it says when it
    `begin`s, and minutes end with what it tells. Without a handler that takes level INFO there is
    neither a thread nor a line.

    Parameters
    ----------
    since : float
        Seconds that earlier processes took: what is replayed has had its lines already.
    interval : float
        Seconds after which a line is written in any case.
    """

    def __init__(self, since: float = 0.0, interval: float = MINUTE) -> None:
        self._since = since
        self._interval = interval
        self._begun = self._last = time.monotonic()
        self._best = math.nan
        self._lines = 0
        self._newest = "no value yet"
        self._limit: int | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_active = False

    def expect(self, max_queries: int | None) -> None:
        """Say how many queries there will be at most."""
        self._limit = max_queries

    def begin(self) -> bool:
        """Write the first line, if lines are wanted; tell whether they are."""
        self._is_active = LOGGER.isEnabledFor(logging.INFO)
        if self._is_active:
            self._begun = self._last = time.monotonic()
            at_most = "without a limit" if self._limit is None else f"of at most {self._limit:,}"
            what = "continues after" if self._since else "begins at"
            LOGGER.info("the run %s %.3g s, %s queries", what, self._since, at_most)
        return self._is_active

    def __enter__(self) -> Self:
        if self.begin():
            self._thread = threading.Thread(target=self._watch, name="szoht-log", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()

    def __call__(self, progress: Progress) -> None:
        """Write a line if the best value has improved."""
        if not self._is_active or progress.best is None:
            return
        best, before = progress.best_value, self._best
        improved = math.isnan(before) or (best > before if progress.maximize else best < before)
        self._best = best
        what = "non-zeros" if progress.variables is None else "changes"
        queries = "1 query" if progress.queries == 1 else f"{progress.queries:,} queries"
        self._newest = f"best {best:.8g} after {queries}"
        now = time.monotonic()
        if self._thread is None and now - self._last >= self._interval:
            improved = True  # no other line would say so
        if not improved or (self._since and progress.seconds <= self._since):
            return
        if self._lines < UNLIMITED_LINES or now - self._last >= 1.0:
            self._lines, self._last = self._lines + 1, now
            size = replace(progress, x=progress.best_x).support.size
            LOGGER.info("%s, %d %s, %.3g s", self._newest, size, what, progress.seconds)

    def _watch(self) -> None:
        """Write a line whenever there has been none for a while."""
        wait = self._interval
        while not self._ended.wait(wait):
            now = time.monotonic()
            if now - self._last >= self._interval:
                self._last = now
                LOGGER.info("%s, running for %.0f s", self._newest, self._since + now - self._begun)
            wait = self._last + self._interval - now
