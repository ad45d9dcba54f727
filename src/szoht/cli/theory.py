"""``szoht theory``: evaluate the paper's statements for a setting, and plot its two figures."""

import math
import warnings
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypedDict

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from szoht.cli import options
from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.reporting.figures import save_figure
from szoht.reporting.theory_figures import contraction_figure, estimator_figure
from szoht.theory import (
    Regularity,
    Setting,
    TheoryWarning,
    Version,
    complexity_table,
    contraction,
    eps_f,
    iterations_to,
    necessary_q,
    queries_to,
    recommend,
    rho,
    smallest_q,
    step_size,
    sufficient_k,
    sufficient_q,
    sufficient_q_smooth,
)

__all__ = ["theory"]

_MAX_CURVES = 9

MAX_KAPPA = 1e16
"""Beyond it double precision tells nothing any more."""


class _Version(StrEnum):
    PAPER = "paper"
    CORRECTED = "corrected"


class _Case(TypedDict):
    d: int
    k_star: int
    support_size: int


class _Target(TypedDict):
    distance: float
    accuracy: float
    version: Version


def theory(
    *,
    d: Annotated[int | None, typer.Option("--d", help="Dimension.")] = None,
    k_star: Annotated[int | None, typer.Option("--k-star", help="Sparsity of the target.")] = None,
    kappa: Annotated[float, typer.Option("--kappa", help="Condition number, at least 1.")] = 1.0,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Sparsity of the iterates; default: enough for Corollary 1."),
    ] = None,
    q: Annotated[
        list[int] | None, typer.Option("--q", help="Number of directions; repeatable.")
    ] = None,
    support_size: Annotated[
        int | None, typer.Option("--support-size", help="Non-zeros of a direction; default: d.")
    ] = None,
    accuracy: Annotated[
        float, typer.Option("--accuracy", help="Target distance to the solution.")
    ] = 1e-2,
    distance: Annotated[
        float, typer.Option("--distance", help="Distance of the initial point.")
    ] = 10.0,
    smoothness: Annotated[
        float, typer.Option("--smoothness", help="L; steps are proportional to 1 / L.")
    ] = 1.0,
    budget: Annotated[
        int | None, typer.Option("--budget", help="Function evaluations at hand.")
    ] = None,
    version: Annotated[
        _Version, typer.Option("--version", help="Formulas as printed in the paper, or corrected.")
    ] = _Version.CORRECTED,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Plot rho gamma against k to this PNG or SVG file."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Plot the estimator and its projection to this file."),
    ] = None,
    k_max: Annotated[int, typer.Option("--k-max", help="Right end of the plot.")] = 1000,
    table: Annotated[
        bool, typer.Option("--table", help="Print the paper's table of complexities instead.")
    ] = False,
) -> None:
    """Print what the theory requires, the parameters that it recommends, and plot it."""
    console = Console()
    if table:
        options.echo(str(complexity_table()))
        return
    chosen: Version = "paper" if version is _Version.PAPER else "corrected"
    with options.cli_errors():
        if d is None or k_star is None:
            raise ParameterError(
                "`--d` and `--k-star` must be given, such as --d 5000 --k-star 5; only --table "
                f"needs neither. Got d={d}, k_star={k_star}."
            )
        size = d if support_size is None else support_size
        check_integer("d", d, low=3, high=options.MAX_DIM)
        check_real("kappa", kappa, low=1.0, high=MAX_KAPPA)
        for option, path in (("plot", plot), ("picture", picture)):
            if path is not None:
                options.check_output(option, path)
        console.print(_requirements(d, k_star, kappa, size))
        sparsity = _default_k(d, k_star, kappa) if k is None else k
        directions = q or _q_values(d, sparsity, k_star, size)
        setting = Setting(
            d=d, k=sparsity, k_star=k_star, q=np.array(sorted(directions)), support_size=size
        )
        target = _Target(distance=distance, accuracy=accuracy, version=chosen)
        console.print(_sweep(setting, Regularity.from_kappa(kappa, smoothness=smoothness), target))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TheoryWarning)  # the text below says it
            found = recommend(
                d=d,
                k_star=k_star,
                kappa=kappa,
                smoothness=smoothness,
                budget=budget,
                support_size=support_size,
                accuracy=accuracy,
            )
        options.echo(f"recommended: {found}")
        if plot is not None:
            figure = contraction_figure(
                d=d,
                k_star=_k_star_values(k_star),
                q=sorted(q or {max(1, d // 150), max(1, d // 6), d}),
                kappa=kappa,
                k_max=min(k_max, (d - k_star) // 2),
                support_size=size,
                version=chosen,
            )
            options.echo(f"wrote {save_figure(figure, plot)}")
        if picture is not None:
            options.echo(f"wrote {save_figure(estimator_figure(), picture)}")


def _requirements(d: int, k_star: int, kappa: float, support_size: int) -> Table:
    """Compare the printed and the corrected requirements, statement by statement."""
    table = Table(title=f"d={d}, k*={k_star}, kappa={kappa:g}, support size {support_size}")
    table.add_column("statement")
    table.add_column("requires")
    table.add_column("paper", justify="right")
    table.add_column("corrected", justify="right")
    case = _Case(d=d, k_star=k_star, support_size=support_size)
    printed = necessary_q(**case, kappa=kappa, version="paper")
    corrected = necessary_q(**case, kappa=kappa, version="corrected")
    table.add_row("Remark 4", "q, necessary", _format(printed), _format(corrected))
    least = smallest_q(**case, kappa=kappa)
    table.add_row("Theorem 1", "smallest q", "", "none" if least is None else f"{least[0]}")
    table.add_row("Theorem 1", "its k", "", "none" if least is None else f"{least[1]}")
    sparsities = (
        sufficient_k(k_star=k_star, kappa=kappa, version="paper"),
        sufficient_k(k_star=k_star, kappa=kappa),
    )
    table.add_row("Corollaries 1, 2", "k, sufficient", *map(str, sparsities))
    table.add_row("Corollaries 1, 2", "d for that k", *(str(2 * k + k_star) for k in sparsities))
    table.add_row("Corollary 1", "q, sufficient", *(_format_q(k, case) for k in sparsities))
    if support_size == d:
        table.add_row(
            "Corollary 2", "q, sufficient", *(_format_q_smooth(k, case) for k in sparsities)
        )
    return table


def _sweep(setting: Setting, regularity: Regularity, target: _Target) -> Table:
    """Tabulate the contraction against the number of directions."""
    version = target["version"]
    task = f"from distance {target['distance']:g} to {target['accuracy']:g}"
    table = Table(title=f"Theorem 1 at k={setting.k}, {task} ({version})")
    for name in ("q", "eps_F", "step size", "rho", "rho gamma", "iterations", "queries"):
        table.add_column(name, justify="right")
    columns = (
        eps_f(setting),
        step_size(setting, regularity),
        rho(setting, regularity, version=version),
        contraction(setting, regularity, version=version),
        iterations_to(setting, regularity, **target),
        queries_to(setting, regularity, **target),
    )
    for row in zip(np.atleast_1d(setting.q), *map(np.atleast_1d, columns), strict=True):
        q, eps, step, root, factor, iterations, queries = (float(value) for value in row)
        table.add_row(
            f"{q:.0f}",
            f"{eps:.4g}",
            f"{step:.4g}",
            f"{root:.4f}",
            f"{factor:.4f}",
            _format(iterations),
            _format(queries),
        )
    return table


def _default_k(d: int, k_star: int, kappa: float) -> int:
    return max(k_star, min(sufficient_k(k_star=k_star, kappa=kappa), (d - k_star) // 2))


def _q_values(d: int, k: int, k_star: int, support_size: int) -> list[int]:
    """Return numbers of directions from one to sixteen times the sufficient number."""
    sufficient = sufficient_q(d=d, k=k, k_star=k_star, support_size=support_size)
    return sorted({1, *(max(1, sufficient * 4**power // 16) for power in range(5))})


def _k_star_values(k_star: int) -> Sequence[int]:
    count = min(k_star, _MAX_CURVES)
    return [int(value) for value in np.unique(np.linspace(1, k_star, count).round())]


def _format_q(k: int, case: _Case) -> str:
    if 2 * k + case["k_star"] > case["d"]:
        return "d too small"
    return str(sufficient_q(k=k, **case))


def _format_q_smooth(k: int, case: _Case) -> str:
    if 2 * k + case["k_star"] > case["d"]:
        return "d too small"
    return str(sufficient_q_smooth(k=k, k_star=case["k_star"]))


def _format(value: float) -> str:
    if math.isinf(value):
        return "never"
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"
