"""Definition of an experiment: jobs that compute curves, figures of them, measurements on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from szoht.paper.errors import NotRunError
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from szoht.reporting.page import HtmlTable

__all__ = [
    "Curve",
    "Experiment",
    "Job",
    "Measurement",
    "Plot",
    "Results",
    "Scale",
    "Table",
]

Table: TypeAlias = dict[str, Vector]
"""Columns of equal length; the first is the horizontal axis of the others."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The size of a run.

    Parameters
    ----------
    quick : bool
        Smaller settings that take minutes.
    seeds : int, optional
        Runs per curve; the default depends on the experiment.
    options : mapping
        Settings by experiment that replace the defaults, such as those found by `tune`.
    datasets : tuple of str
        Data sets, for experiments with several; all if empty.
    """

    quick: bool = False
    seeds: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()

    def runs(self, *, quick: int, full: int) -> range:
        """Return the seeds of a curve: as many as requested, or the experiment's default."""
        return range(self.seeds or (quick if self.quick else full))


@dataclass(frozen=True, kw_only=True)
class Job:
    """One curve for one seed: exactly what determines its numbers.

    ``settings`` are plain JSON values. ``cost`` is a rough estimate of CPU seconds, used to order
    the jobs and to estimate the remaining time. ``shared`` names the experiment under which the
    curve is cached, if several show it and have one ``run`` function; by default its own.
    """

    experiment: str
    curve: str
    settings: Mapping[str, Any]
    seed: int
    cost: float = 1.0
    shared: str = ""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The result of a job: its table, the CPU seconds it took, and the warnings it raised."""

    job: Job
    table: Table
    seconds: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A measured value that a claim is compared with, and its text for the report.

    ``low`` and ``high`` are the ends of an interval around it, if there is one.
    """

    value: Any
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure and its caption.

    ``paper`` is the paper's own curve on the same axes, shown beside it; `paired_plot` makes both.
    """

    figure: "Figure"
    caption: str
    paper: "Figure | None" = None


class Results:
    """The computed curves of one experiment, by name."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.curves = tuple(curves)
        self._by_name: dict[str, list[Curve]] = {}
        for curve in sorted(curves, key=lambda curve: curve.job.seed):
            self._by_name.setdefault(curve.job.curve, []).append(curve)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """The names of the curves."""
        return list(self._by_name)

    def runs(self, name: str) -> list[Curve]:
        """Return the curves of all seeds, or raise `NotRunError`."""
        if name not in self._by_name:
            raise NotRunError(f"the curve {name} was not computed in this run.")
        return self._by_name[name]

    def columns(self, name: str, column: str) -> list[Vector]:
        """Return a column for each seed."""
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
    name, title, where, description : str
        The name on the command line, the heading, the place in the paper, and what is computed.
    jobs : callable
        ``jobs(scale)`` returns the list of jobs.
    run : callable
        ``run(settings, seed)`` returns the table of one job; a pure function that is
        called in a worker process.
    figures : callable
        ``figures(results)`` plots the curves; it computes none. The first is the thumbnail.
    tables : callable
        ``tables(results)`` returns tables for the report; `szoht.reporting.cells.ErrorBar` is a
        cell that draws a value with its error bar beside the paper's value.
    stated_settings : callable
        ``stated_settings(settings)`` returns what the paper states for a job with these settings,
        by the same names; names that the paper leaves open are left out.
    measures : mapping
        Functions ``measure(results, **arguments) -> Measurement`` by the names used in claims.
    data : str
        What has to be downloaded, in words; "" if nothing.
    why_unavailable : callable
        Returns why the experiment cannot be run, such as missing data, or "".
    tuning_jobs, select_settings : callables
        The jobs of the grid search, and ``select_settings(results)``, which picks the best.
    """

    name: str
    title: str
    where: str
    description: str
    jobs: Callable[[Scale], Sequence[Job]]
    run: Callable[[Mapping[str, Any], int], Table]
    figures: Callable[[Results], Mapping[str, Plot]]
    measures: Mapping[str, Callable[..., Measurement]]
    tables: Callable[[Results], "Sequence[HtmlTable]"] = lambda _: ()
    stated_settings: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
    data: str = ""
    why_unavailable: Callable[[], str] = lambda: ""
    tuning_jobs: Callable[[Scale], Sequence[Job]] | None = None
    select_settings: Callable[[Results], Mapping[str, Any]] | None = None
