"""``szoht portfolio``: the best portfolio of few assets, from a file of prices."""

import csv
import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from szoht.applications.portfolio.frontier import (
    Solution,
    Solver,
    numbers_of_assets,
    returns_to_try,
)
from szoht.cli import options
from szoht.core.validation import check_integer
from szoht.errors import DataWarning, ParameterError
from szoht.problems import load_market, read_market, read_prices, read_returns
from szoht.problems.assets import Assets
from szoht.problems.orlib import NAMES
from szoht.reporting.drawing import save_figure
from szoht.reporting.portfolio_figures import frontier_figure
from szoht.reporting.text import printable

__all__ = ["portfolio"]

POINTS = 9
"""Of each frontier."""

FILES = ("weights.csv", "frontier.png")

_RISKS = {"cvar": "CVaR", "tracking_error": "tracking error"}

Objective = StrEnum(
    "Objective", ["minimum_variance", "mean_variance", "cvar", "tracking_error", "paper"]
)


def portfolio(
    *,
    prices: Annotated[
        str,
        typer.Argument(
            help="CSV of prices: a column of dates, then one per asset. Rows are sorted by date; "
            "labels that are no dates are accepted, then the oldest row must come first. Columns "
            "may also be separated by semicolons (1,5 is then a number) or tabs. Or port1 to "
            "port5, or an OR-Library file (.txt)."
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="The largest number of assets.")] = 10,
    objective: Annotated[
        Objective, typer.Option("--objective", help="What is minimised.")
    ] = Objective.minimum_variance,
    long_only: Annotated[bool, typer.Option("--long-only", help="No short positions.")] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="The CSV has returns, not prices.")
    ] = False,
    target_return: Annotated[
        float | None, typer.Option("--target-return", help="Wanted mean return per period.")
    ] = None,
    risk_aversion: Annotated[
        float, typer.Option("--risk-aversion", help="Of mean_variance.")
    ] = 5.0,
    level: Annotated[float, typer.Option("--level", help="Of cvar.")] = 0.95,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="Column to track; default: equal weights.")
    ] = None,
    shrinkage: Annotated[
        float, typer.Option("--shrinkage", help="Share of identity in the covariance.")
    ] = 0.0,
    periods: Annotated[
        float,
        typer.Option("--periods", help="Periods per year: 252 for days, 52 for weeks, 12, 1."),
    ] = 252.0,
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            help="Queries per start at most; a portfolio takes three starts, a point of the "
            "frontier of returns one. The total is printed.",
        ),
    ] = 20_000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same portfolio.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for frontier.png and weights.csv.")
    ] = Path("out"),
    frontier: Annotated[
        bool, typer.Option("--frontier/--no-frontier", help="Draw the frontier.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Find the best portfolio of at most k assets; print weights, risk, return; draw frontiers.

    Per year, risk is multiplied by the square root of --periods and the mean return by --periods;
    the Sharpe ratio is return by volatility, with a riskless return of 0.
    """
    with options.complaints():
        if not periods > 0:
            raise ParameterError(f"`periods` must be a number > 0; got periods={periods}.")
        if not as_json:
            for name in FILES[: 1 + frontier]:
                options.check_output("out", out / name, make_folder=True)
        solver = Solver(
            assets=_assets(prices, returns),
            options={
                "objective": objective.value,
                "long_only": long_only,
                "risk_aversion": risk_aversion,
                "level": level,
                "benchmark": benchmark,
                "shrinkage": shrinkage,
                "target_return": target_return,
            },
            budget=budget,
            seed=seed,
        )
        report = _report(_solve(solver, k, frontier=frontier), k, periods, objective.value)
        if as_json:
            typer.echo(json.dumps(report, indent=2))
            return
        console = Console()
        console.print(_weights_table(report))
        console.print(_summary_table(report, periods))
        typer.echo(
            f"{report['queries']:,} queries for this portfolio, {report['total_queries']:,} in all"
        )
        for file in _write(report, out):
            options.echo(f"wrote {file}")


def _assets(source: str, returns: bool) -> Assets:
    if source in NAMES:
        return load_market(source)
    path = Path(source)
    if path.suffix.lower() == ".txt":
        return read_market(path)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", DataWarning)
        assets = read_returns(path) if returns else read_prices(path)
    for note in notes:
        options.echo(str(note.message), err=True)
    return assets


class _Curves(NamedTuple):
    wanted: Solution
    sizes: list[tuple[int, Solution]]
    returns: list[Solution]


def _solve(solver: Solver, k: int, *, frontier: bool) -> _Curves:
    """Solve for the portfolio wanted and along both frontiers, with a bar on standard error."""
    check_integer("k", k, low=1, high=_available(solver), high_name="assets")
    sizes = numbers_of_assets(k, _available(solver), POINTS) if frontier else [k]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("portfolios", total=len(sizes) + POINTS * frontier)

        def tick() -> None:
            progress.advance(task)

        along_k = solver.along_k(sizes, tick)
        wanted = dict(along_k)[k]
        if not frontier:
            return _Curves(wanted, [], [])
        targets = returns_to_try(wanted.expected_return, wanted.problem.assets, POINTS)
        quick = replace(solver, starts=1)
        return _Curves(wanted, along_k, quick.along_return(k, targets, tick))


def _available(solver: Solver) -> int:
    return len(solver.assets.names) - (solver.options["benchmark"] is not None)


def _report(curves: _Curves, k: int, periods: float, objective: str) -> dict[str, Any]:
    """Gather what is printed, written and drawn, annualised."""
    wanted = curves.wanted
    solved = [wanted, *(found for size, found in curves.sizes if size != k), *curves.returns]
    names = wanted.problem.assets.names
    held = sorted(np.flatnonzero(wanted.weights), key=lambda i: -abs(wanted.weights[i]))
    risk, expected = _annual(wanted, periods)
    return {
        "objective": objective,
        "k": k,
        "risk_measure": _RISKS.get(objective, "volatility"),
        "weights": {names[i]: float(wanted.weights[i]) for i in held},
        "risk": risk,
        "return": expected,
        "sharpe": expected / (wanted.volatility * math.sqrt(periods)),
        "risk_per_period": wanted.risk,
        "return_per_period": wanted.expected_return,
        "value": wanted.value,
        "gross": float(np.abs(wanted.weights).sum()),
        "queries": wanted.queries,
        "total_queries": sum(found.queries for found in solved),
        "risk_against_k": [
            {"k": size, "risk": _annual(found, periods)[0]} for size, found in curves.sizes
        ],
        "risk_against_return": [
            dict(zip(("risk", "return"), _annual(found, periods), strict=True))
            for found in curves.returns
        ],
    }


def _annual(found: Solution, periods: float) -> tuple[float, float]:
    return found.risk * math.sqrt(periods), found.expected_return * periods


def _weights_table(report: dict[str, Any]) -> Table:
    table = Table(title=f"At most {report['k']} assets, {report['objective']}")
    table.add_column("asset")
    table.add_column("weight", justify="right")
    for name, weight in report["weights"].items():
        table.add_row(Text(printable(name)), f"{100 * weight:.2f} %")
    return table


def _summary_table(report: dict[str, Any], periods: float) -> Table:
    table = Table(title=f"Annualised with {periods:g} periods per year")
    table.add_column("")
    table.add_column("per year", justify="right")
    table.add_column("per period", justify="right")
    rows: Sequence[tuple[str, str]] = ((report["risk_measure"], "risk"), ("return", "return"))
    for label, key in rows:
        table.add_row(
            label, f"{100 * report[key]:.2f} %", f"{100 * report[key + '_per_period']:.3f} %"
        )
    table.add_row("Sharpe ratio", f"{report['sharpe']:.2f}", "")
    table.add_row("gross exposure", f"{100 * report['gross']:.0f} %", "")
    return table


def _write(report: dict[str, Any], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    table, picture = (out / name for name in FILES)
    with table.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["asset", "weight"])
        writer.writerows(report["weights"].items())
    if not report["risk_against_k"]:
        return [table]
    figure = frontier_figure(
        [(point["k"], point["risk"]) for point in report["risk_against_k"]],
        [(point["risk"], point["return"]) for point in report["risk_against_return"]],
        chosen=(report["k"], report["risk"], report["return"]),
        risk_name=report["risk_measure"],
    )
    return [table, save_figure(figure, picture)]
