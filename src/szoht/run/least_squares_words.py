"""What is said about a fit: what its ending rests on, and what to doubt."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from szoht.algorithms.calibration.claims import AnswerClaim
from szoht.algorithms.calibration.report import FitReport
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.core.variables import Variables
from szoht.result import Result, Status
from szoht.run.least_squares_result import Interval
from szoht.run.outputs import OutputForm
from szoht.types import Vector

__all__ = ["describe_claim", "doubts", "missing_outputs", "sigma_doubts"]

LISTED_NAMES = 5

ILL_CONDITIONED = 1e4
"""Beyond this condition number, some combination of the changes has errors a hundred times those
of the best known one."""

UNTESTABLE = (
    "Without `sigma` and a linear `loss`, nothing tells whether residuals other than zero are "
    "explained."
)
CONTRADICTED = "The misfit is far less than `sigma` says, which then tells nothing; see `warnings`."
INDISTINCT = "Fresh noise is too large for other variables to be compared with these."

JUDGED = (Status.CONVERGED, Status.EXHAUSTED, Status.NO_PROGRESS)
"""Endings that rest on what was tested at the answer."""


def describe_claim(result: Result, claim: AnswerClaim, variables: Variables) -> str:
    """Return the message of a result, and what was tested at the answer or was not."""
    waits = claim.testable and claim.explained and claim.unmeasured.size > 0
    if result.status in JUDGED or (result.status is Status.QUERIES and waits):
        return f"{result.message} {_tested(claim, variables)}"
    return result.message


def _tested(claim: AnswerClaim, variables: Variables) -> str:
    """Say what the claim of a success rests on, or the first thing that it lacks."""
    reasons = (
        (not claim.testable and claim.exact, "The residuals are zero: nothing fits better."),
        (not claim.testable and claim.explained, "Fresh noise explains the residuals."),
        (not claim.testable, UNTESTABLE),
        (not claim.explained, "The misfit is more than `sigma` explains."),
        (not claim.believed and not claim.exact, CONTRADICTED),
        (not claim.told, INDISTINCT),
    )
    for applies, reason in reasons:
        if applies:
            return reason
    if claim.unmeasured.size:
        return (
            "`sigma` explains the residuals, but no success is claimed: at the answer, the columns "
            f"of {_listed(variables.labels[i] for i in claim.unmeasured)} were not measured."
        )
    return (
        "`sigma` explains the residuals, and the columns of all variables were measured at the "
        "answer: no other support that they promise is better."
    )


def missing_outputs(
    search: CalibrationSearch, observed: Vector | None, form: OutputForm
) -> Iterator[str]:
    """Name the outputs that have measurements and were missing in every simulation."""
    wanted = np.ones(search.seen.size, dtype=bool) if observed is None else np.isfinite(observed)
    never = np.flatnonzero(wanted & ~search.seen)
    if never.size:
        names = _listed(form.label(int(i)) for i in never)
        yield (
            f"{names}: missing (NaN) in all {search.spent} simulations, and left out of the fit, "
            f"which has {int(search.seen.sum())} of {search.seen.size} outputs."
        )


def sigma_doubts(report: FitReport, sigma: Vector | None) -> Iterator[str]:
    """Say whether the reduced chi-square contradicts ``sigma``, and which one would fit."""
    found = report.goodness
    if found is None or sigma is None or not found.is_far:
        return
    factor = math.sqrt(found.value)
    fitting = f"`sigma` {factor:.2g} times as large"
    if (sigma == sigma.flat[0]).all():
        fitting = f"`sigma` = {factor * sigma.flat[0]:.3g}, {factor:.2g} times as large,"
    figures = (
        f"reduced chi-square {found.value:.3g}, with 99.9 % probability between {found.low:.2f} "
        f"and {found.high:.2f} if `sigma` is right"
    )
    if found.value < found.low:
        yield (
            f"the misfit is far less than `sigma` says ({figures}): {fitting} would fit; or so "
            "many changes fit the errors, and a smaller `k` does."
        )
    else:
        yield (
            f"the misfit is more than `sigma` explains ({figures}): {fitting} would fit; or the "
            "function cannot fit the data by these changes: try a larger `k` or a robust `loss`."
        )


def doubts(
    report: FitReport, intervals: tuple[Interval, ...], variables: Variables
) -> Iterator[str]:
    """Say what the data do not identify."""
    if report.condition > ILL_CONDITIONED:
        yield (
            f"the changed variables are hard to tell apart (condition number "
            f"{report.condition:.2g}): a combination of them is hardly determined."
        )
    vague = [
        entry.name
        for entry, i in zip(intervals, report.support.tolist(), strict=True)
        if entry.low <= variables.nominal[i] <= entry.high
    ]
    if vague:
        yield (
            f"the data do not say whether {', '.join(vague)} must change: the interval contains "
            "the nominal value."
        )
    if intervals and not report.jacobian_is_measured:
        yield (
            "the Jacobian was not measured at the answer: the intervals rest on one that was "
            "learned from probes elsewhere."
        )
    yield from _other_variables(report, variables)


def _other_variables(report: FitReport, variables: Variables) -> Iterator[str]:
    if report.others:
        yield (
            f"other supports that are expected to explain the data as well, within the noise: "
            f"{len(report.others)}; see `alternatives`."
        )
    if report.demanded is not None and not report.is_poor:
        variable, gain = report.demanded
        yield (
            f"one more change, of {variables.labels[variable]}, would lower the cost by "
            f"{0.5 * gain:.3g}, more than noise does: try a larger `k`; other variables than these "
            "may be the right ones."
        )


def _listed(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    more = len(every) - LISTED_NAMES
    return ", ".join(every[:LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")
