"""From a run of `Calibration` to what `least_squares` returns about its answer."""

from dataclasses import replace
from typing import Any

import numpy as np

from szoht.algorithms.calibration.report import FitReport, OtherSupport, describe_fit
from szoht.algorithms.calibration.solver import Calibration
from szoht.core.changes import Effect
from szoht.core.validation import check_real
from szoht.core.variables import Variables
from szoht.errors import ParameterError
from szoht.result import Result
from szoht.run.ask_tell import AskTell
from szoht.run.least_squares_result import (
    Alternative,
    Interval,
    LeastSquaresResult,
    OutputResidual,
)
from szoht.run.outputs import OutputForm
from szoht.types import Vector

__all__ = ["as_least_squares", "check_level", "with_fit"]

ILL_CONDITIONED = 1e4
"""Beyond this condition number, some combination of the changes has errors a hundred times those
of the best known one."""


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
    if report.demanded is not None and not report.is_poor:
        variable, gain = report.demanded
        told.append(
            f"one more change, of {variables.labels[variable]}, would lower the cost by "
            f"{0.5 * gain:.3g}, more than noise does: try a larger `k`; other variables than these "
            "may be the right ones."
        )
    if report.is_poor:
        told.append(
            "the misfit is more than `sigma` explains: the function cannot fit the data by these "
            "changes, or `sigma` is too small; try a larger `k` or a robust `loss`."
        )
    return told
