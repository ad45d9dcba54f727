"""Two-step projections: what keeping more coordinates buys, in theory and on regressions.

Run with ``python examples/two_step.py --out two_step.png``.
"""

import argparse
from pathlib import Path

import numpy as np

import szoht
from szoht import problems
from szoht.reporting.figures import COLORS
from szoht.reporting.theory_figures import two_step_figure

K_STAR, ITERATIONS, SEEDS = 10, 1_500, range(7)
RELAXATIONS = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0)


def final_ratio(problem: problems.Problem, k: int) -> float:
    """Return f after gradient steps, in multiples of its value at the best 10-sparse point known.

    Points are k-sparse, and in the l1 ball around zero on which that point lies.
    """
    assert problem.best is not None  # noqa: S101
    assert problem.best_x is not None  # noqa: S101
    assert problem.objective.gradient is not None  # noqa: S101
    ball = szoht.L1Ball(float(np.abs(problem.best_x).sum()))
    both = szoht.TwoStep(sparse=szoht.Sparse(k), convex=ball)
    x, step = problem.x0, 1 / problem.constants["smoothness"]
    for _ in range(ITERATIONS):
        x = both.prox(x - step * problem.objective.gradient(x, None), step)
    return float(problem.objective.value(x, None)) / problem.best


def main() -> None:
    """Draw the guarantee, and beside it what regressions with correlated columns show."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("two_step.png"))
    arguments = parser.parse_args()
    figure = two_step_figure()
    left = figure.axes[0]
    left.set_title("guaranteed")
    figure.set_size_inches(9.4, 3.6)
    left.set_subplotspec(figure.add_gridspec(1, 2)[0])
    right = figure.add_subplot(1, 2, 2)
    for correlation, color in zip((0.0, 0.8, 0.95), COLORS, strict=False):
        made = [
            problems.recovery(100, 300, K_STAR, correlation=correlation, noise=0.5, rng=seed)
            for seed in SEEDS
        ]
        ratios = [[final_ratio(p, int(r * K_STAR)) for p in made] for r in RELAXATIONS]
        medians = np.median(ratios, axis=1)
        print(correlation, medians.round(2))
        right.plot(RELAXATIONS, medians, "o-", color=color, label=f"correlation {correlation:g}")
        right.fill_between(
            RELAXATIONS, np.min(ratios, axis=1), np.max(ratios, axis=1), color=color, alpha=0.12
        )
    right.axhline(1.0, color="black", linewidth=0.6)
    right.set(
        xscale="log",
        yscale="log",
        xlabel="coordinates kept, in multiples of $k^*$",
        ylabel="f, in multiples of the best known",
        title="measured",
    )
    right.set_xticks(RELAXATIONS, [f"{r:g}" for r in RELAXATIONS])
    right.minorticks_off()
    right.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    right.spines[["top", "right"]].set_visible(False)
    right.grid(alpha=0.25, linewidth=0.6)
    right.legend(frameon=False)
    figure.savefig(arguments.out, dpi=90)


if __name__ == "__main__":
    main()
