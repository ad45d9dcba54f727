"""``szoht ask``: print the points of a stored run that need a value."""

import json
from typing import Annotated, Any, cast

import typer

from szoht.algorithms.calibration.residuals import Loss
from szoht.cli import observed as stated_data
from szoht.cli import options
from szoht.cli import variables as stated
from szoht.cli.constraints import ConstraintOption, parse_constraint
from szoht.core.variables import Variables
from szoht.errors import ParameterError
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import as_json_point
from szoht.run.ask_tell import AskTell
from szoht.run.external import Point, begin, waiting
from szoht.run.least_squares import LeastSquaresAskTell
from szoht.store import Store

__all__ = ["ask"]

DEFAULT_CHANGES = 5
"""Of a calibration, as in `szoht.least_squares`."""


def ask(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    new: Annotated[
        bool, typer.Option("--new", help="Start a new run with the options below.")
    ] = False,
    dim: options.Dim = None,
    x0: options.InitialPoint = None,
    variables: stated.VariablesFile = None,
    reference: stated.Reference = None,
    bounds: stated.BoundsOption = None,
    unit: stated.Unit = None,
    integer: stated.Integer = None,
    maximize: stated.Maximize = False,
    k: options.NonZeros = None,
    always: stated.AlwaysFree = None,
    constraint: ConstraintOption = None,
    method: options.Method = "auto",
    option: options.Options = None,
    budget: options.Budget = None,
    target: options.Target = None,
    seed: options.Seed = None,
    on_error: options.OnErrorChoice = None,
    plan_width: options.PlanWidth = 1,
    known: options.Known = None,
    observed: stated_data.ObservedFile = None,
    sigma: stated_data.Sigma = None,
    loss: stated_data.LossName = "linear",
    f_scale: stated_data.FScale = 1.0,
    sparse: Annotated[bool, typer.Option("--sparse", help="Print only the non-zeros.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Maximum number of points to print.")
    ] = None,
) -> None:
    """Print the points that need a value, one JSON object per line; none when the run has ended.

    With --observed the run is a calibration, as that of szoht calibrate, and values are lists.
    """
    with options.cli_errors(), Store(store, create=new) as file:
        if new:
            problem = stated.Stated.parse(
                dim=dim,
                x0=x0,
                variables=variables,
                reference=reference,
                bounds=bounds,
                unit=unit,
                integer=integer,
                always=always,
            )
            limits: dict[str, Any] = {"max_queries": budget, "target": target}
            if observed is not None:
                _refuse(
                    maximize=maximize,
                    constraint=constraint,
                    method=None if method == "auto" else method,
                    option=option,
                    known=known,
                )
                measured = stated_data.ObservedNumbers.parse(observed, sigma)
                asked: AskTell = LeastSquaresAskTell(
                    problem.start,
                    **problem.for_least_squares(),
                    k=DEFAULT_CHANGES if k is None else k,
                    observed=measured.observed,
                    sigma=measured.sigma,
                    loss=cast(Loss, loss),
                    f_scale=f_scale,
                    rng=seed,
                    on_error=cast(OnError | None, on_error),
                    **limits,
                )
                limits = dict(asked.config.limits)  # with the budget that is the default
            else:
                asked = AskTell(
                    problem.start,
                    **problem.keywords,
                    maximize=maximize,
                    k=k if constraint is None else None,
                    constraint=parse_constraint(constraint, k),
                    method=method,
                    options=options.parse_options(option),
                    rng=seed,
                    on_error=cast(OnError | None, on_error),
                    plan_width=plan_width,
                    known=known,
                    **limits,
                )
            run = begin(file, asked, problem.start, limits=limits)
        name = file.find(run)
        names = file.spec(name).variables
        for point in waiting(file, name)[:limit]:
            typer.echo(json.dumps(_as_json(point, names, sparse=sparse)))


def _refuse(**given: object) -> None:
    """Raise if an option is given that calibrations do not have."""
    for name, value in given.items():
        if value:
            raise ParameterError(f"`{name}` cannot be given beside --observed; got {value}.")


def _as_json(point: Point, variables: Variables | None, *, sparse: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"run": point.id.run, "id": str(point.id)}
    line |= as_json_point(point.x, point.sample, sparse=sparse)
    if variables is not None:
        line["changes"] = {variables.labels[i]: point.x[i] for i in variables.changed(point.x)}
    return line
