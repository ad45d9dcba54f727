"""The user's function as a function of z: the edge at which points become the user's numbers."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from szoht.core.extras import import_pandas
from szoht.core.objective import Call, Objective
from szoht.core.validation import check_choice
from szoht.core.variables import Variables
from szoht.errors import CapabilityError
from szoht.types import Indices, Sample, Vector

__all__ = ["XForm", "check_x_as", "map_objective"]

XForm: TypeAlias = Literal["array", "series", "dict"]


def check_x_as(x_as: str, objective: Objective) -> None:
    """Raise unless the function can be given its points in this form."""
    check_choice("x_as", x_as, get_args(XForm))
    if x_as != "array" and objective.values is not None:
        raise CapabilityError(
            f"x_as={x_as!r} names the numbers of one point, and the function takes an array "
            "of many. Drop `vectorized=True`, or take arrays."
        )
    if x_as == "series":
        import_pandas('x_as="series"')


def map_objective(
    objective: Objective, variables: Variables | None, *, x_as: XForm = "array"
) -> Objective:
    """Return the objective as a function of z; without variables, itself."""
    if variables is None:
        return objective
    return replace(
        objective,
        value=_Value(objective.value, variables, x_as),
        values=objective.values and _Values(objective.values, variables),
        along=objective.along and _Along(objective.along, variables),
        gradient=objective.gradient and _Gradient(objective.gradient, variables),
    )


# Classes rather than closures, so that an objective can be sent to another process.


@dataclass(frozen=True)
class _Value:
    fun: Call
    variables: Variables
    x_as: XForm

    def __call__(self, z: Vector, sample: Sample) -> Any:
        x: Any = self.variables.to_x(z)
        if self.x_as == "dict":
            x = dict(zip(self.variables.labels, x.tolist(), strict=True))
        elif self.x_as == "series":
            x = import_pandas('x_as="series"').Series(x, index=list(self.variables.labels))
        return self.fun(x, sample)


@dataclass(frozen=True)
class _Values:
    fun: Call
    variables: Variables

    def __call__(self, points: Vector, sample: Sample) -> Any:
        return self.fun(self.variables.to_x(points), sample)


@dataclass(frozen=True)
class _Along:
    fun: Call
    variables: Variables

    def __call__(self, z: Vector, indices: Indices, offsets: Vector, sample: Sample) -> Any:
        x = self.variables.to_x(z)
        moved = np.tile(z, (len(indices), 1))
        rows = np.arange(len(indices))[:, np.newaxis]
        moved[rows, indices] += offsets
        here, low, high = x[indices], self.variables.low[indices], self.variables.high[indices]
        change = self.variables.to_x(moved)[rows, indices] - here
        for _ in range(2):  # the sum may be rounded to the other side of a bound
            out = (here + change > high) | (here + change < low)
            change = np.where(out, np.nextafter(change, 0.0), change)
        return self.fun(x, indices, change, sample)


@dataclass(frozen=True)
class _Gradient:
    fun: Call
    variables: Variables

    def __call__(self, z: Vector, sample: Sample) -> Any:
        slope = self.fun(self.variables.to_x(z), sample)
        return np.asarray(slope) * self.variables.derivative(z)
