"""Claims: read from the file beside each experiment, and compared with measurements.

A file ``experiments/NAME.toml`` is a list of tables ``[[claim]]`` with the fields of `Claim`.
Measured values are never written there.
"""

import enum
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from szoht.errors import ParameterError
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Measurement, Results
from szoht.paper.registry import experiment_names

__all__ = [
    "Claim",
    "ClaimResult",
    "Column",
    "KnownDeviation",
    "Verdict",
    "Whose",
    "count_verdicts",
    "evaluate_claim",
    "parse_claims",
    "read_claims",
]


class Whose(enum.StrEnum):
    """Who makes a claim: three lists that are counted apart.

    PAPER: the paper states it, in words or by a figure. LIBRARY: a goal of this library. CHECK: it
    holds by construction, or compares with a number that we computed ourselves.
    """

    PAPER = "paper"
    LIBRARY = "library"
    CHECK = "check"

    @property
    def heading(self) -> str:
        """The name of the list of these claims."""
        return {
            Whose.PAPER: "The paper's claims",
            Whose.LIBRARY: "The library's goals",
            Whose.CHECK: "Checks",
        }[self]


class Column(enum.StrEnum):
    """Which settings a claim judges, where an experiment has both."""

    STATED = "as in the paper"
    TUNED = "tuned fairly"


class Verdict(enum.StrEnum):
    """The result of comparing a measurement with a claim.

    A claim *differs* if it does not hold but the measured value is in the range that a known
    deviation predicts; the reason and the range are part of the claim. Otherwise it *fails*.
    """

    HOLDS = "holds"
    DIFFERS = "differs"
    FAILS = "fails"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class KnownDeviation:
    """A known reason for missing the target, and the values that it predicts."""

    reason: str
    low: float | None = None
    high: float | None = None
    value: Any = None

    def explains(self, measured: Measurement) -> bool:
        """Return whether the measured value is one that the reason predicts."""
        if self.low is None or self.high is None:
            return bool(measured.value == self.value)
        return self.low <= float(measured.value) <= self.high


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement and the rule by which it is checked.

    Parameters
    ----------
    id, experiment, statement, where : str
        What is claimed, and where in the paper.
    whose : Whose
        Who makes the claim.
    column : Column, optional
        Which settings it judges, where the experiment has both.
    measure, arguments
        The name of a measure of the experiment, and its keyword arguments.
    kind : str
        One of the keys of `RULES`: how ``target`` is compared.
    target : number, list or bool
        The paper's value.
    tolerance : float
        Half width of the accepted interval; only for the kind "band".
    quick : bool
        Whether a quick run can check it, with ``quick_tolerance`` if given.
    known_deviation : KnownDeviation
        A known reason for missing the target, with the values that it predicts.
    note : str
        Explanation that is shown with the claim, whether it holds or fails.
    """

    id: str
    experiment: str
    statement: str
    where: str
    whose: Whose
    measure: str
    kind: str
    target: Any
    column: Column | None = None
    tolerance: float = 0.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = True
    quick_tolerance: float | None = None
    known_deviation: KnownDeviation | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in RULES:
            raise ParameterError(f"`kind` must be one of {', '.join(RULES)}; got {self.kind!r}.")
        if self.whose not in set(Whose):
            raise ParameterError(f"`whose` must be one of {', '.join(Whose)}; got {self.whose!r}.")
        if self.column is not None and self.column not in set(Column):
            raise ParameterError(
                f"`column` must be one of {', '.join(Column)}; got {self.column!r}."
            )
        if self.known_deviation is not None and isinstance(self.known_deviation.value, bool):
            raise ParameterError(
                f"`known_deviation` must not explain every failure: the claim {self.id!r} could "
                "never fail. Put the reason into `note`."
            )

    def format_target(self, *, quick: bool) -> str:
        """Return the target as text."""
        target = _format(self.target)
        return {
            "band": f"{target} ± {self.tolerance_at(quick=quick):.3g}",
            "at most": f"≤ {target}",
            "at least": f"≥ {target}",
            "contains": f"interval contains {target}",
            "excludes": f"interval excludes {target}",
        }.get(self.kind, target)

    def tolerance_at(self, *, quick: bool) -> float:
        """Return the tolerance at this scale."""
        wider = quick and self.quick_tolerance is not None
        return float(self.quick_tolerance if wider else self.tolerance)  # type: ignore[arg-type]


def _contains(measured: Measurement, target: float) -> bool:
    if measured.low is None or measured.high is None:
        raise ParameterError('a claim of the kind "contains" or "excludes" needs an interval.')
    return measured.low <= target <= measured.high


RULES: Mapping[str, Callable[[Measurement, Any, float], bool]] = {
    "band": lambda measured, target, margin: abs(measured.value - target) <= margin,
    "at most": lambda measured, target, _: measured.value <= target,
    "at least": lambda measured, target, _: measured.value >= target,
    "equal": lambda measured, target, _: bool(measured.value == target),
    "contains": lambda measured, target, _: _contains(measured, target),
    "excludes": lambda measured, target, _: not _contains(measured, target),
}


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """A claim with its measurement and verdict.

    ``reason`` says why a claim differs or was skipped.
    """

    claim: Claim
    verdict: Verdict
    measured: Measurement | None = None
    reason: str = ""
    quick: bool = False

    @property
    def remarks(self) -> str:
        """The reason, if there is one, and the claim's note."""
        return " ".join(_sentence(part) for part in (self.reason, self.claim.note) if part)


