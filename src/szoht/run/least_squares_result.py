"""What comes out of `least_squares`: the answer, its errors, and what else explains the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from szoht.algorithms.calibration.report import FitReport, OtherSupport, describe_fit
from szoht.algorithms.calibration.solver import Calibration
from szoht.core.algorithm import PathPoint
from szoht.core.changes import Changes, Effect, describe_changes
from szoht.core.extras import import_pandas
from szoht.core.validation import check_real
from szoht.core.variables import Variables
from szoht.errors import ParameterError
from szoht.result import Counts, Failure, Faults, Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.outputs import OutputForm
from szoht.types import Indices, Vector

__all__ = [
    "Alternative",
    "Interval",
    "LeastSquaresResult",
    "OutputResidual",
    "as_least_squares",
    "check_level",
    "with_fit",
]

ILL_CONDITIONED = 1e4
"""Beyond this condition number, some combination of the changes has errors a hundred times those
of the best known one."""


class Interval(NamedTuple):
    """The confidence interval of one changed variable; ``low`` and ``high`` keep its bounds."""

    name: str
    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative:
    """Other variables that are expected to explain the data as well, within the noise.

    ``cost`` is expected, not simulated, and ``model_error`` its standard deviation in residuals.
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
        Simulations, moves, and how the run ended, as in `Result`.
    support, changes
        Which variables differ from nominal, and a table of them.
    covariance, intervals
        The covariance of the changed variables, in the order of ``support``, and a confidence
        interval for each, of probability ``level``. They hold if these variables are the right
        ones. Without ``sigma``, the variance of a residual is taken from the misfit.
    alternatives
        Other supports that explain the data as well as the answer does, within the noise, and
        the output that would decide.
    residual_table
        Each output with its observed value, sigma and residual.
    warnings
        What the data do not identify, and whether the fit is poor, in words.
    path
        With ``k="bic"`` or "chi2": the best answer for each k, with ``k``, ``x`` and ``fun``, its
        cost.
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
    effects: Mapping[int, Effect] = field(repr=False)
    path: tuple[PathPoint, ...] = field(default=(), repr=False)
    failure: Failure | None = None
    faults: Faults = field(default_factory=Faults)
    run: str | None = None

    @cached_property
    def support(self) -> Indices:
        """Which variables differ from nominal."""
        return self.variables.changed(self.x)

    @cached_property
    def changes(self) -> Changes:
        """The changed variables, those of largest effect on the cost first."""
        return Changes.of(self.x, self.variables, self.effects)

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
        if self.alternatives:
            rows["others"] = f"{len(self.alternatives)} other supports explain the data as well"
        if self.run is not None:
            rows["run"] = self.run
        if self.counts.failures:
            rows["failures"] = self.counts.failures
        text = "\n".join(f"{name:>9}: {value}" for name, value in rows.items())
        return "\n".join([text, *(f"{'warning':>9}: {line}" for line in self.warnings)])


def check_level(level: float) -> None:
    """Raise unless ``level`` is a probability."""
    if check_real("level", level, low=0, high=1, open_low=True) == 1:
        raise ParameterError("`level` must be in (0, 1); got level=1.")


def as_least_squares(run: AskTell, result: Result, *, level: float = 0.95) -> LeastSquaresResult:
    """Return what is known about the answer of a run of `Calibration`."""
    algorithm, variables = run.algorithm, run.config.variables
    assert isinstance(algorithm, Calibration) and variables is not None, "a calibration"  # noqa: S101, PT018
    search = algorithm.search(run.state)
    report = describe_fit(search, level)
    known = _empty() if report is None else _known(report, algorithm, variables, result.x)
    return LeastSquaresResult(
        x=result.x,
        cost=result.fun,
        nfev=result.nfev,
        nit=result.nit,
        success=result.success,
        status=result.status,
        message=result.message,
        variables=variables,
        level=level,
        counts=result.counts,
        seconds=result.seconds,
        seed=result.seed,
        method=result.method,
        history=result.history,
        explain=result.explain,
        path=result.path,
        failure=result.failure,
        faults=result.faults,
        run=result.run,
        **known,
    )


