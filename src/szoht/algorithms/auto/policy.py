"""Every number of the default solver, in one record."""

import math
from dataclasses import dataclass, field

from szoht.algorithms.solver_numbers import SolverNumbers

__all__ = ["NoisePolicy", "Policy"]


@dataclass(frozen=True, kw_only=True, repr=False)
class NoisePolicy(SolverNumbers):
    """The numbers by which the search under noise decides; found like those of `Policy`.

    Lengths are in reaches, half of a finite box or one unit. "look" is k (1 + log(d / k)).
    """

    # how long probes are
    signal_to_noise_short: float = 100.0
    """Wanted of short probes: weak coordinates must be seen, and length costs nothing there."""
    signal_to_noise: float = 10.0
    """Wanted of longer probes; half of it is enough. Short ones grow by this factor at most."""
    short_probe: float = 0.05
    """Length up to which probes are short; the first one is twice that where no slope shows."""
    stretch: float = 2.5
    """Longer probes grow by this factor at most."""
    repeat_stretch: float = 0.02
    """Probes are repeated over lengths that differ by up to this share: fixed errors err anew."""

    # how many values say something
    pairs: int = 4
    """Pairs that judge a length, and values per point and turn of a race."""

    # what is believed
    clear: float = 0.9
    """Share of the variance that must be signal, and share of the signal that is predicted."""
    standard_errors: float = 2.5
    """What differs by more than this many standard errors is different."""
    standard_errors_sure: float = 5.5
    """The same for the largest of many slopes, and for a curvature that lengths depend on."""
    grown: float = 1.5
    """An error that has grown by this factor is another one."""
    gap: float = 3e-5
    """A regression ends when its expected gap is this share of all that was gained."""

    # shares of the values that are left
    turn_share: float = 0.3
    """For sensing, and for a regression on all candidates."""
    race_share: float = 0.06
    """For the last race; twice that for a regression on a new support, half for its race."""

    @property
    def fewest_values(self) -> int:
        """With fewer values left no further round begins; the most for a race between two."""
        return 10 * self.pairs

    @property
    def fewest_rows(self) -> int:
        """Values that show their spread."""
        return 2 * self.pairs

    @property
    def repeated(self) -> int:
        """Probes that are repeated to check the noise and the shape."""
        return 4 * self.pairs


@dataclass(frozen=True, kw_only=True, repr=False)
class Policy(SolverNumbers):
    """The numbers by which the solver decides.

    They were found on the development cases of ``benchmarks/``, by doubling and halving; `python
    benchmarks/ablation.py` shows what each is worth. What follows from another is a property.
    "look" is k (1 + log(d / k)), the order of the number of measurements that sparse recovery
    needs; lengths are in the solver's units: box widths, given units, or units found out.
    """

    # lengths
    axis_step: float = 1e-6
    """Length of a difference along an axis where f is exact: balances rounding and curvature."""
    first_step_box: float = 0.25
    """First step of a restricted solve, in box widths (0.1 is worse, 0.5 mixed)."""
    short_step_box: float = 0.15
    """After a first step shorter than this, in box widths, long ones are tried."""
    long_steps_left: float = 8.0
    """They are tried after any first step if fewer queries per coordinate are left."""

    # sensing
    rows_first: float = 1.3
    """Measurements before the first attempt of matching pursuit, in looks."""
    rows_most: float = 2.9
    """Measurements before sparse recovery is given up, in looks; all axes if they are as few."""
    rows_filter: float = 4.0
    """Measurements for the matched filter, in looks; doubled after each stalled round."""
    looks_dense: float = 12.0
    """Measurements that a gradient that is not sparse is worth, in looks."""

    small_budget: float = 10.0
    """Budgets below this many queries per non-zero, and 3.5 times as many in all, skip the noise
    test and plan their rows."""

    # restricted solves
    accuracy_narrow: float = 0.1
    """How far the gradient must shrink on a new support, relative to the first one."""
    steps_wide: int = 3
    """Steps on more coordinates than may stay, each time; three times as many to begin with."""
    hope: float = 3.0
    """A solve that must beat a value ends when this many times its model's decrease cannot."""

    slope_spread: float = 10.0
    """Slopes this unequal, in unknown units: curvatures are measured first; along all axes if they
    are three times as unequal (all at 10: portfolios cost 15 times as much; at 30: units 1e+-2
    cost 1.7 times as much)."""
    outlying_factor: float = 10.0
    """What is this many times as large as usual is doubted: a gain, an entry, an error."""

    # progress
    gain_share: float = 1e-5
    """A round that gains less than this share of f, or of all gains, is stalled."""
    gain_share_coarse: float = 0.03
    """The same on part of a finite sum; a path over k ends where k doubled gains less, and a move
    that gains less is not the first one again."""
    swap_pairs: int = 15
    """Exchanges of one coordinate for one that are tried at a time."""

    # patience
    effort: float = 5.0
    """Queries without a gain that end a run, in units of those spent at the last gain."""
    effort_rough: float = 3.0
    """The same is multiplied by this unless all restarts came back to the same value; and such
    queries of the search by slopes, before f is compared over longer distances."""
    floor_slopes: float = 200.0
    """Least such queries of the search by slopes: every move has its turn."""
    floor_rough: float = 3000.0
    """Least such queries, per coordinate of the support, unless all restarts came back."""

    noise: NoisePolicy = field(default_factory=NoisePolicy)
    """Where values err."""

    @property
    def accuracy_wide(self) -> float:
        """How far the gradient must shrink on more coordinates than may stay."""
        return 3 * self.accuracy_narrow

    @property
    def accuracy_polish(self) -> float:
        """The same on a support that did not change."""
        return 1e-3 * self.accuracy_narrow

    @property
    def pursuit_error(self) -> float:
        """Relative error on held-out rows up to which matching pursuit is believed."""
        return 1 - self.noise.clear

    @property
    def prony_error(self) -> float:
        """Relative error up to which Prony's method is believed: it has few rows to spare."""
        return 0.01 * self.pursuit_error

    @property
    def gain_counted(self) -> float:
        """A gain counts for patience if it is this share of everything gained so far."""
        return 1e-4 * self.gain_share

    @property
    def flat_step(self) -> float:
        """Length of the differences that are tried before slopes are said to vanish."""
        return math.sqrt(self.axis_step)

    @property
    def long_difference(self) -> float:
        """Differences at least this long are two-sided: f changes in steps."""
        return 10 * self.flat_step

    @property
    def central_factor(self) -> float:
        """Central differences are this many times longer: their error is one order smaller."""
        return float(self.axis_step ** (-1 / 3))

    @property
    def long_steps_box(self) -> tuple[float, float]:
        """Long steps along the axes, in box widths."""
        return self.first_step_box, 0.4 * self.first_step_box
