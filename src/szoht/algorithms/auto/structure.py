"""What a constraint tells the solver: its atoms, where probes may go, how to prune."""

from typing import Protocol

from szoht.algorithms.auto.records import Curvature, NoiseModel
from szoht.core.directions import Directions
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, Recovery, Rows
from szoht.types import Indices, Vector

__all__ = ["Structure"]


class Structure(Protocol):
    """A constraint, in the solver's coordinates z, each of which stands for the point ``to_x(z)``.

    A point of the set is made of at most ``size`` atoms: coordinates, groups of coordinates,
    vertices of a simplex. The solver handles them as sorted coordinates. Which atoms go together
    (subtrees, connected graphs) is known to `fits`, `next_to`, `head` and `kept`. ``low`` and
    ``high`` are bounds on z, infinite where there are none; ``has_units`` says that one unit of z
    is a natural change (finite bounds, or given units). ``unit``, None where it is one, is what one
    unit of z is in x. `szoht.testing.check_structure` checks an implementation.
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
        """How many numbers describe a point of the set."""
        ...

    @property
    def look(self) -> float:
        """The order of the number of rows that tell which atoms matter."""
        ...

    @property
    def independent(self) -> bool:
        """Whether any ``size`` coordinates may be chosen, whatever the others are."""
        ...

    @property
    def sums_to_one(self) -> bool:
        """Whether points are weights: coordinates change at the expense of each other."""
        ...

    @property
    def gaps(self) -> bool:
        """Whether non-zeros must not be small: points of the domain need not be answers."""
        ...

    @property
    def waves(self) -> bool:
        """Whether atoms are single coordinates, which few waves locate (Prony's method)."""
        ...

    @property
    def longest_row(self) -> float:
        """The longest differences that fit along rows, both ways from a base."""
        ...

    # points

    def to_x(self, z: Vector) -> Vector:
        """Return the user's point, in the user's bounds whatever ``z`` is and rounding does."""
        ...

    def to_z(self, x: Vector) -> Vector:
        """Return the solver's point."""
        ...

    def clip(self, z: Vector) -> Vector:
        """Return a point within the bounds that stands for the same x, or the nearest one."""
        ...

    def contains(self, z: Vector) -> bool:
        """Tell whether ``z`` may be an answer."""
        ...

    def nearest(self, z: Vector) -> Vector:
        """Return a point near ``z`` that may be an answer, on the same coordinates.

        Where these do not fit, a point within the bounds as `clip` does.
        """
        ...

    def inside(self, z: Vector, length: float) -> Vector:
        """Return a point close by from which steps of this length along axes stay inside."""
        ...

    def rescaled(self, scale: float | Vector) -> "Structure":
        """Return the same set with another unit for the coordinates whose units are unknown."""
        ...

    def with_size(self, size: int) -> "Structure":
        """Return the same set with another number of atoms."""
        ...

    # probes

    def axes(self, x: Vector, support: Indices, steps: Vector) -> Directions:
        """Return what steps along axes of z add to the user's point ``x``, inside the bounds."""
        ...

    def line(self, z: Vector, signs: Vector, length: float) -> Vector:
        """Return a dense direction made of random signs that stays inside for this length."""
        ...

    def base(self, z: Vector, length: float) -> Vector:
        """Return the nearest point from which ``length`` times any row stays inside."""
        ...

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs over some of the coordinates."""
        ...

    def along_rows(self, noise: NoiseModel) -> NoiseModel:
        """Return what the noise test says about differences along rows."""
        ...

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few atoms, those of ``start`` among them, that explain slopes along rows."""
        ...

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return all slopes, and the coordinates that recovery points out, the best first."""
        ...

    def axis_slopes(self, z: Vector, gradient: Vector) -> Vector:
        """Return the slopes along the axes of z, given the gradient with respect to x there."""
        ...

    # quadratic models of f on few coordinates

    def by_models(self, z: Vector) -> bool:
        """Tell whether a solve from ``z`` needs models over the set, bounds being not enough."""
        ...

    def is_within(self, z: Vector) -> bool:
        """Tell whether steps within the bounds may lead to ``z``, which is no point of a model."""
        ...

    def centering(self, z: Vector) -> Vector | None:
        """Return w, with the sum 1, if slopes along axes are ``g - w @ g``, g being the gradient.

        None if they are the gradient.
        """
        ...

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, *, fits: bool
    ) -> Vector:
        """Return the step on ``support`` that minimizes a model of f over the domain.

        If the support ``fits``, what is not small stays so.
        """
        ...

    def best_choice(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector
    ) -> Vector | None:
        """Return the weights on ``support`` where a model of f is least over the set.

        None where there is nothing to choose.
        """
        ...

    # atoms

    def active(self, z: Vector) -> Indices:
        """Return all coordinates of the atoms of ``z``, and those that are free and no atoms."""
        ...

    def whole(self, coordinates: Indices) -> Indices:
        """Return all coordinates of the atoms that have one among ``coordinates``, sorted.

        Coordinates that are free and no atoms are part of every such set.
        """
        ...

    def atoms(self, coordinates: Indices) -> list[Indices]:
        """Return the coordinates of each of these atoms, in the order of their first ones."""
        ...

    def count(self, coordinates: Indices) -> int:
        """Return how many atoms these are."""
        ...

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether a point with these non-zeros may be an answer."""
        ...

    def next_to(self, coordinates: Indices) -> Indices:
        """Return the other coordinates of which each may join these."""
        ...

    def promise(self, slopes: Vector) -> Vector:
        """Return what each coordinate promises: its slope downhill, zero if that leads outside."""
        ...

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the coordinates of the ``size`` best atoms, some coordinates left out."""
        ...

    def importance(self, z: Vector, atoms: list[Indices], curvature: Curvature | None) -> Vector:
        """Return what dropping each of some atoms of ``z`` would cost."""
        ...

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return the coordinates of those of some atoms, ``size`` at most, that are worth most."""
        ...

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Vector:
        """Return the point without all but the ``size`` atoms whose loss would cost most."""
        ...

    def without(self, z: Vector, coordinates: Indices) -> Vector:
        """Return the point without some coordinates."""
        ...

    def exchanged(self, z: Vector, out: Indices, new: Indices) -> Vector:
        """Return the point without some coordinates, where others may take their place."""
        ...
