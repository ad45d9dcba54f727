"""The answer of `least_squares` in words: changes with intervals, other supports, residuals."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from szoht.core.changes import Change
from szoht.core.csv_text import write_csv
from szoht.reporting.text import format_table
from szoht.run.least_squares_result import Alternative, Interval, LeastSquaresResult, OutputResidual

__all__ = [
    "changes_to_csv",
    "changes_with_intervals",
    "describe_fit_tables",
    "fit_to_json",
    "path_rows",
    "residuals_to_csv",
    "worst_residuals",
]

SHOWN_RESIDUALS = 5
SHOWN_ALTERNATIVES = 5

INTERVAL_COLUMNS = ("standard_error", "low", "high")


def describe_fit_tables(fit: LeastSquaresResult) -> str:
    """Return the changed variables, what else explains the data, and the largest residuals."""
    tables = (_changes_table, _path_table, _alternatives_table, _residuals_table)
    parts = [table(fit) for table in tables]
    return "\n\n".join(part for part in parts if part)


def changes_with_intervals(fit: LeastSquaresResult) -> list[tuple[Change, Interval | None]]:
    """Return the changed variables, each with its interval as far as that is known."""
    known = {entry.name: entry for entry in fit.intervals}
    return [(change, known.get(change.name)) for change in fit.changes]


def worst_residuals(fit: LeastSquaresResult) -> list[OutputResidual]:
    """Return the outputs that are not missing, those of largest residual first."""
    present = [row for row in fit.residual_table if math.isfinite(row.residual)]
    return sorted(present, key=lambda row: -abs(row.residual))


def path_rows(fit: LeastSquaresResult) -> list[tuple[int, float, str]]:
    """Return k, the cost and the changed variables of each answer on the path."""
    labels, changed = fit.variables.labels, fit.variables.changed
    return [
        (one.k, float(one.fun), ", ".join(labels[i] for i in changed(one.x))) for one in fit.path
    ]


def changes_to_csv(fit: LeastSquaresResult) -> str:
    """Return the changed variables with their intervals as comma-separated values."""
    rows = [asdict(change) | _interval(entry) for change, entry in changes_with_intervals(fit)]
    header = (*(entry.name for entry in fields(Change)), *INTERVAL_COLUMNS)
    return write_csv(header, (row.values() for row in rows))


def residuals_to_csv(fit: LeastSquaresResult) -> str:
    """Return value, observed value, sigma and residual of each output as a table."""
    return write_csv(OutputResidual._fields, fit.residual_table)


def fit_to_json(fit: LeastSquaresResult) -> dict[str, Any]:
    """Return an answer as JSON data; NaN, which JSON does not know, is None."""
    found: dict[str, Any] = {
        "d": int(fit.x.size),
        "support": fit.support.tolist(),
        "values": fit.x[fit.support].tolist(),
        "x": fit.x.tolist(),
        "cost": fit.cost,
        "nfev": fit.nfev,
        "nit": fit.nit,
        "success": fit.success,
        "status": fit.status.name,
        "message": fit.message,
        "seed": fit.seed,
        "method": fit.method,
        "level": fit.level,
        "changes": [asdict(one) | _interval(entry) for one, entry in changes_with_intervals(fit)],
        "covariance": fit.covariance.tolist(),
        "unmeasured": fit.unmeasured.tolist(),
        "alternatives": [_alternative(fit, other) for other in fit.alternatives],
        "path": [{"k": one.k, "cost": float(one.fun), "x": one.x.tolist()} for one in fit.path],
        "residuals": [row._asdict() for row in fit.residual_table],
        "warnings": list(fit.warnings),
        "explain": list(fit.explain),
        "failures": fit.counts.failures,
        "history": {
            name: np.asarray(column).tolist()
            for name, column in fit.history.items()
            if name not in ("entered", "left")
        },
    }
    if fit.run is not None:
        found["run"] = fit.run
    return {name: _without_nan(value) for name, value in found.items()}


def _alternative(fit: LeastSquaresResult, other: Alternative) -> dict[str, Any]:
    values = other.x[fit.variables.changed(other.x)].tolist()
    return {
        "values": dict(zip(other.names, values, strict=True)),
        "cost": float(other.cost),
        "model_error": float(other.model_error),
        "output": other.output,
        "difference": float(other.difference),
    }


def _changes_table(fit: LeastSquaresResult) -> str:
    if not len(fit.changes):
        return "nothing is changed"
    interval = f"{100 * fit.level:g} % interval (linearized, at this support)"
    header = ("name", "nominal", "value", interval, "bound", "cost")
    rows = [
        (
            change.name,
            f"{change.nominal:.6g}",
            f"{change.value:.6g}",
            "" if entry is None else f"{entry.low:.6g} to {entry.high:.6g}",
            change.bound,
            "" if math.isnan(change.effect) else f"{change.effect:+.4g} if put back",
        )
        for change, entry in changes_with_intervals(fit)
    ]
    return format_table([header, *rows])


def _path_table(fit: LeastSquaresResult) -> str:
    rows = [(str(k), f"{cost:.4g}", names) for k, cost, names in path_rows(fit)]
    return format_table([("k", "cost", "changed variables"), *rows]) if rows else ""


def _alternatives_table(fit: LeastSquaresResult) -> str:
    if not fit.alternatives:
        return ""
    header = ("others that may explain it as well", "expected cost", "output that would tell")
    rows = [
        (", ".join(other.names), f"{other.cost:.4g}", _telling(other.output, other.difference))
        for other in fit.alternatives[:SHOWN_ALTERNATIVES]
    ]
    return format_table([header, *rows])


def _telling(output: str, difference: float) -> str:
    return f"{output}, by {abs(difference):.2g} sigma"


def _residuals_table(fit: LeastSquaresResult) -> str:
    rows = [
        (
            row.name,
            f"{row.value:.6g}",
            f"{row.observed:.6g}",
            f"{row.sigma:.3g}",
            f"{row.residual:+.2f}",
        )
        for row in worst_residuals(fit)[:SHOWN_RESIDUALS]
    ]
    header = ("largest residuals", "value", "observed", "sigma", "residual / sigma")
    return format_table([header, *rows]) if rows else ""


def _interval(entry: Interval | None) -> dict[str, float]:
    return {name: math.nan if entry is None else getattr(entry, name) for name in INTERVAL_COLUMNS}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(entry) for name, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_nan(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
