"""Claims as data: read from ``claims.toml``, compared with what was measured."""

import enum
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from szoht.errors import ParameterError
from szoht.paper.experiment import Experiment, Measured, NotRunError, Results

__all__ = ["Claim", "Deviation", "Judged", "Verdict", "judge", "read_claims"]


class Verdict(enum.StrEnum):
    """What a measurement says about a claim.

    A claim *differs* if it does not hold, and misses by as much as a known reason explains; the
    reason and the values that it explains are part of the claim. Anything else *fails*.
    """

    HOLDS = "holds"
    DIFFERS = "differs"
    FAILS = "fails"
    OPEN = "not judged"


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A known reason to miss the target, and the values that it explains."""

    reason: str
    low: float | None = None
    high: float | None = None
    value: Any = None

    def explains(self, measured: Measured) -> bool:
        """Tell whether the measured value is one that the reason leads to."""
        if self.low is None or self.high is None:
            return bool(measured.value == self.value)
        return self.low <= float(measured.value) <= self.high


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper and the rule by which it is judged.

    Parameters
    ----------
    id, experiment, statement, where : str
        What is claimed, and where in the paper.
    compute, arguments
        A measure of the experiment, and what it is called with.
    kind : str
        One of the keys of `RULES`: how ``target`` is compared.
    target : number, list or bool
        The paper's value.
    tolerance : float
        Of the kind "band".
    quick : bool
        Whether a quick run can judge it; it then says so and uses ``quick_tolerance`` if given.
    differs : Deviation
        A known reason to miss the target, which leads to certain values and no others.
    note : str
        What to bear in mind if the claim fails.
    """

    id: str
    experiment: str
    statement: str
    where: str
    compute: str
    kind: str
    target: Any
    tolerance: float = 0.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = True
    quick_tolerance: float | None = None
    differs: Deviation | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in RULES:
            raise ParameterError(f"`kind` must be one of {', '.join(RULES)}; got {self.kind!r}.")
        if self.differs is not None and isinstance(self.differs.value, bool):
            raise ParameterError(
                f"`differs` of a claim must not explain every way to miss it: {self.id!r} could "
                "not fail. Put the reason into `note`."
            )

    def wanted(self, *, quick: bool) -> str:
        """Return the target in words."""
        target = _show(self.target)
        return {
            "band": f"{target} ± {self.margin(quick=quick):.3g}",
            "at most": f"≤ {target}",
            "at least": f"≥ {target}",
            "contains": f"interval has {target}",
            "excludes": f"interval without {target}",
        }.get(self.kind, target)

    def margin(self, *, quick: bool) -> float:
        """Return the tolerance at this scale."""
        wider = quick and self.quick_tolerance is not None
        return float(self.quick_tolerance if wider else self.tolerance)  # type: ignore[arg-type]


def _contains(measured: Measured, target: float) -> bool:
    if measured.low is None or measured.high is None:
        raise ParameterError('a claim of the kind "contains" or "excludes" needs an interval.')
    return measured.low <= target <= measured.high


RULES: Mapping[str, Callable[[Measured, Any, float], bool]] = {
    "band": lambda measured, target, margin: abs(measured.value - target) <= margin,
    "at most": lambda measured, target, _: measured.value <= target,
    "at least": lambda measured, target, _: measured.value >= target,
    "equal": lambda measured, target, _: bool(measured.value == target),
    "contains": lambda measured, target, _: _contains(measured, target),
    "excludes": lambda measured, target, _: not _contains(measured, target),
}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim, what was measured, and what follows."""

    claim: Claim
    verdict: Verdict
    measured: Measured | None = None
    reason: str = ""
    quick: bool = False


def judge(claim: Claim, experiment: Experiment, results: Results, *, quick: bool) -> Judged:
    """Measure, compare with the target, and give the reason where there is one."""
    if quick and not claim.quick:
        return Judged(claim=claim, verdict=Verdict.OPEN, reason="needs the full run", quick=True)
    try:
        measured = experiment.measures[claim.compute](results, **claim.arguments)
    except NotRunError as missing:
        return Judged(claim=claim, verdict=Verdict.OPEN, reason=str(missing), quick=quick)
    verdict, reason = Verdict.FAILS, claim.note
    if RULES[claim.kind](measured, claim.target, claim.margin(quick=quick)):
        verdict, reason = Verdict.HOLDS, ""
    elif claim.differs is not None and claim.differs.explains(measured):
        verdict, reason = Verdict.DIFFERS, claim.differs.reason
    return Judged(claim=claim, verdict=verdict, measured=measured, reason=reason, quick=quick)


def read_claims(text: str | None = None) -> list[Claim]:
    """Return the claims of ``claims.toml``, or of another text in its form.

    >>> len({claim.id for claim in read_claims()}) == len(read_claims())
    True
    """
    if text is None:
        text = (resources.files("szoht.paper") / "claims.toml").read_text("utf-8")
    claims = [_claim(entry) for entry in tomllib.loads(text).get("claim", [])]
    _check_unique([claim.id for claim in claims])
    return claims


def _claim(entry: dict[str, Any]) -> Claim:
    known = {part.name for part in fields(Claim)}
    if unknown := sorted(set(entry) - known):
        raise ParameterError(f"claim {entry.get('id')!r} has unknown entries: {unknown}.")
    if "differs" in entry:
        entry = entry | {"differs": Deviation(**entry["differs"])}
    return Claim(**entry)


def _check_unique(ids: Sequence[str]) -> None:
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ParameterError(f"each claim needs an `id` of its own; given twice: {twice}.")


def _show(target: Any) -> str:
    if isinstance(target, bool):
        return "true" if target else "false"
    if isinstance(target, float):
        return f"{target:.5g}"
    if isinstance(target, list):
        return ", ".join(_show(value) for value in target)
    return str(target)
