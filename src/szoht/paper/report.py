"""The report: verdicts, figures and curves of the experiments, as one page and as files."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from szoht.core.csv_text import write_csv
from szoht.core.version import __version__
from szoht.paper.claims import ClaimResult, Verdict
from szoht.paper.experiment import Curve, Experiment, Plot
from szoht.reporting.figures import inline_svg, save_figure
from szoht.reporting.page import Badge, HtmlFigure, HtmlTable, Link, Page, Section

__all__ = ["ExperimentResult", "machine", "summary", "write_report"]

BADGE_STYLES = {
    Verdict.HOLDS: "good",
    Verdict.DIFFERS: "warning",
    Verdict.FAILS: "bad",
    Verdict.SKIPPED: "plain",
}


@dataclass(frozen=True, kw_only=True)
class ExperimentResult:
    """An experiment with its curves, plots and checked claims."""

    experiment: Experiment
    curves: Sequence[Curve] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)
    claim_results: Sequence[ClaimResult] = ()
    errors: Sequence[str] = ()


def write_report(
    experiment_results: Sequence[ExperimentResult], folder: Path, *, quick: bool, seconds: float
) -> Path:
    """Write ``report.html``, every curve as CSV, every figure as SVG and PNG; return the page."""
    for result in experiment_results:
        _write_files(result, folder)
    kind = "Quick run: smaller settings, verdicts are indicative." if quick else "Full run."
    subtitle = (
        f"Zeroth-Order Hard-Thresholding: Gradient Error vs. Expansivity (NeurIPS 2022). {kind}"
    )
    sections = [
        Section(
            anchor="verdicts",
            title="Verdicts",
            text=[summary(experiment_results), _LEGEND],
            content=[
                _claims([j for o in experiment_results for j in o.claim_results], linked=True)
            ],
        ),
        *(_section(result) for result in experiment_results),
        Section(
            anchor="run", title="This run", content=[_facts(experiment_results, seconds, quick)]
        ),
    ]
    page = Page(
        title="The paper's experiments, claim by claim", subtitle=subtitle, sections=sections
    )
    path = folder / "report.html"
    path.write_text(page.html(), encoding="utf-8")
    return path


_LEGEND = (
    "A claim holds if the measured value meets the target within its tolerance. It differs if it "
    "misses the target by an amount that a known deviation predicts. Otherwise it fails. Targets, "
    "tolerances and reasons come from a file beside each experiment; values are computed from the "
    "curves below."
)


def summary(experiment_results: Sequence[ExperimentResult]) -> str:
    """Return how many claims hold, differ, fail or were skipped."""
    counts = Counter(
        claim_results.verdict
        for result in experiment_results
        for claim_results in result.claim_results
    )
    verbs = {Verdict.HOLDS: "hold", Verdict.DIFFERS: "differ", Verdict.FAILS: "fail"}
    parts = [f"{counts[kind]} {verbs.get(kind, kind)}" for kind in Verdict]
    return f"{sum(counts.values())} claims: {', '.join(parts)}."


def _section(result: ExperimentResult) -> Section:
    name = result.experiment.name
    figures = [
        HtmlFigure(svg=inline_svg(plot.figure, f"{name}-{key}", key), caption=plot.caption)
        for key, plot in result.plots.items()
    ]
    content: list[HtmlTable | HtmlFigure] = [*figures]
    if result.claim_results:
        content.append(_claims(result.claim_results))
    if result.curves:
        content.append(_curves(result))
    errors = [f"Not run: {error}" for error in result.errors]
    text = [f"{result.experiment.where}. {result.experiment.description}", *errors]
    return Section(anchor=name, title=result.experiment.title, text=text, content=content)


def _claims(claim_results: Sequence[ClaimResult], *, linked: bool = False) -> HtmlTable:
    header = ["claim", "where", "target", "measured", "verdict", "reason"]
    rows: list[list[object]] = []
    for one in claim_results:
        claim = one.claim
        text = "" if one.measured is None else one.measured.text
        word = f"{one.verdict} (quick)" if one.quick and one.measured else str(one.verdict)
        badge = Badge(word, BADGE_STYLES[one.verdict])
        statement: object = (
            Link(claim.statement, f"#{claim.experiment}") if linked else (claim.statement)
        )
        target = claim.format_target(quick=one.quick)
        rows.append([statement, claim.where, target, text, badge, one.reason])
    return HtmlTable(header=header, rows=rows, caption="Claims")


def _curves(result: ExperimentResult) -> HtmlTable:
    rows = [
        [
            Link(curve.job.curve, str(_csv_path(curve.job.experiment, curve))),
            curve.job.seed,
            "; ".join(f"{name} {value}" for name, value in curve.job.settings.items()),
            round(curve.seconds, 2),
            " ".join(curve.warnings),
        ]
        for curve in result.curves
    ]
    header = ["curve", "seed", "settings", "CPU seconds", "warnings"]
    return HtmlTable(header=header, rows=rows, caption=f"{len(rows)} curves", collapsed=True)


def _facts(
    experiment_results: Sequence[ExperimentResult], seconds: float, quick: bool
) -> HtmlTable:
    seeds = sorted({curve.job.seed for result in experiment_results for curve in result.curves})
    cpu = sum(curve.seconds for result in experiment_results for curve in result.curves)
    facts = {
        **machine(),
        "scale": "quick" if quick else "full",
        "seeds": ", ".join(map(str, seeds)),
        "CPU seconds of the curves": f"{cpu:.0f}",
        "wall time of this run, seconds": f"{seconds:.0f}",
    }
    return HtmlTable(header=["fact", "value"], rows=list(facts.items()))


def machine() -> dict[str, str]:
    """Return the versions and hardware of this run.

    >>> list(machine())[:2]
    ['szoht', 'Python']
    """
    versions = {
        name: metadata.version(name)
        for name in ("numpy", "scipy", "matplotlib")
        if _is_installed(name)
    }
    return {
        "szoht": __version__,
        "Python": platform.python_version(),
        **versions,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(os.cpu_count()),
        "byte order": sys.byteorder,
    }


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


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
