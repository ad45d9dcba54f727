"""`reproduce`: run experiments, check their claims, write the report."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from szoht.core.json_text import read_json
from szoht.core.validation import check_integer
from szoht.errors import ParameterError
from szoht.paper.cache import Cache
from szoht.paper.claims import ClaimResult, Verdict, evaluate_claim, read_claims
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Curve, Experiment, Job, Results, Scale
from szoht.paper.experiment_result import ExperimentResult
from szoht.paper.registry import experiment_names, get_experiment
from szoht.paper.report import write_report
from szoht.paper.runner import JobResult, run_jobs
from szoht.paper.verdicts import VERDICTS_FILE, record_verdicts

__all__ = ["ProgressCallback", "Reproduction", "reproduce", "tune"]

ProgressCallback = Callable[[Sequence[Job], JobResult | None], None]
"""Called once with all jobs and None, then with all jobs and each result as it arrives."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The path of the report, and the results of all experiments."""

    path: Path
    experiment_results: Sequence[ExperimentResult]

    @property
    def claim_results(self) -> list[ClaimResult]:
        """All claims with their verdicts."""
        return [one for result in self.experiment_results for one in result.claim_results]


def reproduce(
    which: str | Sequence[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    datasets: Sequence[str] = (),
    out: str | Path = "out/reproduce",
    workers: int | None = None,
    callback: ProgressCallback | None = None,
) -> Reproduction:
    """Regenerate figures of the paper and check its claims.

    Parameters
    ----------
    which : str or sequence of str
        Names of experiments, or "all".
    quick : bool
        Smaller settings that take minutes; verdicts are then only indicative.
    seeds : int, optional
        Runs per curve, >= 1; of the attacks, images.
    datasets : sequence of str
        Data sets of the attacks, such as "mnist"; all by default.
    out : path
        Folder for ``report.html``, ``curves/``, ``figures/``, ``cache/``, and, of full runs,
        ``verdicts.json``. Curves in the cache are not computed again.
    workers : int, optional
        Processes, >= 1; by default one per core.
    callback : callable, optional
        Called with the progress, see `ProgressCallback`.

    Returns
    -------
    Reproduction
        The path of the page, and the verdicts.
    """
    start = time.perf_counter()
    folder = Path(out)
    experiments = _experiments(which)
    scale = Scale(
        quick=quick,
        seeds=_optional("seeds", seeds),
        options=tuned_settings(folder),
        datasets=tuple(datasets),
    )
    finished = _run(
        {one.name: (one, one.jobs(scale)) for one in experiments if not one.why_unavailable()},
        folder,
        workers,
        callback,
    )
    experiment_results = [
        _evaluate(one, finished.get(one.name, []), quick=quick) for one in experiments
    ]
    spent = time.perf_counter() - start
    path = write_report(experiment_results, folder, quick=quick, seconds=spent)
    if not quick:
        record_verdicts(experiment_results, folder / VERDICTS_FILE)
    return Reproduction(path=path, experiment_results=experiment_results)


def tune(
    name: str,
    *,
    quick: bool = False,
    datasets: Sequence[str] = (),
    out: str | Path = "out/reproduce",
    workers: int | None = None,
    callback: ProgressCallback | None = None,
) -> Path:
    """Run the grid search of an experiment, save its settings for `reproduce`, return the file."""
    experiment = get_experiment(name)
    if experiment.tuning_jobs is None or experiment.select_settings is None:
        raise ParameterError(f"`name` must be an experiment with a grid search; got name={name!r}.")
    if reason := experiment.why_unavailable():
        raise ParameterError(f"`name` must be an experiment that can be run here: {reason}")
    folder = Path(out)
    jobs = experiment.tuning_jobs(Scale(quick=quick, datasets=tuple(datasets)))
    finished = _run({name: (experiment, jobs)}, folder, workers, callback)[name]
    for one in finished:
        if one.error:
            raise ParameterError(f"the grid search failed at {one.job.curve}: {one.error}")
    chosen = experiment.select_settings(
        Results([one.curve for one in finished if one.curve is not None])
    )
    path = folder / "tuned" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = tuned_settings(folder).get(name, {})  # of other data sets
    path.write_text(json.dumps({**kept, **chosen}, indent=1) + "\n")
    return path


def tuned_settings(folder: Path) -> Mapping[str, Any]:
    """Return the settings that `tune` saved, by experiment."""
    found = {}
    for path in sorted((folder / "tuned").glob("*.json")):
        found[path.stem] = read_json(path)
    return found


def _experiments(which: str | Sequence[str]) -> list[Experiment]:
    wanted = [which] if isinstance(which, str) else list(which)
    return [get_experiment(name) for name in (experiment_names() if "all" in wanted else wanted)]


def _run(
    plans: Mapping[str, tuple[Experiment, Sequence[Job]]],
    folder: Path,
    workers: int | None,
    callback: ProgressCallback | None,
) -> dict[str, list[JobResult]]:
    count = _optional("workers", workers) or os.cpu_count() or 1
    all_jobs = [job for _, jobs in plans.values() for job in jobs]
    if callback is not None:
        callback(all_jobs, None)
    finished: dict[str, list[JobResult]] = {name: [] for name in plans}
    runs = {name: experiment.run for name, (experiment, _) in plans.items()}
    for one in run_jobs(all_jobs, runs, Cache(folder / "cache"), workers=count):
        finished[one.job.experiment].append(one)
        if callback is not None:
            callback(all_jobs, one)
    return finished


def _evaluate(
    experiment: Experiment, finished: Sequence[JobResult], *, quick: bool
) -> ExperimentResult:
    claims = [claim for claim in read_claims() if claim.experiment == experiment.name]
    if reason := experiment.why_unavailable():
        claim_results = [
            ClaimResult(claim=claim, verdict=Verdict.SKIPPED, reason=reason) for claim in claims
        ]
        return ExperimentResult(experiment=experiment, claim_results=claim_results, errors=[reason])
    curves: list[Curve] = [one.curve for one in finished if one.curve is not None]
    curves.sort(key=lambda curve: (curve.job.curve, curve.job.seed))
    errors = [f"{one.job.curve}, seed {one.job.seed}: {one.error}" for one in finished if one.error]
    results = Results(curves)
    plots, tables = {}, []
    try:
        plots = dict(experiment.figures(results))
        tables = list(experiment.tables(results))
    except NotRunError as missing:
        errors.append(f"the figure: {missing}")
    return ExperimentResult(
        experiment=experiment,
        curves=curves,
        plots=plots,
        tables=tables,
        claim_results=[evaluate_claim(claim, experiment, results, quick=quick) for claim in claims],
        errors=errors,
    )


def _optional(name: str, value: int | None) -> int | None:
    return None if value is None else check_integer(name, value, low=1)
