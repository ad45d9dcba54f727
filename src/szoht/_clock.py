"""A stopwatch that can be paused, so that watching a run does not count as running it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Clock"]


class Clock:
    """Seconds since construction, without pauses, until stopped."""

    def __init__(self) -> None:
        self._total = 0.0
        self._since: float | None = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time counted so far."""
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._total + running

    def stop(self) -> None:
        """Count no further."""
        self._total, self._since = self.seconds, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time spent inside out of the count."""
        self.stop()
        try:
            yield
        finally:
            self._since = time.perf_counter()
