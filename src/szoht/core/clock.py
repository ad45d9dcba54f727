"""A stopwatch that can be paused, so that callbacks do not count as part of a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Clock"]


class Clock:
    """Seconds since construction, without pauses, until stopped."""

    def __init__(self) -> None:
        self._total = 0.0
        self._since: float | None = time.perf_counter()
        self._frozen: float | None = None

    @property
    def seconds(self) -> float:
        """The time counted so far, or the frozen time."""
        return self._counted if self._frozen is None else self._frozen

    def stop(self) -> None:
        """Count no further."""
        self._total, self._since = self._counted, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time spent inside."""
        self.stop()
        try:
            yield
        finally:
            self._since = time.perf_counter()

    def set(self, seconds: float) -> None:
        """Continue from ``seconds``, the time that earlier processes took."""
        self._total, self._since = seconds, time.perf_counter()

    def freeze(self, seconds: float) -> None:
        """Show ``seconds`` until unfrozen, while counting continues."""
        self._frozen = seconds

    def unfreeze(self) -> None:
        """Show the counted time again."""
        self._frozen = None

    @property
    def _counted(self) -> float:
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._total + running
