"""What an experiment is: jobs that give curves, figures of the curves, measurements on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from szoht.errors import SzohtError
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Curve",
    "Drawing",
    "Experiment",
    "Job",
    "Measured",
    "NotRunError",
    "Results",
    "Scale",
    "Table",
]

Table: TypeAlias = dict[str, Vector]
"""Columns of equal length; the first is what the others are drawn against."""


class NotRunError(SzohtError, LookupError):
    """A measurement needs a curve that this run, perhaps a quick one, did not make."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large a run is.

    Parameters
    ----------
    quick : bool
        A few minutes instead of the paper's sizes.
    seeds : int, optional
        Runs per curve; each experiment has a default of its own.
    options : mapping
        Settings found elsewhere, such as those of a grid search.
    """

    quick: bool = False
    seeds: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def runs(self, *, quick: int, full: int) -> range:
        """Return the seeds of a curve: those asked for, or the experiment's own number."""
        return range(self.seeds or (quick if self.quick else full))


@dataclass(frozen=True, kw_only=True)
class Job:
    """One curve for one seed: everything that decides its numbers, and nothing else.

    ``settings`` are plain JSON values. ``cost`` is a guess of CPU seconds, for the order of work
    and the estimate of the time left.
    """

    experiment: str
    curve: str
    settings: Mapping[str, Any]
    seed: int
    cost: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The finished job: its table, the CPU seconds that it took, and what the library warned of."""

    job: Job
    table: Table
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A number, or whatever else a claim is compared with, and how to write it.

    ``low`` and ``high`` are an interval around it where there is one.
    """

    value: Any
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure and the sentence below it."""

    figure: "Figure"
    caption: str


class Results:
    """The finished curves of one experiment, by name."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves = tuple(curves)
        self._by_name: dict[str, list[Curve]] = {}
        for curve in sorted(curves, key=lambda curve: curve.job.seed):
            self._by_name.setdefault(curve.job.curve, []).append(curve)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """The curves there are."""
        return list(self._by_name)

    def runs(self, name: str) -> list[Curve]:
        """Return one curve per seed, or raise `NotRunError`."""
        if name not in self._by_name:
            raise NotRunError(f"the curve {name} was not run at this scale.")
        return self._by_name[name]

    def columns(self, name: str, column: str) -> list[Vector]:
        """Return a column of each seed."""
        return [curve.table[column] for curve in self.runs(name)]

    def at(self, name: str, column: str, place: float) -> Vector:
        """Return a column where the first one has the value ``place``, one entry per seed.

        Between two rows the value is interpolated; beyond the last row, `NotRunError` is raised.
        """
        values = []
        for curve in self.runs(name):
            x = next(iter(curve.table.values()))
            if place > x[-1] * (1 + 1e-9):
                raise NotRunError(f"the curve {name} ends at {x[-1]:g}, before {place:g}.")
            values.append(np.interp(place, x, curve.table[column]))
        return np.array(values)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or table of the paper, regenerated.

    Parameters
    ----------
    name, title, where, about : str
        The name on the command line, a heading, the place in the paper, and what is done.
    jobs : callable
        ``jobs(scale)`` lists what to run.
    run : callable
        ``run(settings, seed)`` returns the table of one job; a pure function, called in another
        process.
    figures : callable
        ``figures(results)`` draws, and runs nothing.
    measures : mapping
        Functions ``measure(results, **arguments) -> Measured`` by the names that claims use.
    unavailable : callable
        Returns why the experiment cannot be run here, such as absent data, or "".
    grid, choose : callables
        The jobs of the grid search, and ``choose(results)``, the settings found by it.
    """

    name: str
    title: str
    where: str
    about: str
    jobs: Callable[[Scale], Sequence[Job]]
    run: Callable[[Mapping[str, Any], int], Table]
    figures: Callable[[Results], Mapping[str, Drawing]]
    measures: Mapping[str, Callable[..., Measured]]
    unavailable: Callable[[], str] = lambda: ""
    grid: Callable[[Scale], Sequence[Job]] | None = None
    choose: Callable[[Results], Mapping[str, Any]] | None = None
