"""What comes out of a run: `Status`, `Counts`, `Progress`, `Failure`, `Result`."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from szoht.core.algorithm import Evidence, Measured, PathPoint
from szoht.core.changes import Changes, describe_changes
from szoht.core.evaluations import Evaluations
from szoht.core.implicit import ImplicitPoint
from szoht.core.variables import Variables
from szoht.types import Indices, Vector

__all__ = ["Counts", "Failure", "Faults", "Progress", "Result", "Status"]

SHOWN_ENTRIES = 10


class Status(enum.Enum):
    """Why a run ended; each member holds its message and what one may do about it."""

    TARGET = (0, "The target value was reached.", "")
    STALLED = (1, "The best value stopped improving.", "")
    CONVERGED = (10, "The algorithm found nothing left to improve.", "")
    QUERIES = (2, "The query budget is spent.", "Raise `max_queries` to go on.")
    ITERATIONS = (3, "The iteration limit was reached.", "Raise `max_iterations` to go on.")
    SECONDS = (4, "The time limit was reached.", "Raise `max_seconds` to go on.")
    CALLBACK = (5, "A callback stopped the run.", "")
    INTERRUPTED = (6, "The run was interrupted.", "The best point so far is kept.")
    FAILED = (
        7,
        "The objective could not be evaluated.",
        "Correct the objective, or begin at an `x0` where it is a finite number.",
    )
    DIVERGED = (
        8,
        "The iterates left the range of floating-point numbers.",
        "Lower `step_size`, or leave it out to have it found by line search.",
    )
    STORE = (
        12,
        "The run store could not be written; the disk may be full.",
        "Make room and resume the run: every answer stored so far is kept.",
    )
    NO_PROGRESS = (
        13,
        "The start was not improved beyond the noise.",
        "See `evidence` for what was tried; check the constraint, the units and the function.",
    )
    EXHAUSTED = (
        14,
        "Every move was tried without further gain, and there is no evidence of a minimum.",
        "See `evidence` for what was tried.",
    )
    MOSTLY_FAILED = (
        15,
        "More than half of the points, or many in a row, could not be evaluated.",
        "Give bounds that keep the points where the function is defined.",
    )
    UNBOUNDED = (
        16,
        "Values fall without end.",
        "Give bounds, or check the sign of the function.",
    )
    INTERNAL_ERROR = (
        17,
        "An error of the solver itself ended the run.",
        "The best point so far is kept, and the traceback is in `error`. Please report it.",
    )
    CONSTANT = (
        18,
        "The function had the same value at every point.",
        "Check that it depends on the variables, and within the bounds.",
    )
    RUNNING = (9, "The run has not ended.", "")

    def __init__(self, code: int, text: str, remedy: str) -> None:
        self.code = code
        self.text = text
        self.remedy = remedy

    @property
    def message(self) -> str:
        """What happened, and the remedy."""
        return f"{self.text} {self.remedy}".strip()

    @property
    def limit(self) -> bool:
        """Whether the run ended because it reached a limit."""
        return self in (Status.QUERIES, Status.ITERATIONS, Status.SECONDS)

    @property
    def success(self) -> bool:
        """Whether this is what a run is for: the target, a minimum, or the user's own rule."""
        return self in (Status.TARGET, Status.CONVERGED, Status.STALLED)

    @property
    def goes_on(self) -> bool:
        """Whether a stored run with this status goes on when it is resumed, limits unchanged."""
        return self in (
            Status.RUNNING,
            Status.INTERRUPTED,
            Status.INTERNAL_ERROR,
            Status.FAILED,
            Status.STORE,
        )

    @property
    def measures_solution(self) -> bool:
        """Whether a last query may still go into measuring the newest iterate."""
        return self in (Status.QUERIES, Status.ITERATIONS, Status.SECONDS, Status.STALLED)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a run has spent; the same numbers in result, history and callback.

    ``queries`` counts evaluations of the objective, one for each member of a sample; ``points``
    counts the points; ``failures`` those that were not answered by a finite real number.
    """

    queries: int = 0
    points: int = 0
    gradients: int = 0
    failures: int = 0

    def plus(self, **more: int) -> "Counts":
        """Return the counts with some of them increased."""
        return replace(self, **{name: getattr(self, name) + n for name, n in more.items()})


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of workers that did not end the run.

    How often a worker died, hung past the timeout, or raised; and how many points were left out
    because enough others had been evaluated (``min_fraction``).
    """

    died: int = 0
    hung: int = 0
    raised: int = 0
    left_out: int = 0

    def __bool__(self) -> bool:
        return self != Faults()

    def __str__(self) -> str:
        counts = ((name.replace("_", " "), n) for name, n in vars(self).items())
        return ", ".join(f"{n} {name}" for name, n in counts if n) or "none"


