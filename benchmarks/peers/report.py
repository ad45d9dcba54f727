"""Medians over seeds, the table, the ratios to the best other solver, data profiles."""

import csv
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
from problems import NAMES
from problems.portfolios import NAMES as PORTFOLIOS
from solvers import OURS, SOLVERS
from store import Outcome

__all__ = ["report"]

NEVER = math.inf
LONG = 300


class Medians:
    """Queries to target, by problem and solver; infinite if most seeds fail."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.runs: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
        for outcome in outcomes:
            self.runs[outcome.problem, outcome.solver].append(outcome)
        self.problems = sorted({o.problem for o in outcomes}, key=NAMES.index)
        self.solvers = sorted({o.solver for o in outcomes}, key=list(SOLVERS).index)
        self.k = {o.problem: o.k for o in outcomes if o.k}

    def __call__(self, problem: str, solver: str) -> float | None:
        """Return the median, infinite if not solved, None if not run."""
        runs = self.runs.get((problem, solver))
        if not runs:
            return None
        return median([NEVER if o.solved_at is None else float(o.solved_at) for o in runs])

    def best_other(self, problem: str) -> tuple[float, str]:
        """Return the fewest queries among the other solvers, and whose they are."""
        others = [(self(problem, name), name) for name in self.solvers if name != OURS]
        reached = [(value, name) for value, name in others if value is not None]
        return min(reached, default=(NEVER, "-"))


def report(outcomes: Sequence[Outcome], folder: Path) -> str:
    """Write table, profiles and figure to the folder; return the text."""
    medians = Medians(outcomes)
    parts = [_table(medians), _ratios(medians), _portfolios(medians), _overhead(medians)]
    _write_table(medians, folder / "table.csv")
    taus, profiles = _profiles(medians)
    _write_profiles(taus, profiles, folder / "profiles.csv")
    _draw(taus, profiles, folder / "profiles.png")
    text = "\n\n".join(part for part in parts if part) + "\n"
    (folder / "report.txt").write_text(text)
    return text


def _cell(value: float | None) -> str:
    if value is None:
        return "n/a"
    return "-" if value == NEVER else f"{value:.0f}"


def _table(medians: Medians) -> str:
    width = max(map(len, medians.problems), default=8) + 2
    lines = ["Queries to target, medians over seeds; - not solved, n/a not run"]
    names = [name[:13] for name in medians.solvers]
    lines.append(" " * width + "".join(f"{name:>15}" for name in names))
    for problem in medians.problems:
        cells = [f"{_cell(medians(problem, name)):>15}" for name in medians.solvers]
        lines.append(f"{problem:<{width}}" + "".join(cells))
    return "\n".join(lines)


def _ratios(medians: Medians) -> str:
    lines = [f"Ratio of queries, {OURS} to the best other, where any other solves the problem"]
    ratios = []
    for problem in medians.problems:
        ours = medians(problem, OURS)
        theirs, name = medians.best_other(problem)
        if ours is None or theirs == NEVER:
            continue
        ratios.append(ours / theirs)
        lines.append(
            f"  {problem:<20} {_cell(ours):>8} / {_cell(theirs):>8} {name:<16} {ratios[-1]:6.2f}"
        )
    if not ratios:
        return ""
    solved = sum(r < NEVER for r in ratios)
    within = sum(r <= 2 for r in ratios)
    lines.append(
        f"{OURS} / best other over {len(ratios)} problems that another solver solves: "
        f"median {median(ratios):.2f}, maximum {max(ratios):.2f}; solved {solved}, "
        f"within twice {within}"
    )
    alone = [
        p
        for p in medians.problems
        if medians.best_other(p)[0] == NEVER and (medians(p, OURS) or NEVER) < NEVER
    ]
    lines.append(f"solved by {OURS} alone: {', '.join(alone) or 'none'}")
    return "\n".join(lines)


def _portfolios(medians: Medians) -> str:
    """Return the gaps to the best known sparse value at the end of the runs."""
    lines = ["Portfolios: median gap to the best known k-sparse value at the end of the budget, %"]
    for problem in medians.problems:
        if not problem.startswith(PORTFOLIOS):
            continue
        cells = []
        for name in medians.solvers:
            gaps = [100.0 * (o.best / o.known - 1.0) for o in medians.runs.get((problem, name), [])]
            if gaps:
                cells.append(f"{name} {median(gaps):.1f}")
        lines.append(f"  {problem:<12} " + ", ".join(cells))
    return "\n".join(lines) if len(lines) > 1 else ""


def _overhead(medians: Medians) -> str:
    """Return the medians over runs long enough that what is done once does not count."""
    lines = [f"Overhead, microseconds of CPU time per query: median of runs of >= {LONG} queries"]
    lines.append(f"  {'':<16} {'d < 1000':>10} {'d = 1000':>10} {'d > 1000':>10}")
    ranges = (range(1000), range(1000, 1001), range(1001, 10**9))
    for solver in medians.solvers:
        long = [
            o
            for (_, name), runs in medians.runs.items()
            if name == solver
            for o in runs
            if o.queries >= LONG
        ]
        own = [[o.overhead for o in long if o.d in inside] for inside in ranges]
        cells = [f"{median(values):10.0f}" if values else f"{'-':>10}" for values in own]
        lines.append(f"  {solver:<16} " + " ".join(cells))
    return "\n".join(lines)


def _profiles(medians: Medians) -> tuple[list[float], dict[str, list[float]]]:
    """Return the fractions of problems solved within tau (k + 1) queries (Moré and Wild)."""
    costs = {
        solver: [
            (value if (value := medians(problem, solver)) is not None else NEVER)
            / (medians.k.get(problem, 1) + 1)
            for problem in medians.problems
        ]
        for solver in medians.solvers
    }
    taus = [float(tau) for tau in np.geomspace(1.0, 1e5, 201)]
    total = max(1, len(medians.problems))
    return taus, {
        solver: [sum(cost <= tau for cost in own) / total for tau in taus]
        for solver, own in costs.items()
    }


def _write_table(medians: Medians, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", *medians.solvers])
        for problem in medians.problems:
            writer.writerow([problem, *(_cell(medians(problem, s)) for s in medians.solvers)])


def _write_profiles(taus: list[float], profiles: dict[str, list[float]], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["queries_per_k_plus_1", *profiles])
        writer.writerows(zip([f"{t:.6g}" for t in taus], *profiles.values(), strict=True))


def _draw(taus: list[float], profiles: dict[str, list[float]], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  (optional)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        print("matplotlib is not installed: no figure")
        return
    figure = Figure(figsize=(8.5, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    order = sorted(profiles, key=lambda name: (name != OURS, -sum(profiles[name])))
    styles = ["-", "--", "-.", ":"]
    for i, name in enumerate(order):
        bold = name == OURS
        axes.step(
            taus,
            profiles[name],
            where="post",
            label=name,
            color="black" if bold else f"C{i % 10}",
            linestyle="-" if bold else styles[i // 10 % 4] if i > 10 else styles[i % 2],
            linewidth=2.6 if bold else 1.3,
        )
    axes.set_xscale("log")
    axes.set_xlim(taus[0], taus[-1])
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("queries / (k + 1)")
    axes.set_ylabel("fraction of problems solved")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
