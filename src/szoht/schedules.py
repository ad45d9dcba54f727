"""Numbers that change with the iteration: steps, radii, numbers of directions."""

import math
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from szoht.core.validation import check_integer, check_real
from szoht.errors import ScheduleError

__all__ = ["Constant", "Geometric", "OpenLoop", "Polynomial", "Schedule", "Scheduled", "at"]


@runtime_checkable
class Schedule(Protocol):
    """A frozen function of the iteration t = 0, 1, 2, ...; asking twice gives the same number."""

    def __call__(self, t: int, /) -> float:
        """Return the value at iteration ``t``."""
        ...


Scheduled: TypeAlias = float | Schedule
"""A plain number, or a schedule, wherever a part accepts both."""


@dataclass(frozen=True)
class Constant:
    """The same number in every iteration."""

    value: float

    def __post_init__(self) -> None:
        check_real("value", self.value)

    def __call__(self, t: int) -> float:
        """Return the value, whatever ``t``."""
        del t
        return self.value


@dataclass(frozen=True, kw_only=True)
class Geometric:
    """``start * ratio**t``, kept within [low, high].

    >>> [Geometric(start=8, ratio=0.5, low=1)(t) for t in range(5)]
    [8.0, 4.0, 2.0, 1.0, 1.0]
    """

    start: float
    ratio: float
    low: float = 0.0
    high: float = math.inf

    def __post_init__(self) -> None:
        check_real("start", self.start, low=0, open_low=True)
        check_real("ratio", self.ratio, low=0, open_low=True)
        low = check_real("low", self.low)
        check_real("high", self.high, low=low, infinite=True)

    def __call__(self, t: int) -> float:
        """Return the value at iteration ``t``; growth beyond any float counts as ``high``."""
        try:
            power = self.start * self.ratio**t
        except OverflowError:
            power = math.inf
        return float(min(max(power, self.low), self.high))


@dataclass(frozen=True, kw_only=True)
class Polynomial:
    """``start / (1 + t / offset)**power``: 1/sqrt(t) and 1/t decays.

    >>> Polynomial(start=1.0, power=0.5)(3)
    0.5
    """

    start: float
    power: float = 0.5
    offset: float = 1.0

    def __post_init__(self) -> None:
        check_real("start", self.start, low=0, open_low=True)
        check_real("power", self.power, low=0)
        check_real("offset", self.offset, low=0, open_low=True)

    def __call__(self, t: int) -> float:
        """Return the value at iteration ``t``."""
        return float(self.start / (1 + t / self.offset) ** self.power)


@dataclass(frozen=True)
class OpenLoop:
    """``2 / (t + 2)``, the classical step of conditional-gradient methods."""

    def __call__(self, t: int) -> float:
        """Return the value at iteration ``t``."""
        return 2 / (t + 2)


def at(value: Scheduled, t: int, name: str = "value") -> float:
    """Return a positive number, or a schedule's positive number at iteration ``t``."""
    if not callable(value):
        return float(value)
    rule = f"`{name}` must be a finite number > 0 at every iteration; its schedule"
    try:
        number = float(value(t))
    except Exception as error:
        raise ScheduleError(f"{rule} raised {error!r} at iteration {t}.") from error
    if not (number > 0 and math.isfinite(number)):
        raise ScheduleError(f"{rule} gave {number!r} at iteration {t}.")
    return number


def count_at(value: Scheduled, t: int, name: str = "q") -> int:
    """Return a scheduled count, rounded up to an integer that is at least one."""
    return max(1, math.ceil(at(value, t, name)))


def check_scheduled(name: str, value: object, *, low: float, open_low: bool = False) -> None:
    """Check a number, or the first value of a schedule."""
    first = value(0) if isinstance(value, Schedule) else value
    check_real(name, first, low=low, open_low=open_low)


def check_scheduled_count(name: str, value: object) -> None:
    """Check an integer >= 1, or the first value of a schedule."""
    if isinstance(value, Schedule):
        check_real(name, value(0), low=1)
    else:
        check_integer(name, value, low=1)
