"""The record of verdicts: what full runs measured, claim by claim, with commit and date.

`reproduce` writes it beside the report of a full run, and the one of the latest full runs is
distributed with the library; docs/paper.md is generated from it. No line of it is typed by hand.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from szoht.core.json_text import read_json
from szoht.paper.claims import Verdict
from szoht.paper.experiment_result import ExperimentResult
from szoht.paper.provenance import commit

__all__ = ["VERDICTS_FILE", "merge_verdicts", "read_verdicts", "record_verdicts"]

VERDICTS_FILE = "verdicts.json"

Record = dict[str, dict[str, Any]]
"""By experiment: commit, date, CPU seconds, curves, seeds, and the claims by id."""


def record_verdicts(experiment_results: Sequence[ExperimentResult], path: Path) -> None:
    """Write what was measured, and keep what is recorded there of everything else.

    Experiments that could not be run, and claims that were skipped, are not recorded: a run of one
    data set keeps the verdicts on the others.
    """
    before: Record = read_json(path) if path.exists() else {}
    found = {
        result.experiment.name: _entry(result) for result in experiment_results if result.curves
    }
    for name, entry in found.items():
        entry["claims"] = before.get(name, {}).get("claims", {}) | entry["claims"]
    if found:
        _write(path, before | found)


def read_verdicts() -> Record:
    """Return the record that is distributed with the library."""
    text = (resources.files("szoht.paper") / VERDICTS_FILE).read_text("utf-8")
    found: Record = json.loads(text)
    return found


def merge_verdicts(paths: Sequence[Path], into: Path) -> None:
    """Add records, such as those of other folders, to one; of an experiment, the last counts."""
    merged: Record = read_json(into) if into.exists() else {}
    for path in paths:
        merged |= read_json(path)
    _write(into, merged)


def _entry(result: ExperimentResult) -> dict[str, Any]:
    return {
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "cpu_seconds": round(result.cpu_seconds),
        "curves": len(result.curves),
        "claims": {
            one.claim.id: {
                "verdict": str(one.verdict),
                "target": one.claim.format_target(quick=False),
                "measured": one.measured.text,
            }
            for one in result.claim_results
            if one.verdict is not Verdict.SKIPPED and one.measured is not None
        },
    }


def _write(path: Path, record: Mapping[str, Any]) -> None:
    text = json.dumps(dict(sorted(record.items())), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
