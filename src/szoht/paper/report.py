"""The report: thumbnails, failures, then figure by figure; one page, and files beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from szoht import theory
from szoht.core.csv_text import write_csv
from szoht.paper.claim_tables import claim_tables, failure_table
from szoht.paper.experiment import Curve, Plot
from szoht.paper.experiment_result import ExperimentResult, summary
from szoht.paper.gallery import make_gallery
from szoht.paper.provenance import commit, machine
from szoht.paper.settings_table import settings_table
from szoht.reporting.cells import Link
from szoht.reporting.figures import inline_svg, save_figure
from szoht.reporting.page import Gallery, HtmlFigure, HtmlTable, Page, Section
from szoht.reporting.text import format_count, format_seconds

__all__ = ["write_report"]


def write_report(
    experiment_results: Sequence[ExperimentResult], folder: Path, *, quick: bool, seconds: float
) -> Path:
    """Write ``report.html``, every curve as CSV, every figure as SVG and PNG; return the page."""
    for result in experiment_results:
        _write_files(result, folder)
    kind = "Quick run: smaller settings, verdicts are indicative." if quick else "Full run."
    page = Page(
        title="The paper's experiments, claim by claim",
        subtitle=(
            f"Zeroth-Order Hard-Thresholding: Gradient Error vs. Expansivity (NeurIPS 2022). {kind}"
        ),
        sections=[
            _overview(experiment_results),
            *_failures(experiment_results),
            *(_section(result) for result in experiment_results),
            _complexities(),
        ],
        footer=_footer(experiment_results, seconds),
    )
    path = folder / "report.html"
    path.write_text(page.html(), encoding="utf-8")
    return path


_LEGEND = (
    "Green: all claims of the paper hold. Yellow: some differ for a reason that is known and that "
    "predicts the value. Red: some fail. Grey: not run."
)


def _overview(experiment_results: Sequence[ExperimentResult]) -> Section:
    claims = [one for result in experiment_results for one in result.claim_results]
    return Section(
        anchor="overview",
        title="Overview",
        text=[*summary(claims), _LEGEND],
        content=[make_gallery(experiment_results)],
    )


def _failures(experiment_results: Sequence[ExperimentResult]) -> list[Section]:
    table = failure_table([one for result in experiment_results for one in result.claim_results])
    errors = [
        f"{result.experiment.title}, not run: {error}"
        for result in experiment_results
        for error in result.errors
    ]
    if table is None and not errors:
        return []
    text = ["Neither the target nor a known deviation was met.", *errors] if table else errors
    return [
        Section(
            anchor="failures",
            title="What fails, and why" if table else "What was not run",
            text=text,
            content=[table] if table else [],
        )
    ]


def _section(result: ExperimentResult) -> Section:
    experiment = result.experiment
    content: list[HtmlTable | HtmlFigure | Gallery] = [
        _figure(f"{experiment.name}-{key}", key, plot) for key, plot in result.plots.items()
    ]
    content += [*result.tables, *claim_tables(result.claim_results)]
    if result.curves:
        content += [settings_table(result), _curves(result)]
    text = [
        f"{experiment.where}. {experiment.description}",
        *summary(result.claim_results),
        *(f"Not run: {error}" for error in result.errors),
    ]
    if result.curves:
        count = format_count(len(result.curves), "curve")
        text.append(f"{count}, {format_seconds(result.cpu_seconds)} of processor time.")
    return Section(anchor=experiment.name, title=experiment.title, text=text, content=content)


def _figure(name: str, description: str, plot: Plot) -> HtmlFigure:
    beside = "" if plot.paper is None else inline_svg(plot.paper, f"{name}-paper", "the paper")
    return HtmlFigure(
        svg=inline_svg(plot.figure, name, description), caption=plot.caption, beside=beside
    )


def _curves(result: ExperimentResult) -> HtmlTable:
    rows = [
        [
            Link(curve.job.curve, _csv_path(curve.job.experiment, curve).as_posix()),
            curve.job.seed,
            round(curve.seconds, 2),
            " ".join(curve.warnings),
        ]
        for curve in result.curves
    ]
    header = ["curve", "seed", "CPU seconds", "warnings"]
    caption = f"{format_count(len(rows), 'curve')} as CSV"
    return HtmlTable(header=header, rows=rows, caption=caption, collapsed=True)


TABLE_1 = ("method", "kind", "assumptions", "queries", "thresholdings", "precision", "remark")
"""The columns that are shown of `szoht.theory.complexity_table`."""


def _complexities() -> Section:
    """Return Table 1 of the paper."""
    rows = [
        [", ".join(value) if isinstance(value, tuple) else value for value in columns]
        for columns in (
            [getattr(row, name) for name in TABLE_1] for row in theory.complexity_table()
        )
    ]
    text = (
        "szoht.theory.complexity_table() returns it, and szoht theory --table prints it. The "
        "precision means different things in its rows: they cannot be ranked by it."
    )
    content = [HtmlTable(header=TABLE_1, rows=rows)]
    return Section(anchor="table-1", title="Table 1: complexities", text=[text], content=content)


def _footer(experiment_results: Sequence[ExperimentResult], seconds: float) -> list[str]:
    cpu = sum(result.cpu_seconds for result in experiment_results)
    facts = "; ".join(f"{name} {value}" for name, value in machine().items())
    return [
        f"Commit {commit()}.",
        f"{facts}.",
        f"Processor time of the curves {format_seconds(cpu)}, wall time of this run "
        f"{format_seconds(seconds)}; curves in the cache are not computed again.",
    ]


def _csv_path(experiment: str, curve: Curve) -> Path:
    name = "".join(c if c.isalnum() or c in "-_.=" else "_" for c in curve.job.curve)
    return Path("curves") / experiment / f"{name}-seed{curve.job.seed}.csv"


def _write_files(result: ExperimentResult, folder: Path) -> None:
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for key, plot in result.plots.items():
        for suffix in ("svg", "png"):
            save_figure(plot.figure, figures / f"{result.experiment.name}-{key}.{suffix}")
    for curve in result.curves:
        path = folder / _csv_path(result.experiment.name, curve)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_csv(curve.table, _rows(curve)), encoding="utf-8")


def _rows(curve: Curve) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in curve.table.values()), strict=True)