def evaluate_claim(
    claim: Claim, experiment: Experiment, results: Results, *, quick: bool
) -> ClaimResult:
    """Measure, compare with the target, and add the reason if one is known."""
    if quick and not claim.quick:
        return ClaimResult(
            claim=claim, verdict=Verdict.SKIPPED, reason="needs the full run", quick=True
        )
    try:
        measured = experiment.measures[claim.measure](results, **claim.arguments)
    except NotRunError as missing:
        return ClaimResult(claim=claim, verdict=Verdict.SKIPPED, reason=str(missing), quick=quick)
    verdict, reason = Verdict.FAILS, ""
    if RULES[claim.kind](measured, claim.target, claim.tolerance_at(quick=quick)):
        verdict = Verdict.HOLDS
    elif claim.known_deviation is not None and claim.known_deviation.explains(measured):
        verdict, reason = Verdict.DIFFERS, claim.known_deviation.reason
    return ClaimResult(claim=claim, verdict=verdict, measured=measured, reason=reason, quick=quick)


def count_verdicts(claim_results: Sequence[ClaimResult]) -> dict[Whose, Counter[Verdict]]:
    """Return how many claims hold, differ, fail or were skipped, in three lists.

    Lists without a claim are left out.
    """
    counts = {
        whose: Counter(one.verdict for one in claim_results if one.claim.whose == whose)
        for whose in Whose
    }
    return {whose: found for whose, found in counts.items() if found}


def read_claims() -> list[Claim]:
    """Return the claims of all experiments, in the order of the paper.

    >>> len({claim.id for claim in read_claims()}) == len(read_claims())
    True
    """
    folder = resources.files("szoht.paper.experiments")
    files = {name: folder / f"{name.replace('-', '_')}.toml" for name in experiment_names()}
    return parse_claims({name: file.read_text("utf-8") for name, file in files.items()})


def parse_claims(texts: Mapping[str, str]) -> list[Claim]:
    """Return the claims of the files of some experiments, given as text."""
    claims = [
        _claim(entry, experiment)
        for experiment, text in texts.items()
        for entry in tomllib.loads(text).get("claim", [])
    ]
    _check_unique([claim.id for claim in claims])
    return claims


def _claim(entry: dict[str, Any], experiment: str) -> Claim:
    known = {part.name for part in fields(Claim)} - {"experiment"}
    if unknown := sorted(set(entry) - known):
        raise ParameterError(f"claim {entry.get('id')!r} has unknown entries: {unknown}.")
    if "known_deviation" in entry:
        entry = entry | {"known_deviation": KnownDeviation(**entry["known_deviation"])}
    return Claim(experiment=experiment, **entry)


def _check_unique(ids: Sequence[str]) -> None:
    duplicates = sorted({name for name in ids if ids.count(name) > 1})
    if duplicates:
        raise ParameterError(f"the `id` of each claim must be unique; duplicates: {duplicates}.")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _format(target: Any) -> str:
    if isinstance(target, bool):
        return "true" if target else "false"
    if isinstance(target, float):
        return f"{target:.5g}"
    if isinstance(target, list):
        return ", ".join(_format(value) for value in target)
    return str(target)
