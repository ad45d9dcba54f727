"""``szoht ask``: print the points of a stored run that need a value."""

import json
from typing import Annotated, Any, cast

import typer

from szoht.cli import options
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import as_json_point
from szoht.run.ask_tell import AskTell
from szoht.run.external import Point, begin, waiting
from szoht.store import Store

__all__ = ["ask"]


def ask(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    new: Annotated[
        bool, typer.Option("--new", help="Start a new run with the options below.")
    ] = False,
    dim: options.Dim = None,
    x0: options.InitialPoint = None,
    k: options.NonZeros = None,
    method: options.Method = "auto",
    option: options.Options = None,
    budget: options.Budget = None,
    target: options.Target = None,
    seed: options.Seed = None,
    on_error: options.OnErrorChoice = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Print only the non-zeros.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Maximum number of points to print.")
    ] = None,
) -> None:
    """Print the points that need a value, one JSON object per line; none when the run has ended."""
    with options.cli_errors(), Store(store, create=new) as file:
        if new:
            run = begin(
                file,
                AskTell(
                    (start := options.initial_point(dim, x0)),
                    k=k,
                    method=method,
                    options=options.parse_options(option),
                    max_queries=budget,
                    target=target,
                    rng=seed,
                    on_error=cast(OnError | None, on_error),
                ),
                start,
                limits={"max_queries": budget, "target": target},
            )
        for point in waiting(file, file.find(run))[:limit]:
            typer.echo(json.dumps(_as_json(point, sparse=sparse)))


def _as_json(point: Point, *, sparse: bool) -> dict[str, Any]:
    name = {"run": point.id.run, "id": str(point.id)}
    return name | as_json_point(point.x, point.sample, sparse=sparse)
