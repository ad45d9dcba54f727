"""`reproduce`: run experiments, judge their claims, write the report."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from szoht.core.validation import check_integer
from szoht.errors import ParameterError
from szoht.paper.cache import Cache
from szoht.paper.claims import Judged, Verdict, judge, read_claims
from szoht.paper.experiment import Curve, Experiment, Job, NotRunError, Results, Scale
from szoht.paper.registry import find, names
from szoht.paper.report import Outcome, write_report
from szoht.paper.runner import Finished, run_jobs

__all__ = ["Report", "Watch", "reproduce", "tune"]

Watch = Callable[[Sequence[Job], Finished | None], None]
"""Called once with all jobs and None, then with each job as it finishes."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was written, and every verdict."""

    path: Path
    outcomes: Sequence[Outcome]

    @property
    def judged(self) -> list[Judged]:
        """The claims with their verdicts."""
        return [judged for outcome in self.outcomes for judged in outcome.judged]


def reproduce(
    which: str | Sequence[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: str | Path = "out/reproduce",
    workers: int | None = None,
    watch: Watch | None = None,
) -> Report:
    """Regenerate figures of the paper and judge its claims.

    Parameters
    ----------
    which : str or sequence of str
        Names of experiments, or "all".
    quick : bool
        Minutes instead of the paper's sizes; verdicts are then indicative.
    seeds : int, optional
        Runs per curve, >= 1.
    out : path
        Where ``report.html``, ``curves/``, ``figures/`` and ``cache/`` go. Curves that are
        finished there are not run again.
    workers : int, optional
        Processes, >= 1; by default one per core.
    watch : callable, optional
        Told of progress, see `Watch`.

    Returns
    -------
    Report
        The path of the page, and the verdicts.
    """
    start = time.perf_counter()
    folder = Path(out)
    experiments = _experiments(which)
    scale = Scale(quick=quick, seeds=_optional("seeds", seeds), options=found_settings(folder))
    finished = _run(
        {one.name: (one, one.jobs(scale)) for one in experiments if not one.unavailable()},
        folder,
        workers,
        watch,
    )
    outcomes = [_outcome(one, finished.get(one.name, []), quick=quick) for one in experiments]
    spent = time.perf_counter() - start
    path = write_report(outcomes, folder, quick=quick, seconds=spent)
    return Report(path=path, outcomes=outcomes)


def tune(
    name: str,
    *,
    quick: bool = False,
    out: str | Path = "out/reproduce",
    workers: int | None = None,
    watch: Watch | None = None,
) -> Path:
    """Search the grid of an experiment and keep what it finds for `reproduce`; return the file."""
    experiment = find(name)
    if experiment.grid is None or experiment.choose is None:
        raise ParameterError(f"`name` must be an experiment with a grid; got name={name!r}.")
    if reason := experiment.unavailable():
        raise ParameterError(f"`name` must be an experiment that can be run here: {reason}")
    folder = Path(out)
    jobs = experiment.grid(Scale(quick=quick))
    finished = _run({name: (experiment, jobs)}, folder, workers, watch)[name]
    for one in finished:
        if one.error:
            raise ParameterError(f"the grid has a point that fails: {one.job.curve}: {one.error}")
    chosen = experiment.choose(Results([one.curve for one in finished if one.curve is not None]))
    path = folder / "tuned" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(chosen, indent=1) + "\n")
    return path


def found_settings(folder: Path) -> Mapping[str, Any]:
    """Return what `tune` has found, by experiment."""
    found = {}
    for path in sorted((folder / "tuned").glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text())
        except ValueError as error:
            raise ParameterError(f"{path} must be JSON as `tune` writes it: {error}.") from error
    return found


def _experiments(which: str | Sequence[str]) -> list[Experiment]:
    wanted = [which] if isinstance(which, str) else list(which)
    return [find(name) for name in (names() if "all" in wanted else wanted)]


def _run(
    plans: Mapping[str, tuple[Experiment, Sequence[Job]]],
    folder: Path,
    workers: int | None,
    watch: Watch | None,
) -> dict[str, list[Finished]]:
    count = _optional("workers", workers) or os.cpu_count() or 1
    everything = [job for _, jobs in plans.values() for job in jobs]
    if watch is not None:
        watch(everything, None)
    finished: dict[str, list[Finished]] = {name: [] for name in plans}
    runs = {name: experiment.run for name, (experiment, _) in plans.items()}
    for one in run_jobs(everything, runs, Cache(folder / "cache"), workers=count):
        finished[one.job.experiment].append(one)
        if watch is not None:
            watch(everything, one)
    return finished


def _outcome(experiment: Experiment, finished: Sequence[Finished], *, quick: bool) -> Outcome:
    claims = [claim for claim in read_claims() if claim.experiment == experiment.name]
    if reason := experiment.unavailable():
        judged = [Judged(claim=claim, verdict=Verdict.OPEN, reason=reason) for claim in claims]
        return Outcome(experiment=experiment, judged=judged, problems=[reason])
    curves: list[Curve] = [one.curve for one in finished if one.curve is not None]
    curves.sort(key=lambda curve: (curve.job.curve, curve.job.seed))
    problems = [
        f"{one.job.curve}, seed {one.job.seed}: {one.error}" for one in finished if one.error
    ]
    results = Results(curves)
    drawings = {}
    try:
        drawings = dict(experiment.figures(results))
    except NotRunError as missing:
        problems.append(f"the figure: {missing}")
    return Outcome(
        experiment=experiment,
        curves=curves,
        drawings=drawings,
        judged=[judge(claim, experiment, results, quick=quick) for claim in claims],
        problems=problems,
    )


def _optional(name: str, value: int | None) -> int | None:
    return None if value is None else check_integer(name, value, low=1)
