"""``szoht portfolio``: cardinality-constrained portfolios from a file of prices."""

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
    PortfolioSolution,
    PortfolioSolver,
    cardinalities,
    target_returns,
)
from szoht.cli import options
from szoht.core.csv_text import write_csv
from szoht.core.validation import check_integer, check_real
from szoht.errors import DataWarning
from szoht.problems import load_market, read_market, read_prices, read_returns
from szoht.problems.assets import Assets
from szoht.problems.orlib import NAMES
from szoht.problems.periods import TRADING_DAYS, PeriodsPerYear
from szoht.reporting.figures import save_figure
from szoht.reporting.portfolio_figures import frontier_figure
from szoht.reporting.text import printable

__all__ = ["portfolio"]

FRONTIER_POINTS = 9
"""Number of portfolios on each frontier."""

OUTPUT_FILES = ("weights.csv", "frontier.png")

_RISK_NAMES = {"cvar": "CVaR", "tracking_error": "tracking error"}

Objective = StrEnum(
    "Objective", ["minimum_variance", "mean_variance", "cvar", "tracking_error", "paper"]
)

MissingChoice = StrEnum(
    "MissingChoice",
    {"assets": "drop-assets", "days": "drop-days", "forward_fill": "forward-fill"},
)


def portfolio(
    *,
    prices: Annotated[
        str,
        typer.Argument(
            help="CSV of prices: a column of dates, then one per asset. Rows are sorted by date; "
            "labels other than dates are accepted if the oldest row comes first. Columns may "
            "also be separated by semicolons (1,5 is then a number) or tabs. Or port1 to "
            "port5, or an OR-Library file (.txt)."
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="Maximum number of assets.")] = 10,
    objective: Annotated[
        Objective, typer.Option("--objective", help="Objective to minimize.")
    ] = Objective.minimum_variance,
    long_only: Annotated[bool, typer.Option("--long-only", help="No short positions.")] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="The CSV has returns, not prices.")
    ] = False,
    target_return: Annotated[
        float | None, typer.Option("--target-return", help="Target mean return per period.")
    ] = None,
    risk_aversion: Annotated[
        float, typer.Option("--risk-aversion", help="Risk aversion of mean_variance.")
    ] = 5.0,
    level: Annotated[float, typer.Option("--level", help="Confidence level of cvar.")] = 0.95,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="Column to track; default: equal weights.")
    ] = None,
    shrinkage: Annotated[
        float, typer.Option("--shrinkage", help="Weight of the identity in the covariance.")
    ] = 0.0,
    periods: Annotated[
        float | None,
        typer.Option(
            "--periods",
            help="Periods per year; by default what the dates say: 252 for daily ones, 52 for "
            "weekly, 12 for monthly. Without dates, 252.",
        ),
    ] = None,
    missing: Annotated[
        MissingChoice | None,
        typer.Option(
            "--missing",
            help="What to do about missing values, which are an error by default: leave out assets "
            "or days that have one, or take the price of the day before.",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            help="Maximum number of queries of the whole command; by default 20,000 for each of "
            "its runs. A portfolio takes three runs, a point of the return frontier one.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed; the same seed gives the same portfolio.")
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for frontier.png and weights.csv.")
    ] = Path("out"),
    frontier: Annotated[
        bool,
        typer.Option("--frontier/--no-frontier", help="Compute and plot the efficient frontier."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Find the best portfolio of at most k assets; print weights, risk and return; plot frontiers.

    Per year, risk is multiplied by the square root of the periods and the mean return by them;
    the Sharpe ratio is return divided by volatility, with a risk-free rate of 0.
    """
    with options.cli_errors():
        if periods is not None:
            check_real("periods", periods, low=0, open_low=True)
        if not as_json:
            for name in OUTPUT_FILES[: 1 + frontier]:
                options.check_output("out", out / name, make_folder=True)
        solver = PortfolioSolver(
            assets=_assets(prices, missing, returns=returns),
            options={
                "objective": objective.value,
                "long_only": long_only,
                "risk_aversion": risk_aversion,
                "level": level,
                "benchmark": benchmark,
                "shrinkage": shrinkage,
                "target_return": target_return,
            },
            seed=seed,
        )
        if budget is not None:
            runs = solver.starts * len(_sizes(solver, k, frontier)) + FRONTIER_POINTS * frontier
            check_integer("budget", budget, low=runs)
            solver = replace(solver, budget=budget // runs)
        year = _periods(solver.assets, periods)
        report = _report(_solve(solver, k, frontier=frontier), k, year, objective.value)
        if as_json:
            typer.echo(json.dumps(report, indent=2))
            return
        console = Console()
        console.print(_weights_table(report))
        console.print(_summary_table(report))
        if report["dropped"]:
            options.echo(f"left out, for lack of numbers: {', '.join(report['dropped'])}")
        typer.echo(
            f"{report['queries']:,} queries for this portfolio, {report['total_queries']:,} in all"
        )
        for file in _write(report, out):
            options.echo(f"wrote {file}")


def _assets(source: str, missing: MissingChoice | None, *, returns: bool) -> Assets:
    if source in NAMES:
        return load_market(source)
    path = Path(source)
    if path.suffix.lower() == ".txt":
        return read_market(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        read = read_returns if returns else read_prices
        assets = read(path, missing=None if missing is None else missing.value)
    for warning in caught:
        options.echo(str(warning.message), err=True)
    return assets


def _periods(assets: Assets, given: float | None) -> PeriodsPerYear:
    """Return how many periods a year has: as stated, as the dates say, or as is usual."""
    if given is not None:
        return PeriodsPerYear(given, "--periods")
    return assets.periods or PeriodsPerYear(TRADING_DAYS, "assumed; --periods says otherwise")


class _Solutions(NamedTuple):
    selected: PortfolioSolution
    sizes: list[tuple[int, PortfolioSolution]]
    returns: list[PortfolioSolution]


def _solve(solver: PortfolioSolver, k: int, *, frontier: bool) -> _Solutions:
    """Solve for the requested portfolio and both frontiers, with a progress bar on stderr."""
    sizes = _sizes(solver, k, frontier)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("portfolios", total=len(sizes) + FRONTIER_POINTS * frontier)

        def advance() -> None:
            progress.advance(task)

        by_cardinality = solver.solve_cardinalities(sizes, advance)
        selected = dict(by_cardinality)[k]
        if not frontier:
            return _Solutions(selected, [], [])
        targets = target_returns(selected.expected_return, selected.problem.assets, FRONTIER_POINTS)
        quick = replace(solver, starts=1)
        return _Solutions(selected, by_cardinality, quick.solve_returns(k, targets, advance))


def _sizes(solver: PortfolioSolver, k: int, frontier: bool) -> list[int]:
    """Return the numbers of assets that portfolios are found for."""
    check_integer("k", k, low=1, high=_available(solver), high_name="assets")
    return cardinalities(k, _available(solver), FRONTIER_POINTS) if frontier else [k]


def _available(solver: PortfolioSolver) -> int:
    return len(solver.assets.names) - (solver.options["benchmark"] is not None)


def _report(curves: _Solutions, k: int, year: PeriodsPerYear, objective: str) -> dict[str, Any]:
    """Return the annualized results that are printed, written and plotted."""
    selected, periods = curves.selected, year.number
    solved = [selected, *(found for size, found in curves.sizes if size != k), *curves.returns]
    names = selected.problem.assets.names
    held = sorted(np.flatnonzero(selected.weights), key=lambda i: -abs(selected.weights[i]))
    risk, expected = _annual(selected, periods)
    return {
        "objective": objective,
        "k": k,
        "risk_measure": _RISK_NAMES.get(objective, "volatility"),
        "weights": {names[i]: float(selected.weights[i]) for i in held},
        "risk": risk,
        "return": expected,
        "sharpe": expected / (selected.volatility * math.sqrt(periods)),
        "risk_per_period": selected.risk,
        "return_per_period": selected.expected_return,
        "value": selected.value,
        "gross": float(np.abs(selected.weights).sum()),
        "periods_per_year": periods,
        "periods_from": year.source,
        "dropped": list(selected.problem.assets.dropped),
        "queries": selected.queries,
        "total_queries": sum(found.queries for found in solved),
        "risk_against_k": [
            {"k": size, "risk": _annual(found, periods)[0]} for size, found in curves.sizes
        ],
        "risk_against_return": [
            dict(zip(("risk", "return"), _annual(found, periods), strict=True))
            for found in curves.returns
        ],
    }


def _annual(found: PortfolioSolution, periods: float) -> tuple[float, float]:
    return found.risk * math.sqrt(periods), found.expected_return * periods


def _weights_table(report: dict[str, Any]) -> Table:
    table = Table(title=f"At most {report['k']} assets, {report['objective']}")
    table.add_column("asset")
    table.add_column("weight", justify="right")
    for name, weight in report["weights"].items():
        table.add_row(Text(printable(name)), f"{100 * weight:.2f} %")
    return table


def _summary_table(report: dict[str, Any]) -> Table:
    periods, source = report["periods_per_year"], report["periods_from"]
    table = Table(title=f"Annualized with {periods:g} periods per year ({source})")
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
    table, plot = (out / name for name in OUTPUT_FILES)
    table.write_text(write_csv(["asset", "weight"], report["weights"].items()), encoding="utf-8")
    if not report["risk_against_k"]:
        return [table]
    figure = frontier_figure(
        [(point["k"], point["risk"]) for point in report["risk_against_k"]],
        [(point["risk"], point["return"]) for point in report["risk_against_return"]],
        selected=(report["k"], report["risk"], report["return"]),
        risk_name=report["risk_measure"],
    )
    return [table, save_figure(figure, plot)]
