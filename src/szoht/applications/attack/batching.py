"""How many images to hand to a classifier at once, found out on the queries themselves."""

import time
from collections.abc import Callable, Iterator

from szoht.core.validation import check_integer

__all__ = ["Batches"]

SIZES = (4, 16, 64, 256)
TRIES = 2
"""Each size is timed this often; the first time, many a library prepares itself."""

WORTH = 0.95
"""A larger batch must need at most this share of the time per image."""


class Batches:
    """Cuts work into batches; unless a size is given, tries sizes until larger ones are no faster.

    The trials are queries that are needed anyway, so measuring costs none.

    Parameters
    ----------
    size : int, optional
        Images per batch, >= 1. Classifiers may round differently in batches of another size, so
        a size must be given where runs shall be repeated bit for bit.
    clock : callable
        Seconds; the tests have their own.

    Examples
    --------
    >>> list(Batches(size=3).cut(7))
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

    def cut(self, count: int) -> Iterator[slice]:
        """Yield the batches of ``count`` images; the time between two of them is looked at."""
        start = 0
        while start < count:
            size = SIZES[self._trial] if self.size is None else self.size
            stop = min(start + size, count)
            begun = self._clock()
            yield slice(start, stop)
            if self.size is None and stop - start == size:
                self._look((self._clock() - begun) / size)
            start = stop

    def _look(self, seconds: float) -> None:
        """Take note of the time per image; go on to the next size, or settle on the last one."""
        self._times.append(seconds)
        if len(self._times) < TRIES:
            return
        fastest, self._times = min(self._times), []
        if fastest > WORTH * self._best:
            self.size = SIZES[self._trial - 1]
        elif self._trial == len(SIZES) - 1:
            self.size = SIZES[-1]
        else:
            self._best = fastest
            self._trial += 1
