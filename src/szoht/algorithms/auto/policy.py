"""Every number of the default solver, in one record."""

from dataclasses import dataclass, fields

__all__ = ["Policy"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Policy:
    """The numbers by which the solver decides.

    "look" is k (1 + log(d / k)), the order of the number of measurements that sparse recovery
    needs; lengths are in the solver's units: box widths, given units, or units found out.
    """

    axis_step: float = 1e-6
    """Length of a difference along an axis, exact f: balances rounding and curvature."""
    gain_counted: float = 1e-9
    """A gain counts for patience if it is this share of everything gained so far."""

    def __repr__(self) -> str:
        changed = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Policy({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in changed)})"
