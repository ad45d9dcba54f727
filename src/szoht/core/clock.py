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
        self._shown: float | None = None

    @property
    def seconds(self) -> float:
        """The time counted so far, or what the clock shows while it is held."""
        return self._counted if self._shown is None else self._shown

    def stop(self) -> None:
        """Count no further."""
        self._total, self._since = self._counted, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the time spent inside out of the count."""
        self.stop()
        try:
            yield
        finally:
            self._since = time.perf_counter()

    def set(self, seconds: float) -> None:
        """Go on from ``seconds``, the time that earlier sittings took."""
        self._total, self._since = seconds, time.perf_counter()

    def hold(self, seconds: float) -> None:
        """Show ``seconds`` until released, and go on counting behind it."""
        self._shown = seconds

    def release(self) -> None:
        """Show the time counted again."""
        self._shown = None

    @property
    def _counted(self) -> float:
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._total + running
