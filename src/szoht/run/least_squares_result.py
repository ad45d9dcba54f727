"""What comes out of `least_squares`: the answer, its errors, and what else explains the data."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from szoht.core.algorithm import Evidence, PathPoint
from szoht.core.changes import Changes, describe_changes
from szoht.core.extras import import_pandas
from szoht.core.variables import Variables
from szoht.result import Counts, Failure, Faults, Status
from szoht.types import Indices, Vector

__all__ = [
    "Alternative",
    "Interval",
    "LeastSquaresResult",
    "OutputResidual",
]


SHOWN_INTERVALS = 5


class Interval(NamedTuple):
    """The confidence interval of one changed variable; ``low`` and ``high`` keep its bounds.

    It is linearized at the answer, and holds at this support: it tells how well the value is known
    if these are the variables to change, and if outputs are nearly linear as far as it reaches.
    """

    name: str
    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative:
    """Other variables that are expected to explain the data as well, within the noise.

    The columns of all of them were measured at the answer. ``cost`` is expected from these, not
    simulated, and ``model_error`` its standard deviation in residuals.
    ``output`` is the one that would tell the two apart best: it is expected to differ by
    ``difference`` residuals.
    """

    x: Vector
    names: tuple[str, ...]
    cost: float
    model_error: float
    output: str
    difference: float


class OutputResidual(NamedTuple):
    """One output at the answer; ``residual`` is (value - observed) / sigma."""

    name: str
    value: float
    observed: float
    sigma: float
    residual: float


@dataclass(frozen=True, kw_only=True, eq=False)
class LeastSquaresResult:
    """The outcome of `least_squares`, under SciPy's names and some of our own.

    Attributes
    ----------
    x, cost, fun, jac
        The answer, half the sum of the losses of its squared residuals, the residuals
        (outputs - observed) / sigma, and their derivatives with respect to the changed
        variables, of shape (m, number of changes), in the order of ``support``.
    nfev, nit, status, message, success
        Simulations, moves, and how the run ended, as in `Result`. ``success`` is True where
        ``sigma`` explains the residuals *and* the columns of all variables were measured at the
        answer, without a better support; or where the residuals are zero up to rounding.
    unmeasured
        The variables whose columns were not measured at the answer.
    support, changes
        Which variables differ from nominal, and a table of them.
    covariance, intervals
        The covariance of the changed variables, in the order of ``support``, and a confidence
        interval for each, of probability ``level``. They are linearized at the answer, and hold
        at this support: if these variables are the right ones. Without ``sigma``, the variance of
        a residual is taken from the misfit.
    alternatives
        Other supports that are expected to explain the data as well as the answer does, within
        the noise, and the output that would decide. Only those whose columns were all measured at
        the answer, once a search has ended by itself.
    residual_table
        Each output with its observed value, sigma and residual.
    warnings
        What the data do not identify, whether the reduced chi-square contradicts ``sigma`` and
        which one would fit, and outputs that were always missing, in words.
    path
        With ``k="bic"`` or "chi2": the best answer for each k that was tried, with ``k``, ``x`` and
        ``fun``, its cost. That of the k that is believed is the answer.
    evidence
        What was measured and tried before the search ended by itself.
    history, explain, counts, faults, failure, seconds, seed, run, method
        As in `Result`. The history's values are costs.
    """

    x: Vector
    cost: float
    fun: Vector = field(repr=False)
    jac: Vector = field(repr=False)
    nfev: int
    nit: int
    success: bool
    status: Status
    message: str
    variables: Variables
    level: float
    covariance: Vector = field(repr=False)
    intervals: tuple[Interval, ...] = field(repr=False)
    alternatives: tuple[Alternative, ...] = field(repr=False)
    residual_table: tuple[OutputResidual, ...] = field(repr=False)
    warnings: tuple[str, ...]
    condition: float
    counts: Counts
    seconds: float
    seed: int
    method: str
    history: dict[str, Any] = field(repr=False)
    explain: tuple[str, ...] = field(repr=False)
    unmeasured: Indices = field(repr=False)
    path: tuple[PathPoint, ...] = field(default=(), repr=False)
    evidence: Evidence | None = field(default=None, repr=False)
    failure: Failure | None = None
    faults: Faults = field(default_factory=Faults)
    run: str | None = None

    @cached_property
    def support(self) -> Indices:
        """Which variables differ from nominal."""
        return self.variables.changed(self.x)

    @cached_property
    def changes(self) -> Changes:
        """The changed variables."""
        return Changes.of(self.x, self.variables, {})

    @cached_property
    def grad(self) -> Vector:
        """The derivatives of the cost by the changed variables, of a linear loss."""
        return np.asarray(self.jac.T @ np.nan_to_num(self.fun))

    def to_frame(self) -> Any:
        """Return the residual table as a pandas DataFrame, with names as its index."""
        frame = import_pandas("`to_frame`").DataFrame(
            list(self.residual_table), columns=list(OutputResidual._fields)
        )
        return frame.set_index("name")

    @property
    def _spans(self) -> str:
        shown = [f"{one.name} {one.low:.4g} to {one.high:.4g}" for one in self.intervals]
        return ", ".join(shown[:SHOWN_INTERVALS]) + ", ..." * (len(shown) > SHOWN_INTERVALS)

    def __str__(self) -> str:
        rows = {
            "message": self.message,
            "success": self.success,
            "status": f"{self.status.name} ({self.status.code})",
            "cost": f"{self.cost:.10g} ({np.isfinite(self.fun).sum()} residuals)",
            "x": describe_changes(self.x, self.variables),
            "nfev": f"{self.nfev} simulations",
            "nit": f"{self.nit} moves",
            "seconds": f"{self.seconds:.3g}",
            "method": self.method,
            "seed": self.seed,
        }
        if self.intervals:
            rows["intervals"] = (
                f"{100 * self.level:g} %, linearized, at this support: {self._spans}"
            )
        if self.alternatives:
            rows["others"] = f"{len(self.alternatives)} other supports may explain the data as well"
        if self.run is not None:
            rows["run"] = self.run
        if self.counts.failures:
            rows["failures"] = self.counts.failures
        text = "\n".join(f"{name:>9}: {value}" for name, value in rows.items())
        return "\n".join([text, *(f"{'warning':>9}: {line}" for line in self.warnings)])
