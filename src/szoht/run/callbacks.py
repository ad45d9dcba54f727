"""Callbacks: `Recorder` and `ProgressBar`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from szoht.core.variables import Variables
from szoht.errors import MissingExtraError, ParameterTypeError
from szoht.result import Progress
from szoht.types import Indices, Vector

if TYPE_CHECKING:
    import rich.progress

__all__ = ["Callback", "ProgressBar", "Recorder", "as_callbacks", "call_all", "prepare_callbacks"]

Callback: TypeAlias = Callable[[Progress], object]
"""Called after each iteration; returning True or raising StopIteration ends the run."""


class Recorder:
    """Keeps one row per iteration, as columns.

    Columns: ``iteration``, ``queries``, ``value`` (of the newest measured iterate), ``best``,
    ``support_size``, ``entered`` and ``left`` (coordinates that joined or quit the support),
    ``failures``, ``seconds``, and ``monitor`` if one is given.

    Parameters
    ----------
    x0 : array of shape (d,)
        Where the run starts; support changes are counted from there.
    monitor : callable, optional
        ``monitor(x) -> float``, the true objective for instance; neither counted nor timed.
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
            raise ParameterTypeError(f"`monitor` must be callable; got monitor={monitor!r}.")
        self._support: Indices = (
            np.flatnonzero(x0) if variables is None else variables.changed(variables.to_x(x0))
        )
        self._monitor = monitor
        self._rows: list[dict[str, Any]] = []

    def __call__(self, progress: Progress) -> None:
        """Keep one row."""
        support = progress.support
        row = {
            "iteration": progress.iteration,
            "queries": progress.queries,
            "value": progress.value,
            "best": progress.best_value,
            "support_size": support.size,
            "entered": _difference(support, self._support),
            "left": _difference(self._support, support),
            "failures": progress.counts.failures,
            "seconds": progress.seconds,
        }
        if self._monitor is not None:
            row["monitor"] = float(self._monitor(progress.x))
        self._support = support
        self._rows.append(row)

    @property
    def history(self) -> dict[str, Any]:
        """The columns: arrays of numbers, and lists of coordinate tuples."""
        names = self._rows[0] if self._rows else ()
        columns = {name: [row[name] for row in self._rows] for name in names}
        return {
            name: column if name in ("entered", "left") else np.array(column)
            for name, column in columns.items()
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
    callbacks = tuple(callback) if isinstance(callback, Iterable) else (callback,)
    for one in callbacks:
        if not callable(one):
            raise ParameterTypeError(f"`callback` must be callable, or several; got {one!r}.")
    return callbacks


def prepare_callbacks(
    callback: Callback | Iterable[Callback] | None, *, progress: bool
) -> tuple[tuple[Callback, ...], ProgressBar | None]:
    """Return all callbacks of a run, and the progress bar among them if one is wanted."""
    if not progress:
        return as_callbacks(callback), None
    bar = ProgressBar()
    return (*as_callbacks(callback), bar), bar


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


def _difference(some: Indices, others: Indices) -> tuple[int, ...]:
    if np.array_equal(some, others):  # the usual case, and much cheaper
        return ()
    return tuple(int(i) for i in np.setdiff1d(some, others, assume_unique=True))
