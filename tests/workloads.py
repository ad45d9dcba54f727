"""Functions that worker processes can import, and ways to go wrong."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from szoht.operators import Identity

D = 24
TRUTH = np.zeros(D)
TRUTH[[2, 9, 17]] = [1.0, -0.7, 0.4]
MATRIX = np.random.default_rng(3).standard_normal((40, D)) / 6


def quadratic(x):
    return float(((x - TRUTH) ** 2).sum())


def residual(x):
    """A function whose last bits depend on how it is computed."""
    return float(np.square(MATRIX @ (x - TRUTH)).sum())


def residuals(points):
    return np.square((points - TRUTH) @ MATRIX.T).sum(axis=1)


def residual_along(x, indices, offsets):
    points = np.tile(x - TRUTH, (len(offsets), 1))
    rows = np.arange(len(offsets))[:, np.newaxis]
    points[rows, indices] += offsets
    return np.square(points @ MATRIX.T).sum(axis=1)


def finite_sum(x, sample):
    return float(np.square(MATRIX[sample] @ (x - TRUTH)).mean())


def simulation(x, sample):
    noise = np.random.default_rng(sample).standard_normal()
    return quadratic(x) + 1e-3 * noise


def slope(x):
    return 2 * (x - TRUTH)


class Mishap:
    """`quadratic`, except that the call that finds the marker missing makes it, and goes wrong."""

    def __init__(self, folder, how, times=1):
        self.folder = str(folder)
        self.how = how
        self.times = times

    def __call__(self, x):
        if x[0] != 0:  # the base point is spared, so that the mishap is in the middle
            for i in range(self.times):
                try:
                    (Path(self.folder) / f"{self.how}-{i}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                self.go_wrong()
        return quadratic(x)

    def go_wrong(self):
        if self.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "hang":
            time.sleep(60)
        if self.how == "raise":
            raise OSError("licence server is down")
        if self.how == "exit":
            raise SystemExit(3)


class DifferentElsewhereError(Exception):
    """An exception that can be unpickled in the process that raised it and in no other."""

    def __reduce__(self):
        return _only_in, (os.getpid(),)


def _only_in(pid):
    if os.getpid() != pid:
        raise OSError("unpickled elsewhere")
    return DifferentElsewhereError()


def raises_different_elsewhere(x):
    raise DifferentElsewhereError


class DiesWithAChild:
    """`quadratic`, but the first call ends its process and leaves a forked child behind."""

    def __init__(self, folder):
        self.note = folder / "child"

    def __call__(self, x):
        if not self.note.exists():
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            self.note.write_text(str(child))
            os._exit(7)
        return quadratic(x)


def process_id(x):
    return float(os.getpid())


def always_dies(x):
    if x[0] > 0:
        os._exit(7)
    return quadratic(x)


def always_raises(x):
    if x[0] != 0:
        raise OSError("licence server is down")
    return quadratic(x)


class PickyError(Exception):
    """Cannot be unpickled: its constructor wants two arguments."""

    def __init__(self, code, where):
        super().__init__(f"{code} at {where}")


def raises_picky(x):
    raise PickyError(3, "home")


def wrong_shape(points):
    return points


def slow_quadratic(x):
    time.sleep(0.02)
    return quadratic(x)


WHOLE_SPACE = Identity()
WIDE = 5_000


def wide_and_slow(x):
    time.sleep(0.02)
    return float(np.square(x - 1).sum())


def first_entries(x):
    return float(np.square(x[:100] - 1).sum())
