"""Appendix "Projection of the gradient estimator": a sphere of estimates, projected on F."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import by_name, median_over_seeds
from szoht.paper.recording import table_from_rows
from szoht.reporting.theory_figures import estimates, estimator_figure
from szoht.theory import estimate_sphere

__all__ = ["EXPERIMENT"]

GRADIENT = (1.0, 0.6, 0.8)
COUNTS = {True: (1, 100, 1000, 20_000), False: (1, 100, 10_000, 1_000_000)}


def _jobs(scale: Scale) -> Sequence[Job]:
    return [
        Job(
            experiment="projection",
            curve="estimates",
            settings={"gradient": list(GRADIENT), "counts": list(COUNTS[scale.quick])},
            seed=seed,
            cost=0.02 if scale.quick else 0.4,
        )
        for seed in scale.runs(quick=5, full=5)
    ]


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return, for each number of directions, how far estimates are from sphere and gradient."""
    gradient = np.array(settings["gradient"])
    return table_from_rows([_row(gradient, n, seed) for n in settings["counts"]])


def _row(gradient: Any, n: int, seed: int) -> dict[str, float]:
    cloud = estimates(gradient, n_dir=n, seed=seed)
    center, radius = estimate_sphere(gradient)
    errors = cloud - gradient
    whole, part = (float(np.sqrt((e**2).sum(axis=1).mean())) for e in (errors, errors[:, :2]))
    return {
        "directions": float(n),
        "off_sphere": float(np.abs(np.linalg.norm(cloud - center, axis=1) / radius - 1).max()),
        "error": whole,
        "error_on_f": part,
        "relative_error": whole / float(np.linalg.norm(gradient)),
        "relative_error_on_f": part / float(np.linalg.norm(gradient[:2])),
        # uniform on the sphere: 1/4 of the mass lies within the radius of 0 (Archimedes)
        "near_zero": float((np.linalg.norm(cloud, axis=1) <= radius).mean()),
    }


def _figures(results: Results) -> Mapping[str, Plot]:
    most = int(results.columns("estimates", "directions")[0][-1])
    caption = (
        "The gradient, its estimates along one direction each, and their projections on F, the "
        f"plane z = 0: one direction, and {most} of them."
    )
    return {"sphere": Plot(figure=estimator_figure(n_dir=(1, most)), caption=caption)}


def _last(results: Results, column: str) -> Measurement:
    """Return a column at the largest number of directions."""
    return median_over_seeds(np.array([c[-1] for c in results.columns("estimates", column)]))


def _ratio(results: Results, upper: str, lower: str) -> Measurement:
    """Return the ratio of two columns at the largest number of directions."""
    pairs = zip(
        results.columns("estimates", upper), results.columns("estimates", lower), strict=True
    )
    return median_over_seeds(np.array([a[-1] / b[-1] for a, b in pairs]))


EXPERIMENT = Experiment(
    name="projection",
    title="Gradient estimates and their projections",
    where='Appendix "Projection of the gradient estimator onto a sparse support", its figure',
    description="Estimates of a gradient in three dimensions, full supports, mu to 0.",
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures=by_name(_last, _ratio),
)
