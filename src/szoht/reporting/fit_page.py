"""The part of a run's page about a calibration: the fit, its errors, and what else explains it."""

from szoht.errors import MissingExtraError
from szoht.reporting.cells import Badge
from szoht.reporting.figures import inline_svg
from szoht.reporting.fit_figure import MARKED_RESIDUAL, fit_figure
from szoht.reporting.fit_report import changes_with_intervals, path_rows, worst_residuals
from szoht.reporting.page import HtmlFigure, HtmlTable, Section
from szoht.reporting.text import printable
from szoht.run.least_squares_result import LeastSquaresResult

__all__ = ["fit_sections"]

SHOWN_OUTPUTS = 2000
"""A page with more rows is slow."""


def fit_sections(fit: LeastSquaresResult) -> tuple[Section, ...]:
    """Return the sections: predicted against observed, intervals, other supports, residuals."""
    if not fit.residual_table:
        text = ("The start has not been simulated yet.",)
        return (Section(anchor="fit", title="Predicted against observed", text=text),)
    path = (_path(fit),) if fit.path else ()
    others = () if fit.evidence is None else (_alternatives(fit),)  # or nothing was compared
    return (_fit(fit), _intervals(fit), *path, *others, _residuals(fit))


def _fit(fit: LeastSquaresResult) -> Section:
    title = "Predicted against observed"
    try:
        svg = inline_svg(fit_figure(fit), "fit", "predicted against observed, and residuals")
    except MissingExtraError as error:
        return Section(anchor="fit", title=title, text=(str(error),))
    far = sum(abs(row.residual) > MARKED_RESIDUAL for row in worst_residuals(fit))
    caption = f"Outputs at the answer; {far} more than {MARKED_RESIDUAL:g} sigma off, in red."
    return Section(anchor="fit", title=title, content=(HtmlFigure(svg=svg, caption=caption),))


def _intervals(fit: LeastSquaresResult) -> Section:
    header = ("name", "nominal", "value", "standard error", "low", "high")
    rows = [
        (
            printable(change.name),
            change.nominal,
            change.value,
            *(("", "", "") if entry is None else (entry.standard_error, entry.low, entry.high)),
        )
        for change, entry in changes_with_intervals(fit)
    ]
    return Section(
        anchor="intervals",
        title=f"Intervals of {100 * fit.level:g} %",
        text=(
            "They are linearized at the answer, and hold at this support: if these variables are "
            "the right ones.",
            *(f"Warning: {printable(line)}" for line in fit.warnings),
        ),
        content=(HtmlTable(header=header, rows=rows),) if rows else (),
    )


def _path(fit: LeastSquaresResult) -> Section:
    rows = [(k, cost, printable(names)) for k, cost, names in path_rows(fit)]
    table = HtmlTable(header=("k", "cost", "changed variables"), rows=rows)
    text = ("The best answer for each number of changes.",)
    return Section(anchor="path", title="Path", text=text, content=(table,))


def _alternatives(fit: LeastSquaresResult) -> Section:
    title = "Other variables that may explain the data as well"
    measured = int(fit.variables.free.sum()) - fit.unmeasured.size
    tested = f"Compared were the {measured} variables whose columns were measured at the answer"
    if not fit.alternatives:
        text = (f"{tested}; none of them is expected to do so within the noise.",)
        return Section(anchor="alternatives", title=title, text=text)
    header = ("variables", "expected cost", "its error", "output that would tell", "by sigmas")
    rows = [
        (
            printable(", ".join(other.names)),
            float(other.cost),
            float(other.model_error),
            printable(other.output),
            float(abs(other.difference)),
        )
        for other in fit.alternatives
    ]
    text = (f"{tested}. Costs are expected from these, within the noise; not simulated.",)
    table = HtmlTable(header=header, rows=rows)
    return Section(anchor="alternatives", title=title, text=text, content=(table,))


def _residuals(fit: LeastSquaresResult) -> Section:
    worst = worst_residuals(fit)
    missing = len(fit.residual_table) - len(worst)
    text = [f"{missing} outputs are missing."] if missing else []
    if len(worst) > SHOWN_OUTPUTS:
        text.append(f"The {SHOWN_OUTPUTS:,} largest of {len(worst):,} are listed.")
    rows = [
        (
            printable(row.name),
            row.value,
            row.observed,
            row.sigma,
            row.residual,
            Badge("off", "bad") if abs(row.residual) > MARKED_RESIDUAL else "",
        )
        for row in worst[:SHOWN_OUTPUTS]
    ]
    header = ("output", "value", "observed", "sigma", "residual / sigma", "")
    table = HtmlTable(
        header=header, rows=rows, caption=f"{len(rows):,} outputs, the worst first", collapsed=True
    )
    return Section(anchor="residuals", title="Residuals", text=text, content=(table,))
