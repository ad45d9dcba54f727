"""Tables of claims for the page: those that fail, and those of an experiment in three lists."""

from collections.abc import Sequence

from szoht.paper.claims import ClaimResult, Verdict, Whose
from szoht.reporting.cells import Badge, Link
from szoht.reporting.page import HtmlTable

__all__ = ["claim_tables", "failure_table"]

BADGE_STYLES = {
    Verdict.HOLDS: "good",
    Verdict.DIFFERS: "warning",
    Verdict.FAILS: "bad",
    Verdict.SKIPPED: "plain",
}


def failure_table(claim_results: Sequence[ClaimResult]) -> HtmlTable | None:
    """Return the claims that fail, with what was measured and why; None if there are none."""
    rows: list[list[object]] = [
        [
            Link(one.claim.statement, f"#{one.claim.experiment}"),
            Whose(one.claim.whose).heading,
            _target(one),
            "" if one.measured is None else one.measured.text,
            one.remarks or "No reason is known.",
        ]
        for one in claim_results
        if one.verdict is Verdict.FAILS
    ]
    header = ["claim", "list", "target", "measured", "why"]
    return HtmlTable(header=header, rows=rows) if rows else None


def claim_tables(claim_results: Sequence[ClaimResult]) -> list[HtmlTable]:
    """Return the claims of an experiment: a table for each list."""
    lists = {whose: [one for one in claim_results if one.claim.whose == whose] for whose in Whose}
    return [_table(whose, found) for whose, found in lists.items() if found]


def _table(whose: Whose, claim_results: Sequence[ClaimResult]) -> HtmlTable:
    with_columns = any(one.claim.column for one in claim_results)
    header = ["verdict", "claim", "where", *(["settings"] if with_columns else [])]
    header += ["target", "measured", "remarks"]
    rows: list[list[object]] = []
    for one in claim_results:
        word = f"{one.verdict} (quick)" if one.quick and one.measured else str(one.verdict)
        row: list[object] = [Badge(word, BADGE_STYLES[one.verdict])]
        row += [one.claim.statement, one.claim.where]
        if with_columns:
            row.append(one.claim.column or "")
        measured = "" if one.measured is None else one.measured.text
        rows.append([*row, _target(one), measured, one.remarks])
    return HtmlTable(header=header, rows=rows, caption=whose.heading)


def _target(one: ClaimResult) -> str:
    return one.claim.format_target(quick=one.quick)
