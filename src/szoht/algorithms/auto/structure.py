"""What a constraint tells the solver: its atoms, where probes may go, how to prune."""

from typing import Protocol

from szoht.algorithms.auto.records import Curvature
from szoht.types import Indices, Vector

__all__ = ["Structure"]


class Structure(Protocol):
    """A constraint, in the solver's coordinates ``z = x / unit``.

    ``unit`` is None where z is x. ``low`` and ``high`` are bounds on z, infinite where there are
    none; ``has_units`` says that all units are known (finite bounds, or given units).
    """

    @property
    def d(self) -> int:
        """The dimension of the space."""
        ...

    @property
    def size(self) -> int:
        """How many atoms a point may have: k coordinates, s groups."""
        ...

    @property
    def unit(self) -> Vector | None:
        """The size of one unit of each coordinate."""
        ...

    @property
    def low(self) -> Vector:
        """Lower bounds."""
        ...

    @property
    def high(self) -> Vector:
        """Upper bounds."""
        ...

    @property
    def has_units(self) -> bool:
        """Whether the units are known."""
        ...

    @property
    def free(self) -> Indices:
        """The coordinates that may change."""
        ...

    @property
    def degrees_of_freedom(self) -> int:
        """How many numbers describe a point of the set: sets the number of probes."""
        ...

    def to_x(self, z: Vector) -> Vector:
        """Return the user's point, inside the user's bounds whatever rounding does."""
        ...

    def to_z(self, x: Vector) -> Vector:
        """Return the solver's point."""
        ...

    def x_offsets(self, x: Vector, support: Indices, steps: Vector) -> Vector:
        """Return steps along axes of z as offsets from ``x`` that stay inside after rounding."""
        ...

    def clip(self, z: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        ...

    def contains(self, z: Vector) -> bool:
        """Tell whether ``z`` may be an answer."""
        ...

    def base(self, z: Vector, length: float) -> Vector:
        """Return the nearest point from which ``length * u`` stays inside for all |u_i| <= 1."""
        ...

    def rescaled(self, scale: float | Vector) -> "Structure":
        """Return the same set with another unit for the coordinates whose units are unknown."""
        ...

    def with_size(self, size: int) -> "Structure":
        """Return the same set with another number of atoms."""
        ...

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the coordinates of the ``size`` best atoms, some coordinates left out."""
        ...

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Indices:
        """Return the coordinates of the ``size`` atoms of ``z`` whose loss would cost most."""
        ...
