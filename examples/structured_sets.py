"""What structured sets look like, and what is recovered from values with them and without.

Run with ``python examples/structured_sets.py --out structures.png``.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import szoht
from szoht import problems
from szoht.operators import Operator
from szoht.problems.structured import StructureName

PANELS: dict[StructureName, tuple[str, int]] = {
    "groups": ("3 of 100 groups", 30),
    "tree": ("50 nodes of a binary tree", 50),
    "region": ("30 connected pixels", 30),
    "regions": ("two regions", 30),
    "low_rank": ("30 x 30, rank 2", 116),
    "weights": ("weights with limits", 10),
    "cosines": ("5 cosines", 5),
}
"""The title of each, and how many non-zeros `Sparse` gets in its place."""


def solve(problem: problems.Problem, constraint: Operator, budget: int) -> szoht.Result:
    """Return what the default solver finds within a budget."""
    target = 1e-3 * problem.objective.value(problem.x0, None)
    result = szoht.minimize(
        problem.objective,
        problem.x0,
        constraint=constraint,
        max_queries=budget,
        target=target,
        rng=0,
    )
    name = type(constraint).__name__
    print(f"{problem.name}, {name}: {result.nfev} queries, f = {result.fun:.3g}")
    return result


def ratio(problem: problems.Problem, result: szoht.Result) -> str:
    """Return how far f fell from the start."""
    return f"{result.fun / problem.objective.value(problem.x0, None):.2%}"


def draw(panel: Axes, name: str, x: np.ndarray, scale: float) -> None:
    """Draw a point as an image or as stems."""
    if name in ("region", "regions", "low_rank"):
        panel.imshow(x.reshape(30, 30), cmap="RdBu_r", vmin=-scale, vmax=scale)
        panel.set(xticks=[], yticks=[])
    elif name == "tree":
        draw_tree(panel, x, scale)
    elif name == "cosines":
        panel.plot(x, linewidth=1, color="#2f6fb3")
        panel.set(ylim=(-1.2 * scale, 1.2 * scale), yticks=[])
    else:
        support = np.flatnonzero(x)
        panel.vlines(support, 0, x[support], linewidth=1, color="#2f6fb3")
        panel.axhline(0, linewidth=0.6, color="black")
        low = -1.2 * scale if (x < 0).any() else 0.0
        panel.set(xlim=(0, x.size), ylim=(low, 1.2 * scale), yticks=[])


def draw_tree(panel: Axes, x: np.ndarray, scale: float) -> None:
    """Draw the upper nodes of a binary tree, colored by their values."""
    shown = np.arange(255)
    level = np.floor(np.log2(shown + 1)).astype(int)
    across = (shown + 1 - 2.0**level + 0.5) / 2.0**level
    for node in shown[1:]:
        parent = (node - 1) // 2
        ends = [node, parent]
        panel.plot(across[ends], -level[ends], linewidth=0.3, color="#bbbbbb", zorder=1)
    color = np.where(x[shown] == 0, np.nan, x[shown])
    panel.scatter(across, -level, c=color, s=9, cmap="RdBu_r", vmin=-scale, vmax=scale, zorder=2)
    panel.set(xticks=[], yticks=[])


def main() -> None:
    """Solve each problem twice and draw the points."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("structures.png"))
    parser.add_argument("--queries", type=int, default=4_000)
    arguments = parser.parse_args()
    figure = Figure(figsize=(2.4 * len(PANELS), 6.4), layout="constrained")
    panels = figure.subplots(3, len(PANELS))
    for column, (name, (title, k)) in enumerate(PANELS.items()):
        problem = problems.structured(name, rng=1)
        assert problem.best_x is not None  # noqa: S101
        found = solve(problem, problem.constraint, arguments.queries)
        ignored = solve(problem, szoht.Sparse(k), found.nfev)
        scale = float(np.abs(problem.best_x).max())
        for row, x in enumerate((problem.best_x, found.x, ignored.x)):
            draw(panels[row, column], name, x, scale)
            panels[row, column].tick_params(labelsize=7)
        panels[0, column].set_title(title, fontsize=10)
        panels[1, column].set_xlabel(f"f {ratio(problem, found)}, {found.nfev} queries", fontsize=8)
        panels[2, column].set_xlabel(f"f {ratio(problem, ignored)}", fontsize=8)
    for row, label in enumerate(("target", "found with the set", "with Sparse(k)")):
        panels[row, 0].set_ylabel(label)
    figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()
