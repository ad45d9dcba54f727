"""Batch sizes for a classifier, tuned on the queries themselves."""

import time
from collections.abc import Callable, Iterator

from szoht.core.validation import check_integer

__all__ = ["Batches"]

TRIAL_SIZES = (4, 16, 64, 256)
TIMINGS_PER_SIZE = 2
"""The first timing of a size often includes one-time setup."""

MAX_TIME_RATIO = 0.95
"""A larger batch is used if its time per image is at most this fraction of the best so far."""


class Batches:
    """Splits queries into batches; without a given size, tries sizes until larger is not faster.

    The trials are queries that are needed anyway, so timing costs no queries.

    Parameters
    ----------
    size : int, optional
        Images per batch, >= 1. Classifiers may round differently in batches of another size, so
        a size must be given for runs to be reproducible bit for bit.
    clock : callable
        Returns the time in seconds; replaced in tests.

    Examples
    --------
    >>> list(Batches(size=3).split(7))
    [slice(0, 3, None), slice(3, 6, None), slice(6, 7, None)]
    """

    def __init__(
        self, size: int | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        if size is not None:
            check_integer("batch_size", size, low=1)
        self.size = size
        self._clock = clock
        self._trial = 0
        self._times: list[float] = []
        self._best = float("inf")

    def split(self, count: int) -> Iterator[slice]:
        """Yield the batches of ``count`` images, and time how long the caller takes for each."""
        start = 0
        while start < count:
            size = TRIAL_SIZES[self._trial] if self.size is None else self.size
            stop = min(start + size, count)
            started = self._clock()
            yield slice(start, stop)
            if self.size is None and stop - start == size:
                self._record_time((self._clock() - started) / size)
            start = stop

    def _record_time(self, seconds: float) -> None:
        """Record the time per image; then try the next size, or fix the size."""
        self._times.append(seconds)
        if len(self._times) < TIMINGS_PER_SIZE:
            return
        fastest, self._times = min(self._times), []
        if fastest > MAX_TIME_RATIO * self._best:
            self.size = TRIAL_SIZES[self._trial - 1]
        elif self._trial == len(TRIAL_SIZES) - 1:
            self.size = TRIAL_SIZES[-1]
        else:
            self._best = fastest
            self._trial += 1