@dataclass(frozen=True, kw_only=True, eq=False)
class Progress:
    """An immutable view of a run, passed to callbacks and stop rules.

    ``x`` is the newest iterate, which may not have been measured yet; ``value`` is the value of the
    newest one that was; ``best`` is the best of those. All are in the user's numbers, and with
    ``maximize`` the best is the highest.
    """

    iteration: int
    counts: Counts
    x: Vector
    value: float
    best: Measured | None
    seconds: float
    variables: Variables | None = None
    maximize: bool = False

    @property
    def queries(self) -> int:
        """Evaluations spent so far."""
        return self.counts.queries

    @property
    def best_value(self) -> float:
        """The best value of an iterate so far, NaN if none is known."""
        return float("nan") if self.best is None else self.best.value

    @property
    def best_x(self) -> Vector:
        """The iterate with the best value so far."""
        return self.x if self.best is None else self.best.x

    @cached_property
    def support(self) -> Indices:
        """The non-zero coordinates of the newest iterate; of variables, those that are changed."""
        return np.flatnonzero(self.x) if self.variables is None else self.variables.changed(self.x)


@dataclass(frozen=True, kw_only=True, eq=False)
class Failure:
    """Which point could not be evaluated, and why. ``query`` counts points, from 1."""

    query: int
    point: Vector
    reason: str
    exception: BaseException | None = None
    variables: Variables | None = field(default=None, repr=False)

    def __str__(self) -> str:
        where = _entries(self.point, self.variables)
        return f"Query {self.query} at the point with {where}: {self.reason}."


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The outcome of a run, under SciPy's names and some of our own.

    Attributes
    ----------
    x, fun
        The solution and its value (NaN if no query was left to measure it).
    fun_error
        The standard error of ``fun`` where values are noisy: ``fun`` is then an estimate from many
        of them, not the lowest. 0 if values are exact, or if the method does not estimate it.
    measured
        Whether ``fun`` is a value of the function at ``x``. False if it was inferred from points
        around it, as central differences allow, or is missing.
    support
        The non-zero coordinates of ``x``; of `Variables`, those that differ from nominal.
    changes
        The changed variables as a table: name, nominal and new value, the bound that was hit, and
        the effect on f of putting it back. `Changes.to_frame` makes it a DataFrame.
    variables, maximize
        What the run was given.
    nfev, njev, nit
        Queries, gradients and iterations spent.
    success, status, message
        Whether the run ended with the target, with evidence of a minimum, or by a `Stalled` rule
        of yours, and ``fun`` is finite; a spent limit is no success, as in SciPy. Why it ended;
        the same in words.
    warnings
        What is to be known about the run beside that, one sentence each.
    error
        The traceback of an error of the solver itself, if one ended the run.
    evaluations
        Every evaluation as a table: a pandas DataFrame, or without pandas a dict of columns.
    history
        A dict of columns, one row per iteration, of the default method one per plan, and one more
        if queries were spent after the last of them: ``pandas.DataFrame(result.history)``.
    failure
        The evaluation that ended the run, if one did.
    faults
        Faults of the workers, if there were any.
    explain
        What the algorithm did and why, one line per decision, if it decides anything.
    path
        When no k was given: the best point for each k that was tried, with ``k``, ``x`` and
        ``fun``; ``x`` of the result is that of the knee.
    evidence
        What was measured and tried before the algorithm ended by itself, if it says so.
    seed
        The integer that repeats this run when passed as ``rng``.
    run
        The name of the run in its store, if it has one.
    fit
        The `LeastSquaresResult` of a run of `least_squares` that was resumed.
    """

    x: Vector
    fun: float
    nfev: int
    njev: int
    nit: int
    success: bool
    status: Status
    message: str
    counts: Counts
    seconds: float
    seed: int
    method: str
    history: dict[str, Any] = field(repr=False)
    failure: Failure | None = None
    faults: Faults = Faults()
    explain: tuple[str, ...] = field(default=(), repr=False)
    path: tuple[PathPoint, ...] = field(default=(), repr=False)
    run: str | None = None
    measured: bool = True
    fun_error: float = 0.0
    evidence: Evidence | None = field(default=None, repr=False)
    variables: Variables | None = None
    maximize: bool = False
    effects: Mapping[int, float] = field(default_factory=dict, repr=False)
    fit: Any = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()
    error: str = field(default="", repr=False)
    ledger: Evaluations | None = field(default=None, repr=False)

    @cached_property
    def support(self) -> Indices:
        """The non-zero coordinates of ``x``; of variables, those that are changed."""
        return np.flatnonzero(self.x) if self.variables is None else self.variables.changed(self.x)

    @cached_property
    def changes(self) -> Changes:
        """The changed variables, those of largest effect first."""
        return Changes.of(self.x, self.variables, self.effects)

    @cached_property
    def evaluations(self) -> Any:
        """Every evaluation of the run as a table, in the user's numbers.

        Columns are ``query``, counted from 1, ``fun`` (NaN where the function failed), or the
        outputs of a function that has several, and each variable by its name.
        """
        return None if self.ledger is None else self.ledger.table()

    @property
    def knee(self) -> int | None:
        """The k that was chosen from the path, if there is one."""
        return next((point.k for point in self.path if point.x is self.x), None)

    @property
    def _fun_note(self) -> str:
        if self.fun_error > 0:
            return f" +- {self.fun_error:.2g} (standard error)"
        return "" if self.measured else " (inferred, not measured)"

    @property
    def _sense(self) -> str:
        return " (maximized)" if self.maximize else ""

    def __str__(self) -> str:
        rows = {
            "message": self.message,
            "success": self.success,
            "status": f"{self.status.name} ({self.status.code})",
            "fun": f"{self.fun:.10g}{self._fun_note}{self._sense}",
            "x": f"{_entries(self.x, self.variables)} (d = {self.x.size})",
            "nfev": f"{self.nfev} queries",
            "nit": f"{self.nit} iteration{'' if self.nit == 1 else 's'}",
            "seconds": f"{self.seconds:.3g}",
            "method": self.method,
            "seed": self.seed,
        }
        if self.njev:
            rows["njev"] = f"{self.njev} gradients"
        if self.path:
            rows["path"] = f"k from {self.path[0].k} to {self.path[-1].k}, knee at {self.knee}"
        if self.run is not None:
            rows["run"] = self.run
        if self.counts.failures:
            rows["failures"] = self.counts.failures
        if self.faults:
            rows["faults"] = str(self.faults)
        if self.warnings:
            rows["warnings"] = " ".join(self.warnings)
        return "\n".join(f"{name:>9}: {value}" for name, value in rows.items())


def _entries(x: Vector, variables: Variables | None = None) -> str:
    if variables is not None:
        return describe_changes(x, variables)
    if isinstance(x, ImplicitPoint):
        return f"{_entries(cast(Vector, x.base))}, one bucket of the others moved by {x.scale:.3g}"
    support = np.flatnonzero(x)
    if not support.size:
        return "no non-zeros"
    shown = ", ".join(f"{i}: {x[i]:.6g}" for i in support[:SHOWN_ENTRIES])
    more = ", ..." if support.size > SHOWN_ENTRIES else ""
    return f"{support.size} non-zeros {{{shown}{more}}}"