def with_fit(run: AskTell, result: Result) -> Result:
    """Return the result of a run, of one of `least_squares` with what that returns as ``fit``."""
    algorithm = run.algorithm
    if not isinstance(algorithm, Calibration) or algorithm.components:
        return result
    return replace(result, fit=as_least_squares(run, result))


def _empty() -> dict[str, Any]:
    nothing = np.empty((0, 0))
    return {
        "fun": np.empty(0),
        "jac": nothing,
        "covariance": nothing,
        "intervals": (),
        "alternatives": (),
        "residual_table": (),
        "warnings": (),
        "condition": 1.0,
        "effects": {},
    }


def _known(
    report: FitReport, algorithm: Calibration, variables: Variables, x: Vector
) -> dict[str, Any]:
    z = report.search.domain.to_z(report.visit.point)
    slope = variables.derivative(z)[report.support]
    covariance = report.covariance * np.outer(slope, slope)
    intervals = _intervals(report, variables, z, x)
    form = OutputForm(n_outputs=report.residuals.size, names=algorithm.output_names)
    cost = report.search.cost_of(report.residuals)
    effects = {
        int(i): Effect(report.cost_without(int(i)) - cost, "estimated") for i in report.support
    }
    return {
        "fun": report.residuals,
        "jac": report.jacobian / slope,
        "covariance": covariance,
        "intervals": intervals,
        "alternatives": tuple(_alternative(other, form, variables) for other in report.others),
        "residual_table": tuple(_residual_table(report.residuals, algorithm, form)),
        "warnings": tuple(_warnings(report, intervals, variables)),
        "condition": report.condition,
        "effects": effects,
    }


def _intervals(
    report: FitReport, variables: Variables, z: Vector, x: Vector
) -> tuple[Interval, ...]:
    """Return intervals that are symmetric in z: on a logarithmic scale, a factor to either side."""
    errors = np.sqrt(report.covariance.diagonal())
    on = report.support
    low, high = z.copy(), z.copy()
    low[on] -= report.quantile * errors
    high[on] += report.quantile * errors
    slope = variables.derivative(z)
    x_low, x_high = variables.to_x(low), variables.to_x(high)
    return tuple(
        Interval(
            variables.labels[i],
            float(x[i]),
            float(error * slope[i]),
            float(x_low[i]),
            float(x_high[i]),
        )
        for i, error in zip(on.tolist(), errors, strict=True)
    )


def _alternative(other: OtherSupport, form: OutputForm, variables: Variables) -> Alternative:
    x = variables.to_x(other.z)
    return Alternative(
        x=x,
        names=tuple(variables.labels[i] for i in variables.changed(x)),
        cost=0.5 * other.misfit,
        model_error=other.model_error,
        output=form.label(other.output),
        difference=other.difference,
    )


def _residual_table(
    residuals: Vector, algorithm: Calibration, form: OutputForm
) -> list[OutputResidual]:
    m = residuals.size
    observed = np.zeros(m) if algorithm.observed is None else algorithm.observed
    sigma = np.ones(m) if algorithm.sigma is None else np.broadcast_to(algorithm.sigma, (m,))
    values = residuals * sigma + observed
    return [
        OutputResidual(
            form.label(i),
            float(values[i]),
            float(observed[i]),
            float(sigma[i]),
            float(residuals[i]),
        )
        for i in range(m)
    ]


def _warnings(
    report: FitReport, intervals: tuple[Interval, ...], variables: Variables
) -> list[str]:
    """Say what the data do not identify."""
    told = []
    if report.condition > ILL_CONDITIONED:
        told.append(
            f"the changed variables are hard to tell apart (condition number "
            f"{report.condition:.2g}): a combination of them is hardly determined."
        )
    vague = [
        entry.name
        for entry, i in zip(intervals, report.support.tolist(), strict=True)
        if entry.low <= variables.nominal[i] <= entry.high
    ]
    if vague:
        told.append(
            f"the data do not say whether {', '.join(vague)} must change: the interval contains "
            "the nominal value."
        )
    if report.others:
        told.append(
            f"other supports that explain the data as well as the answer does, within the noise: "
            f"{len(report.others)}; see `alternatives`."
        )
    if report.is_poor:
        told.append(
            "the misfit is more than `sigma` explains: the function cannot fit the data by these "
            "changes, or `sigma` is too small; try a larger `k` or a robust `loss`."
        )
    return told
