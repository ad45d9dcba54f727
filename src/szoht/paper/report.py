"""The report: verdicts, figures and curves of finished experiments, as one page and as files."""

import csv
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from szoht._version import __version__
from szoht.paper.claims import Judged, Verdict
from szoht.paper.experiment import Curve, Drawing, Experiment
from szoht.reporting.drawing import inline_svg, save_figure
from szoht.reporting.page import Badge, Grid, Link, Page, Picture, Section

__all__ = ["Outcome", "machine", "summary", "write_report"]

TONES = {
    Verdict.HOLDS: "good",
    Verdict.DIFFERS: "odd",
    Verdict.FAILS: "bad",
    Verdict.OPEN: "plain",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An experiment after it was run: its curves, its figures, its claims judged."""

    experiment: Experiment
    curves: Sequence[Curve] = ()
    drawings: Mapping[str, Drawing] = field(default_factory=dict)
    judged: Sequence[Judged] = ()
    problems: Sequence[str] = ()


def write_report(outcomes: Sequence[Outcome], folder: Path, *, quick: bool, seconds: float) -> Path:
    """Write ``report.html``, every curve as CSV, every figure as SVG and PNG; return the page."""
    for outcome in outcomes:
        _write_files(outcome, folder)
    kind = "Quick run: smaller settings, verdicts are indicative." if quick else "Full run."
    lead = f"Zeroth-Order Hard-Thresholding: Gradient Error vs. Expansivity (NeurIPS 2022). {kind}"
    sections = [
        Section(
            anchor="verdicts",
            title="Verdicts",
            text=[summary(outcomes), _LEGEND],
            parts=[_claims([j for o in outcomes for j in o.judged], linked=True)],
        ),
        *(_section(outcome) for outcome in outcomes),
        Section(anchor="run", title="This run", parts=[_facts(outcomes, seconds, quick)]),
    ]
    page = Page(title="The paper's experiments, claim by claim", lead=lead, sections=sections)
    path = folder / "report.html"
    path.write_text(page.html(), encoding="utf-8")
    return path


_LEGEND = (
    "A claim holds if the measured value meets the target within its tolerance. It differs if it "
    "does not, and misses as a known reason says it must. Otherwise it fails. Targets, tolerances "
    "and reasons are those of claims.toml; every measured value is computed from the curves below."
)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return how many claims hold, differ, fail or were not judged."""
    counts = Counter(judged.verdict for outcome in outcomes for judged in outcome.judged)
    words = {Verdict.HOLDS: "hold", Verdict.DIFFERS: "differ", Verdict.FAILS: "fail"}
    listed = [f"{counts[kind]} {words.get(kind, kind)}" for kind in Verdict]
    return f"{sum(counts.values())} claims: {', '.join(listed)}."


def _section(outcome: Outcome) -> Section:
    name = outcome.experiment.name
    pictures = [
        Picture(svg=inline_svg(drawing.figure, f"{name}-{key}", key), caption=drawing.caption)
        for key, drawing in outcome.drawings.items()
    ]
    parts: list[Grid | Picture] = [*pictures]
    if outcome.judged:
        parts.append(_claims(outcome.judged))
    if outcome.curves:
        parts.append(_curves(outcome))
    problems = [f"Not run: {problem}" for problem in outcome.problems]
    text = [f"{outcome.experiment.where}. {outcome.experiment.about}", *problems]
    return Section(anchor=name, title=outcome.experiment.title, text=text, parts=parts)


def _claims(judged: Sequence[Judged], *, linked: bool = False) -> Grid:
    head = ["claim", "where", "target", "measured", "verdict", "reason"]
    rows: list[list[object]] = []
    for one in judged:
        claim = one.claim
        text = "" if one.measured is None else one.measured.text
        word = f"{one.verdict} (quick)" if one.quick and one.measured else str(one.verdict)
        badge = Badge(word, TONES[one.verdict])
        statement: object = (
            Link(claim.statement, f"#{claim.experiment}") if linked else (claim.statement)
        )
        wanted = claim.wanted(quick=one.quick)
        rows.append([statement, claim.where, wanted, text, badge, one.reason])
    return Grid(head=head, rows=rows, caption="Claims")


def _curves(outcome: Outcome) -> Grid:
    rows = [
        [
            Link(curve.job.curve, str(_csv(curve.job.experiment, curve))),
            curve.job.seed,
            "; ".join(f"{name} {value}" for name, value in curve.job.settings.items()),
            round(curve.seconds, 2),
            " ".join(curve.notes),
        ]
        for curve in outcome.curves
    ]
    head = ["curve", "seed", "settings", "CPU seconds", "notes"]
    return Grid(head=head, rows=rows, caption=f"{len(rows)} curves", folded=True)


def _facts(outcomes: Sequence[Outcome], seconds: float, quick: bool) -> Grid:
    seeds = sorted({curve.job.seed for outcome in outcomes for curve in outcome.curves})
    cpu = sum(curve.seconds for outcome in outcomes for curve in outcome.curves)
    facts = {
        **machine(),
        "scale": "quick" if quick else "full",
        "seeds": ", ".join(map(str, seeds)),
        "CPU seconds of the curves": f"{cpu:.0f}",
        "wall time of this run, seconds": f"{seconds:.0f}",
    }
    return Grid(head=["fact", "value"], rows=list(facts.items()))


def machine() -> dict[str, str]:
    """Return what the numbers were computed with.

    >>> list(machine())[:2]
    ['szoht', 'Python']
    """
    versions = {
        name: metadata.version(name) for name in ("numpy", "scipy", "matplotlib") if _has(name)
    }
    return {
        "szoht": __version__,
        "Python": platform.python_version(),
        **versions,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(os.cpu_count()),
        "byte order": sys.byteorder,
    }


def _has(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _csv(experiment: str, curve: Curve) -> Path:
    name = "".join(c if c.isalnum() or c in "-_.=" else "_" for c in curve.job.curve)
    return Path("curves") / experiment / f"{name}-seed{curve.job.seed}.csv"


def _write_files(outcome: Outcome, folder: Path) -> None:
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for key, drawing in outcome.drawings.items():
        for ending in ("svg", "png"):
            save_figure(drawing.figure, pictures / f"{outcome.experiment.name}-{key}.{ending}")
    for curve in outcome.curves:
        path = folder / _csv(outcome.experiment.name, curve)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(curve.table)
            writer.writerows(_rows(curve))


def _rows(curve: Curve) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in curve.table.values()), strict=True)
