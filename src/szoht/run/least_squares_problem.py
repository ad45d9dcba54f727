"""What `least_squares` is asked: variables, how many may change, and measurements."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from szoht.algorithms.calibration import Calibration
from szoht.algorithms.calibration.path import Criterion
from szoht.algorithms.calibration.residuals import Loss
from szoht.core.objective import Objective
from szoht.core.validation import check_integer, check_real
from szoht.core.variables import Variables
from szoht.errors import ParameterError, ParameterTypeError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.oracle import OnError
from szoht.run.config import RunConfig
from szoht.run.constraints import constraint_on_z
from szoht.run.mapped import XForm, map_objective
from szoht.run.outputs import ObservedData, OutputForm
from szoht.run.primed_oracle import first_outputs
from szoht.run.problem import Start, VariableOptions
from szoht.stopping import Rule

__all__ = ["LeastSquaresProblem"]

FIXED_SIMULATIONS, SIMULATIONS_PER_MEASUREMENT = 100, 20
"""The budget where no limit is given: so many, and so many times k (1 + ln(d / k))."""

MOST_CHANGES_BELIEVED = 10
"""Where the number of changes is found out, it is at most this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LeastSquaresProblem:
    """Variables, how many of them may change, and what outputs are compared with."""

    variables: Variables
    k: int
    criterion: Criterion | None
    measurements: ObservedData

    @classmethod
    def of(
        cls,
        x0: Start,
        *,
        k: int | Criterion,
        variable_options: VariableOptions,
        measurements: ObservedData,
    ) -> "LeastSquaresProblem":
        """Return the problem that the arguments of `least_squares` state, or raise."""
        variables = _variables(x0, variable_options)
        criterion: Criterion | None = None
        if isinstance(k, str) and (k == "bic" or k == "chi2"):  # noqa: PLR1714  (for the type checker)
            criterion, k = k, MOST_CHANGES_BELIEVED
        if criterion == "chi2" and measurements.sigma is None:
            raise ParameterError(
                "`sigma` must be given with k='chi2': it says what the errors explain; got None."
            )
        check_integer("k", k, low=1)
        free = max(int(variables.free.sum()), 1)
        return cls(
            variables=variables, k=min(k, free), criterion=criterion, measurements=measurements
        )

    def config(
        self,
        form: OutputForm | None,
        *,
        loss: Loss,
        f_scale: float,
        limits: Mapping[str, Any],
        stop: Rule | None,
        rng: Any,
        on_error: OnError | None,
        x_as: XForm = "array",
    ) -> RunConfig:
        """Return the configuration of the run."""
        measured = self.measurements
        spending = ("max_queries", "max_iterations", "max_seconds")
        unlimited = all(limits.get(name) is None for name in spending)
        if unlimited and getattr(stop, "query_limit", None) is None:
            limits = {**limits, "max_queries": self._default_budget}
        operator: Any = constraint_on_z(self.k, None, self.variables)
        algorithm = Calibration(
            operator=operator,
            observed=measured.observed,
            sigma=measured.sigma,
            n_outputs=measured.n_outputs if form is None else form.n_outputs,
            output_names=measured.names if form is None else form.names,
            loss=loss,
            f_scale=check_real("f_scale", f_scale, low=0, open_low=True),
            grid=self.variables.grid,
            criterion=self.criterion,
            max_queries=limits.get("max_queries"),
        )
        return RunConfig.of(
            self.variables,
            method=algorithm,
            limits=limits,
            stop=stop,
            rng=rng,
            on_error=on_error,
            x_as=x_as,
        )

    def output_form(
        self, objective: Objective, x_as: XForm
    ) -> tuple[OutputForm, ChunkValues | None]:
        """Return the form of the outputs, and what the start gave if it had to be asked for it."""
        measured = self.measurements
        if measured.n_outputs is not None:
            return OutputForm(n_outputs=measured.n_outputs, names=measured.names), None
        mapped = map_objective(objective, self.variables, x_as=x_as)
        return first_outputs(mapped, self.variables.z_start)

    @property
    def _default_budget(self) -> int:
        measurements = self.k * (1 + math.log(max(self.variables.free.sum() / self.k, 1.0)))
        return math.ceil(FIXED_SIMULATIONS + SIMULATIONS_PER_MEASUREMENT * measurements)


def _variables(x0: Start, options: VariableOptions) -> Variables:
    """Return the variables; changes from a plain array are counted from its values."""
    if x0 is None:
        raise ParameterTypeError("`x0` must be Variables or an array; got x0=None.")
    if not isinstance(x0, Variables):
        options = VariableOptions(**{**vars(options), "reference": x0})
    variables = options.variables(x0, method="auto")
    assert variables is not None, "a reference is given"  # noqa: S101
    return variables
