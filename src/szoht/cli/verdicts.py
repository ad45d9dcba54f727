"""Experiments and verdicts in the terminal: statements in full, wrapped to its width."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from szoht.paper.claims import ClaimResult, Verdict, Whose, read_claims
from szoht.paper.experiment import Experiment, Scale
from szoht.paper.experiment_result import ExperimentResult, summary
from szoht.reporting.text import format_seconds

__all__ = ["print_experiments", "print_verdicts"]

STYLES = {
    Verdict.HOLDS: "green",
    Verdict.DIFFERS: "yellow",
    Verdict.FAILS: "bold red",
    Verdict.SKIPPED: "dim",
}


def print_experiments(console: Console, experiments: Sequence[Experiment]) -> None:
    """Print for each experiment what it is, its claims, its time, and whether its data is here."""
    claims = read_claims()
    for experiment in experiments:
        own = [claim for claim in claims if claim.experiment == experiment.name]
        missing = experiment.why_unavailable()
        quick, full = (
            format_seconds(sum(job.cost for job in experiment.jobs(Scale(quick=size))))
            for size in (True, False)
        )
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        data = experiment.data or "None needed."
        lists = [
            f"{sum(claim.whose == whose for claim in own)} {name}"
            for whose, name in (
                (Whose.PAPER, "of the paper"),
                (Whose.LIBRARY, "of the library"),
                (Whose.CHECK, "checks"),
            )
        ]
        table.add_row("where", Text(experiment.where))
        table.add_row("claims", Text(f"{len(own)}: {', '.join(lists)}"))
        table.add_row("time", Text(f"{quick} with --quick, {full} in full, of one core"))
        here = f"Not here: {missing.splitlines()[0]}" if missing else "All here."
        table.add_row("data", Text(f"{data} {here}" if experiment.data else data))
        console.print(Text(f"{experiment.name}: ", style="bold").append(experiment.title))
        console.print(Padding(table, (0, 0, 1, 2)))


def print_verdicts(console: Console, experiment_results: Sequence[ExperimentResult]) -> None:
    """Print the claims by experiment, those that fail marked, then the counts of three lists."""
    for result in experiment_results:
        console.print(Text(result.experiment.title, style="bold"))
        for error in result.errors:
            console.print(Text(f"  not run: {error}", style="dim"))
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for one in result.claim_results:
            mark = "✗ " if one.verdict is Verdict.FAILS else "  "
            word = Text(f"{mark}{one.verdict}", style=STYLES[one.verdict])
            table.add_row(word, _statement(one))
        console.print(table)
        console.print()
    for line in summary([one for result in experiment_results for one in result.claim_results]):
        console.print(Text(line))


def _statement(one: ClaimResult) -> Text:
    """Return a claim as two sentences: what is claimed, and what was measured."""
    claim = one.claim
    column = f" [{claim.column}]" if claim.column else ""
    text = Text(f"{claim.statement}{column}")
    target = claim.format_target(quick=one.quick)
    measured = "" if one.measured is None else f"; measured {one.measured.text}"
    text.append(f"\ntarget {target}{measured}", style="dim")
    if one.remarks:
        text.append(f"\n{one.remarks}", style="italic dim")
    return text
