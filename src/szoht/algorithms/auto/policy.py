"""Every number of the default solver, in one record."""

from dataclasses import dataclass, fields

__all__ = ["Policy"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Policy:
    """The numbers by which the solver decides.

    "look" is k (1 + log(d / k)), the order of the number of measurements that sparse recovery
    needs; lengths are in the solver's units: box widths, given units, or units found out.
    """

    # lengths
    axis_step: float = 1e-6
    """Length of a difference along an axis where f is exact: balances rounding and curvature."""
    flat_step: float = 1e-3
    """Length of the differences that are tried before slopes are said to vanish."""
    long_difference: float = 0.01
    """Differences at least this long are two-sided: f changes in steps, and curvature shows."""
    first_step_box: float = 0.25
    """First step of a restricted solve, in box widths (0.1 is worse, 0.5 mixed: sensing.md)."""
    short_step_box: float = 0.15
    """After a first step shorter than this, in box widths, long ones are tried."""
    long_steps_box: tuple[float, ...] = (0.25, 0.1)
    """Those long steps along the axes, in box widths (which ones hardly matters)."""
    long_steps_left: float = 8.0
    """They are tried after any first step with fewer queries per coordinate left (4, 16: same)."""
    central_factor: float = 100.0
    """Central differences, used where forward ones stall, are this many times longer."""

    # sensing
    rows_first: float = 1.3
    """Measurements before the first attempt of matching pursuit, in looks."""
    rows_most: float = 2.9
    """Measurements before sparse recovery is given up, in looks."""
    rows_filter: float = 4.0
    """Measurements for the matched filter, in looks; doubled after each stalled round."""
    dense_factor: float = 3.0
    """All axes are measured if they cost at most this many matched filters."""
    axes_factor: float = 2.3
    """All axes are measured at once unless they cost this many first attempts."""
    checks: int = 2
    """Rows of signs that must confirm what Prony's method found."""
    prony_error: float = 1e-3
    """Relative error up to which Prony's method is believed."""
    pursuit_error: float = 0.1
    """Relative error on held-out rows up to which matching pursuit is believed."""
    filter_memory: float = 0.7
    """Weight of older matched filters: slopes change with the point."""

    small_budget: float = 10.0
    """Budgets below this many queries per non-zero skip the noise test and plan their rows."""

    small_budget_least: int = 35
    """The same for a budget of fewer queries than this, whatever k."""

    # restricted solves: how far the gradient must shrink, relative to the first one
    accuracy_wide: float = 0.3
    """On more coordinates than may stay."""
    accuracy_narrow: float = 0.1
    """On a new support."""
    accuracy_polish: float = 1e-4
    """On a support that did not change."""
    hope: float = 3.0
    """A solve that must beat a value ends when this many times its model's decrease cannot."""

    slope_spread: float = 10.0
    """Slopes this unequal, in unknown units: curvatures are measured first (3 is the same)."""

    # progress
    gain_share: float = 1e-5
    """A round that gains less than this share of f, or of all gains, is stalled."""
    gain_counted: float = 1e-9
    """A gain counts for patience if it is this share of everything gained so far."""
    stalled_rounds: int = 6
    """Stalled rounds, each with twice the measurements, before a descent ends."""
    restarts: int = 8
    """Restarts from perturbed supports without a gain before a search over supports ends."""

    # patience
    effort: float = 5.0
    """Queries without a gain that end a run, in units of those spent at the last gain."""
    effort_rough: float = 3.0
    """The same is multiplied by this unless all restarts came back to the same value."""
    effort_slopes: float = 3.0
    """The same for the search by slopes, before f is compared over longer distances."""
    floor_slopes: float = 200.0
    """Least such queries of the search by slopes: every move has its turn."""
    floor_smooth: float = 10.0
    """Least such queries, per coordinate of the support, where all restarts came back."""
    floor_rough: float = 3000.0
    """The same elsewhere."""

    def __repr__(self) -> str:
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Policy({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in changed)})"
