"""The settings of each curve beside the paper's, with the differences marked."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from szoht.paper.experiment_result import ExperimentResult
from szoht.reporting.cells import Badge
from szoht.reporting.page import HtmlTable

__all__ = ["settings_table"]


def settings_table(result: ExperimentResult) -> HtmlTable:
    """Return a row for each curve: seeds, and every setting with the paper's where it differs."""
    curves = _by_curve(result)
    names = list(dict.fromkeys(name for ours, _, _ in curves.values() for name in ours))
    rows: list[list[object]] = []
    different = 0
    for curve, (ours, stated, seeds) in curves.items():
        cells = [_cell(name, ours, stated) for name in names]
        different += sum(isinstance(cell, Badge) for cell in cells)
        rows.append([curve, seeds, *cells])
    known = any(stated for _, stated, _ in curves.values())
    caption = "Settings. "
    if not known:
        caption += "The paper states none for this figure."
    else:
        caption += (
            f"{different} differ from the paper's, which stand behind the sign ≠. "
            if different
            else "None differs from the paper's. "
        ) + "Those marked * are not stated in the paper."
    header = ["curve", "runs", *(name.replace("_", " ") for name in names)]
    return HtmlTable(header=header, rows=rows, caption=caption, collapsed=not different)


def _by_curve(
    result: ExperimentResult,
) -> dict[str, tuple[dict[str, Any], Mapping[str, Any], int]]:
    """Return for each curve the settings that its jobs share, the paper's, and their number."""
    found: dict[str, tuple[dict[str, Any], Mapping[str, Any], int]] = {}
    for curve in result.curves:
        ours = dict(_flat(curve.job.settings))
        stated = dict(_flat(result.experiment.stated_settings(curve.job.settings)))
        if curve.job.curve in found:
            before, _, count = found[curve.job.curve]
            shared = {name: ours[name] for name in before if ours.get(name) == before[name]}
            found[curve.job.curve] = shared, stated, count + 1
        else:
            found[curve.job.curve] = ours, stated, 1
    return found


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield settings, those inside nested mappings too."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


def _cell(name: str, ours: Mapping[str, Any], stated: Mapping[str, Any]) -> object:
    if name not in ours:
        return f"the paper: {_shown(stated[name])}" if name in stated else ""
    if name not in stated:
        return f"{_shown(ours[name])}{' *' if stated else ''}"
    if _same(ours[name], stated[name]):
        return _shown(ours[name])
    return Badge(f"{_shown(ours[name])} ≠ {_shown(stated[name])}", "warning")


def _same(ours: Any, stated: Any) -> bool:
    if isinstance(ours, int | float) and isinstance(stated, int | float):
        return math.isclose(ours, stated, rel_tol=1e-9)
    return bool(ours == stated)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)
