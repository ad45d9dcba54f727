"""Samples of a stochastic objective, one per iteration."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from szoht.core.random import Key, Purpose
from szoht.core.validation import check_integer
from szoht.errors import CapabilityError
from szoht.types import Sample

__all__ = ["Full", "Minibatch", "Sampler", "Seeds", "Snapshots"]


@runtime_checkable
class Sampler(Protocol):
    """Draws the sample that every point of one iteration shares."""

    @property
    def comparable(self) -> bool:
        """Whether values of different iterations are values of the same function."""
        ...

    def check(self, n_samples: int | None) -> None:
        """Raise if this sampler does not suit an objective with ``n_samples`` components."""
        ...

    def draw(self, key: Key, n_samples: int | None) -> Sample:
        """Return the sample of one iteration."""
        ...


@dataclass(frozen=True, kw_only=True)
class Full:
    """The whole objective in every iteration: no sample, or all components of a finite sum."""

    comparable = True

    def check(self, n_samples: int | None) -> None:
        """Suits every objective."""

    def draw(self, key: Key, n_samples: int | None) -> Sample:
        """Return None for a plain function, all indices for a finite sum."""
        del key
        return None if n_samples is None else np.arange(n_samples)


@dataclass(frozen=True, kw_only=True)
class Minibatch:
    """``size`` components of a finite sum, drawn uniformly with or without replacement.

    >>> Minibatch(size=3).draw(Key(seed=0), 10).size
    3
    """

    size: int
    replace: bool = False

    comparable = False

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)

    def check(self, n_samples: int | None) -> None:
        """Need a finite sum, at least as large as a batch without replacement."""
        if n_samples is None:
            raise CapabilityError(
                "Minibatch needs a finite sum, and the objective has no `n_samples`. Pass "
                "`n_samples=...` with a function `fun(x, sample)`, or use the sampler Full()."
            )
        if not self.replace:
            check_integer("size", self.size, low=1, high=n_samples, high_name="n_samples")

    def draw(self, key: Key, n_samples: int | None) -> Sample:
        """Return the indices of the components."""
        self.check(n_samples)
        generator = key.generator(Purpose.SAMPLE)
        if self.replace:
            return generator.integers(n_samples or 1, size=self.size)
        return generator.choice(n_samples or 1, size=self.size, replace=False, shuffle=False)


@dataclass(frozen=True, kw_only=True)
class Snapshots:
    """All components at the start and then in every ``every``-th iteration, else a minibatch.

    What variance-reduced methods need: an exact pass over the sum now and then.

    >>> sampler = Snapshots(every=3, size=2)
    >>> [sampler.draw(Key(seed=0, iteration=t), 10).size for t in range(5)]
    [10, 2, 2, 10, 2]
    """

    every: int | None = None
    size: int = 1

    comparable = False

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)
        if self.every is not None:
            check_integer("every", self.every, low=1)

    def check(self, n_samples: int | None) -> None:
        """Need a finite sum, at least as large as a batch."""
        Minibatch(size=self.size).check(n_samples)

    def due(self, iteration: int) -> bool:
        """Tell whether all components are drawn in ``iteration``."""
        return iteration == 0 if self.every is None else iteration % self.every == 0

    def draw(self, key: Key, n_samples: int | None) -> Sample:
        """Return all indices, or those of a minibatch."""
        if self.due(key.iteration):
            return Full().draw(key, n_samples)
        return Minibatch(size=self.size).draw(key, n_samples)


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """``size`` random integers for a simulator that takes its noise from a seed.

    All points of one iteration get the same integers: common random numbers.
    """

    size: int = 1

    comparable = False

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)

    def check(self, n_samples: int | None) -> None:
        """Need no finite sum."""

    def draw(self, key: Key, n_samples: int | None) -> Sample:
        """Return integers in [0, 2**31)."""
        del n_samples
        return key.generator(Purpose.SAMPLE).integers(2**31, size=self.size)
