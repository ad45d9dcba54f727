"""Callbacks: `Recorder`, `ProgressBar`, and the log."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from szoht.core.validation import check_flag, shown
from szoht.core.variables import Variables
from szoht.errors import MissingExtraError, ParameterTypeError
from szoht.result import Progress
from szoht.run.log import RunLog
from szoht.types import Indices, Vector

if TYPE_CHECKING:
    import rich.progress

__all__ = [
    "Callback",
    "Display",
    "ProgressBar",
    "Recorder",
    "as_callbacks",
    "call_all",
    "prepare_callbacks",
]

Callback: TypeAlias = Callable[[Progress], object]
"""Called with the progress of a run; returning True or raising StopIteration ends it."""

Display: TypeAlias = "ProgressBar | RunLog"
"""A callback that is told the budget, and lives as long as the run is evaluated."""

COLUMNS = (
    *("iteration", "queries", "value", "best", "support_size", "entered", "left"),
    *("failures", "seconds"),
)


class Recorder:
    """Keeps one row per call, as columns.

    Columns: ``iteration``, ``queries``, ``value`` (of the newest measured iterate), ``best``,
    ``support_size``, ``entered`` and ``left`` (coordinates that joined or quit the support),
    ``failures``, ``seconds``, and ``monitor`` if one is given.

    Parameters
    ----------
    x0 : array of shape (d,)
        Where the run starts; support changes are counted from there.
    monitor : callable, optional
        ``monitor(x) -> float``, the true objective for instance, called for each new iterate;
        neither counted nor timed.
    variables : Variables, optional
        The support is then what they have changed; ``x0`` is in the solver's numbers.
    """

    def __init__(
        self,
        x0: Vector,
        monitor: Callable[[Vector], float] | None = None,
        *,
        variables: Variables | None = None,
    ) -> None:
        if monitor is not None and not callable(monitor):
            raise ParameterTypeError(f"`monitor` must be callable; got monitor={shown(monitor)}.")
        self._support: Indices = (
            np.flatnonzero(x0) if variables is None else variables.changed(variables.to_x(x0))
        )
        self._monitor = monitor
        self._monitored = np.nan
        self._iteration = -1
        self._x: Vector | None = None
        self._rows: list[tuple[Any, ...]] = []

    def __call__(self, progress: Progress) -> None:
        """Keep one row."""
        before = self._support
        if progress.iteration != self._iteration or progress.x is not self._x:
            self._iteration, self._x, self._support = (
                progress.iteration,
                progress.x,
                progress.support,
            )
            if self._monitor is not None:
                self._monitored = _as_number(self._monitor(progress.x))
        support, unchanged = self._support, self._support is before
        self._rows.append(
            (
                progress.iteration,
                progress.counts.queries,
                progress.value,
                progress.best_value,
                support.size,
                () if unchanged else _difference(support, before),
                () if unchanged else _difference(before, support),
                progress.counts.failures,
                progress.seconds,
                self._monitored,
            )
        )

    @property
    def history(self) -> dict[str, Any]:
        """The columns: arrays of numbers, and lists of coordinate tuples."""
        names = COLUMNS if self._monitor is None else (*COLUMNS, "monitor")
        return {
            name: list(column) if name in ("entered", "left") else np.array(column)
            for name, column in zip(names, zip(*self._rows, strict=True), strict=False)
        }


class ProgressBar:
    """A live bar with queries, best value and support size; needs the extra ``cli`` (rich)."""

    def __init__(self) -> None:
        try:
            import rich.progress as bars  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                "`progress=True` needs the package rich: pip install 'szoht[cli]'"
            ) from error
        self._bar: rich.progress.Progress = bars.Progress(
            bars.TextColumn("[bold]szoht"),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[queries]}"),
            bars.TextColumn("best {task.fields[best]}"),
            bars.TextColumn("{task.fields[support]}"),
            bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(),
        )
        self._limit: int | None = None
        self._task = self._bar.add_task("", total=None, queries="0 queries", best="-", support="-")

    def expect(self, max_queries: int | None) -> None:
        """Say how many queries there will be at most."""
        self._limit = max_queries
        self._bar.update(self._task, total=max_queries)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show the progress of the run."""
        total = "" if self._limit is None else f"/{self._limit:,}"
        what = "non-zeros" if progress.variables is None else "changes"
        self._bar.update(
            self._task,
            completed=progress.queries,
            queries=f"{progress.queries:,}{total} queries",
            best=f"{progress.best_value:.6g}",
            support=f"{progress.support.size} {what}",
        )


def as_callbacks(callback: Callback | Iterable[Callback] | None) -> tuple[Callback, ...]:
    """Return what users pass as ``callback`` as a tuple."""
    if callback is None:
        return ()
    is_number = isinstance(callback, np.ndarray) and callback.ndim == 0  # and yet an Iterable
    several = isinstance(callback, Iterable) and not is_number
    callbacks: tuple[Any, ...] = tuple(callback) if several else (callback,)  # type: ignore[arg-type]
    for one in callbacks:
        if not callable(one):
            raise ParameterTypeError(f"`callback` must be callable, or several; got {shown(one)}.")
    return callbacks


def prepare_callbacks(
    callback: Callback | Iterable[Callback] | None, *, progress: bool, since: float = 0.0
) -> tuple[tuple[Callback, ...], tuple[Display, ...]]:
    """Return all callbacks of a run, and the displays among them: the log, and perhaps a bar.

    ``since`` is the time that earlier processes took.
    """
    log = RunLog(since)
    displays = (log, ProgressBar()) if check_flag("progress", progress) else (log,)
    return (*as_callbacks(callback), *displays), displays


def call_all(callbacks: Iterable[Callback], progress: Progress) -> bool:
    """Call all of them, even if one wants to stop; tell whether one does."""
    return any([_wants_to_stop(callback, progress) for callback in callbacks])  # noqa: C419


def _wants_to_stop(callback: Callback, progress: Progress) -> bool:
    try:
        answer = callback(progress)
    except StopIteration:
        return True
    # only a true boolean: a callback that happens to return a number does not mean to stop
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _as_number(answer: Any) -> float:
    try:
        return float(answer)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(f"`monitor` must return a number; got {shown(answer)}.") from error


def _difference(some: Indices, others: Indices) -> tuple[int, ...]:
    if np.array_equal(some, others):  # the usual case, and much cheaper
        return ()
    return tuple(int(i) for i in np.setdiff1d(some, others, assume_unique=True))
