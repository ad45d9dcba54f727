"""From a run of `Calibration` to what `least_squares` returns about its answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from szoht.algorithms.calibration.report import FitReport, OtherSupport, describe_fit
from szoht.algorithms.calibration.solver import Calibration
from szoht.core.algorithm import PathPoint
from szoht.core.interrupts import attach, attached
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
from szoht.run.least_squares_words import describe_claim, doubts, missing_outputs, sigma_doubts
from szoht.run.outputs import OutputForm
from szoht.types import Vector

__all__ = ["as_least_squares", "carrying", "check_level", "with_answer", "with_fit"]


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
    known = _empty() if report is None else _known(report, algorithm, variables, result)
    return LeastSquaresResult(
        x=result.x,
        cost=result.fun,
        nfev=result.nfev,
        nit=result.nit,
        success=result.success,
        status=result.status,
        variables=variables,
        level=level,
        counts=result.counts,
        seconds=result.seconds,
        seed=result.seed,
        method=result.method,
        history=result.history,
        explain=result.explain,
        path=with_answer(result, run.state.knee),
        evidence=result.evidence,
        failure=result.failure,
        faults=result.faults,
        run=result.run,
        **({"message": result.message, "warnings": result.warnings} | known),
    )


def with_answer(result: Result, chosen: int | None) -> tuple[PathPoint, ...]:
    """Return the path with the answer as the point of the number of changes that is believed."""
    return tuple(
        point._replace(x=result.x, fun=result.fun) if point.k == chosen else point
        for point in result.path
    )


@contextmanager
def carrying(describe: Callable[[Result], Any]) -> Iterator[None]:
    """Let what interrupts a run carry what is said about its result."""
    try:
        yield
    except BaseException as stop:
        result = attached(stop)
        if isinstance(result, Result):
            attach(stop, describe(result))
        raise


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
        "condition": 1.0,
        "unmeasured": np.empty(0, dtype=np.intp),
    }


def _known(
    report: FitReport, algorithm: Calibration, variables: Variables, result: Result
) -> dict[str, Any]:
    z = report.search.domain.to_z(report.visit.point)
    slope = variables.derivative(z)[report.support]
    covariance = report.covariance * np.outer(slope, slope)
    intervals = _intervals(report, variables, z, result.x)
    form = OutputForm(n_outputs=report.residuals.size, names=algorithm.output_names)
    return {
        "fun": report.residuals,
        "jac": report.jacobian / slope,
        "covariance": covariance,
        "intervals": intervals,
        "alternatives": tuple(_alternative(other, form, variables) for other in report.others),
        "residual_table": tuple(_residual_table(report.residuals, algorithm, form)),
        "warnings": (
            *result.warnings,
            *missing_outputs(report.search, algorithm.observed, form),
            *sigma_doubts(report, algorithm.sigma),
            *doubts(report, intervals, variables),
        ),
        "message": describe_claim(result, report.claim, variables),
        "condition": report.condition,
        "unmeasured": report.claim.unmeasured,
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
