"""When to stop: rules joined with ``|``."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from szoht.core.validation import check_integer, check_real, shown
from szoht.errors import ParameterTypeError
from szoht.result import Progress, Status

__all__ = [
    "AnyOf",
    "Iterations",
    "Queries",
    "Rule",
    "Seconds",
    "Stalled",
    "Target",
    "join_limits",
]

Check: TypeAlias = Callable[[Progress, int], Status | None]
"""Takes the progress and the cost of the next plan; returns why to stop, or None."""


@dataclass(frozen=True)
class Rule(ABC):
    """A reason to stop. Rules are frozen; what one remembers is in the check that `begin` makes."""

    @abstractmethod
    def begin(self) -> Check:
        """Return a fresh check for one run."""

    def affords(self, progress: Progress, cost: int) -> bool:
        """Tell whether ``cost`` more queries may be spent."""
        del progress, cost
        return True

    @property
    def has_target(self) -> bool:
        """Whether the rule asks for a value to be reached."""
        return False

    @property
    def query_limit(self) -> int | None:
        """The largest number of queries that the rule allows, if it limits them."""
        return None

    @property
    def seconds_limit(self) -> float | None:
        """The longest time that the rule allows, if it limits it."""
        return None

    def __or__(self, other: "Rule") -> "AnyOf":
        return AnyOf((*_members(self), *_members(other)))


@dataclass(frozen=True)
class Queries(Rule):
    """Never spend more than ``limit`` queries: a plan that would exceed it is not started."""

    limit: int

    def __post_init__(self) -> None:
        check_integer("max_queries", self.limit, low=1)

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        return lambda progress, cost: None if self.affords(progress, cost) else Status.QUERIES

    def affords(self, progress: Progress, cost: int) -> bool:
        """Tell whether ``cost`` more queries stay within the limit."""
        return progress.queries + cost <= self.limit

    @property
    def query_limit(self) -> int:
        """The limit."""
        return self.limit


@dataclass(frozen=True)
class Iterations(Rule):
    """Stop after ``limit`` iterations."""

    limit: int

    def __post_init__(self) -> None:
        check_integer("max_iterations", self.limit, low=1)

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        return lambda progress, _: Status.ITERATIONS if progress.iteration >= self.limit else None


@dataclass(frozen=True)
class Seconds(Rule):
    """Begin no evaluation once ``limit`` seconds have passed; callbacks do not count."""

    limit: float

    def __post_init__(self) -> None:
        check_real("max_seconds", self.limit, low=0, open_low=True)

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        return lambda progress, _: Status.SECONDS if progress.seconds >= self.limit else None

    @property
    def seconds_limit(self) -> float:
        """The limit."""
        return self.limit


@dataclass(frozen=True)
class Target(Rule):
    """Stop at the first iterate whose value is at most ``value``; at least, if f is maximized.

    A value that was estimated from noisy ones must be beyond it by its standard error.
    """

    value: float

    def __post_init__(self) -> None:
        check_real("target", self.value)

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        return lambda progress, _: Status.TARGET if self._is_reached(progress) else None

    def _is_reached(self, progress: Progress) -> bool:
        best = progress.best_value
        error = 0.0 if progress.best is None else progress.best.error
        return best - error >= self.value if progress.maximize else best + error <= self.value

    @property
    def has_target(self) -> bool:
        """Whether the rule asks for a value to be reached."""
        return True


@dataclass(frozen=True)
class Stalled(Rule):
    """Stop when the best value has not improved by ``rtol * |best|`` in ``iterations``."""

    iterations: int
    rtol: float = 1e-8

    def __post_init__(self) -> None:
        check_integer("iterations", self.iterations, low=1)
        check_real("rtol", self.rtol, low=0)

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        since, best = 0, math.inf

        def check(progress: Progress, cost: int) -> Status | None:
            nonlocal since, best
            del cost
            now = -progress.best_value if progress.maximize else progress.best_value
            if not math.isnan(now) and (best == math.inf or now < best - self.rtol * abs(best)):
                since, best = progress.iteration, now
            return Status.STALLED if progress.iteration - since >= self.iterations else None

        return check


@dataclass(frozen=True)
class AnyOf(Rule):
    """Stop as soon as one of the rules says so; the first of them names the reason."""

    rules: tuple[Rule, ...]

    def begin(self) -> Check:
        """Return a fresh check for one run."""
        checks = [rule.begin() for rule in self.rules]

        def check(progress: Progress, cost: int) -> Status | None:
            reasons = [one(progress, cost) for one in checks]
            if Status.TARGET in reasons:  # reaching the target counts, whatever else is used up
                return Status.TARGET
            return next((reason for reason in reasons if reason is not None), None)

        return check

    def affords(self, progress: Progress, cost: int) -> bool:
        """Tell whether every rule allows ``cost`` more queries."""
        return all(rule.affords(progress, cost) for rule in self.rules)

    @property
    def has_target(self) -> bool:
        """Whether one of the rules asks for a value to be reached."""
        return any(rule.has_target for rule in self.rules)

    @property
    def query_limit(self) -> int | None:
        """The smallest limit of all rules."""
        limits = [rule.query_limit for rule in self.rules if rule.query_limit is not None]
        return min(limits, default=None)

    @property
    def seconds_limit(self) -> float | None:
        """The smallest limit of all rules."""
        limits = [rule.seconds_limit for rule in self.rules if rule.seconds_limit is not None]
        return min(limits, default=None)


def _members(rule: Rule) -> tuple[Rule, ...]:
    return rule.rules if isinstance(rule, AnyOf) else (rule,)


def join_limits(
    *,
    max_queries: int | None,
    max_iterations: int | None,
    max_seconds: float | None,
    target: float | None,
    stop: Rule | None,
    default: int,
) -> Rule:
    """Return all limits given as one rule; without any limit, ``default`` queries."""
    rules: list[Rule] = [] if target is None else [Target(target)]
    if stop is not None:
        if not isinstance(stop, Rule):
            raise ParameterTypeError(f"`stop` must be a rule of szoht.stopping; got {shown(stop)}.")
        rules += _members(stop)
    if max_queries is not None:
        rules.append(Queries(max_queries))
    if max_iterations is not None:
        rules.append(Iterations(max_iterations))
    if max_seconds is not None:
        rules.append(Seconds(max_seconds))
    if all(rule.has_target for rule in rules):
        rules.append(Queries(default))
    return AnyOf(tuple(rules))
