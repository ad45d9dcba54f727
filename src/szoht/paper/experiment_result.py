"""What a run of an experiment gave: curves, plots, tables, and its claims with their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from szoht.paper.claims import ClaimResult, Verdict, Whose, count_verdicts
from szoht.paper.experiment import Curve, Experiment, Plot
from szoht.reporting.page import HtmlTable

__all__ = ["ExperimentResult", "summary"]


@dataclass(frozen=True, kw_only=True)
class ExperimentResult:
    """An experiment with its curves, plots, tables and checked claims."""

    experiment: Experiment
    curves: Sequence[Curve] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)
    tables: Sequence[HtmlTable] = ()
    claim_results: Sequence[ClaimResult] = ()
    errors: Sequence[str] = ()

    @property
    def cpu_seconds(self) -> float:
        """What its curves took, in this run or in the one that left them in the cache."""
        return sum(curve.seconds for curve in self.curves)

    @property
    def light(self) -> str:
        """The style of its light, by the paper's claims that were measured.

        "good" if all hold, "warning" if some differ for a known reason, "bad" if some fail,
        "plain" if none was measured.
        """
        own = [one for one in self.claim_results if one.claim.whose == Whose.PAPER]
        found = {one.verdict for one in own or self.claim_results}
        styles = {Verdict.FAILS: "bad", Verdict.DIFFERS: "warning", Verdict.HOLDS: "good"}
        return next((style for kind, style in styles.items() if kind in found), "plain")


def summary(claim_results: Sequence[ClaimResult]) -> list[str]:
    """Return how many claims hold, differ, fail or were skipped: one line for each list.

    >>> summary([])
    []
    """
    verbs = {Verdict.HOLDS: "hold", Verdict.DIFFERS: "differ", Verdict.FAILS: "fail"}
    lines = []
    for whose, counts in count_verdicts(claim_results).items():
        parts = [f"{counts[kind]} {verbs.get(kind, kind)}" for kind in Verdict]
        lines.append(f"{whose.heading} ({counts.total()}): {', '.join(parts)}.")
    return lines
