"""Functions that return their components, whose mean is minimized: all of them are learned from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from szoht.algorithms.calibration import Calibration
from szoht.algorithms.defaults import pick_operator
from szoht.core.objective import Objective
from szoht.core.operator import Operator
from szoht.core.sparse_vector import as_point
from szoht.errors import CapabilityError
from szoht.evaluation.chunks import ChunkValues
from szoht.operators import Sparse, SparseBox
from szoht.run.constraints import constraint_on_z
from szoht.run.mapped import XForm, map_objective
from szoht.run.outputs import with_outputs
from szoht.run.primed_oracle import first_outputs
from szoht.run.problem import Start, VariableOptions

__all__ = ["ComponentProblem", "as_components"]


class ComponentProblem(NamedTuple):
    """The method, the function with its outputs declared, and its outputs at the start."""

    method: Calibration
    objective: Objective
    first: ChunkValues


def as_components(
    objective: Objective,
    x0: Start,
    *,
    k: int | None,
    constraint: Operator | None,
    variable_options: VariableOptions,
    x_as: XForm,
    max_queries: int | None,
    others: Mapping[str, Any],
) -> ComponentProblem:
    """Return how to minimize the mean of the components that a function returns.

    ``others`` are arguments of `minimize` that do not go with components, and must not be given.
    """
    for name, value in others.items():
        if value:
            raise CapabilityError(
                f'returns="components" does not go with `{name}`; got {name}={value!r}.'
            )
    variables = variable_options.variables(x0, method="auto", named=x_as != "array")
    operator = (
        pick_operator(k, constraint)
        if variables is None
        else constraint_on_z(k, constraint, variables)
    )
    if not isinstance(operator, Sparse | SparseBox):
        raise CapabilityError(
            'returns="components" needs `k`, or a constraint Sparse or SparseBox; got '
            f"k={k}, constraint={constraint!r}."
        )
    start = as_point("x0", x0) if variables is None else variables.z_start
    form, first = first_outputs(map_objective(objective, variables, x_as=x_as), start)
    method = Calibration(
        operator=operator,
        components=True,
        n_outputs=form.n_outputs,
        output_names=form.names,
        grid=None if variables is None else variables.grid,
        max_queries=max_queries,
    )
    return ComponentProblem(method, with_outputs(objective, form), first)
