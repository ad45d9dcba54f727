"""Small versions of the experiments: loose bands over fixed seeds.

An estimator scaled by the wrong factor, or a projection that keeps the wrong coordinates, leaves
every one of them.
"""

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import algorithms, problems
from szoht.core.objective import as_objective
from szoht.paper import (
    Curve,
    Job,
    Results,
    Scale,
    experiment_names,
    get_experiment,
    portfolio_runs,
    recording,
)
from szoht.paper.claims import Verdict, evaluate_claim, read_claims


def run_job(name, **changes):
    """Run one small job of an experiment."""
    experiment = get_experiment(name)
    seed = changes.pop("seed", 0)
    job = changes.pop("job")
    settings = {**job.settings, **changes}
    return experiment.run(settings, seed)


def first_job(name, curve):
    return next(job for job in get_experiment(name).jobs(Scale(quick=True)) if job.curve == curve)


@most_seeds
def test_dimension_contracts_as_the_paper_says(seed):
    """(12/13)^2 per iteration on the mean, whatever the supports; f = 0.231 after ten."""
    job = first_job("dimension", "all d=5000")
    small = {"d": 1000, "k": 100, "q": 414, "support_size": 1000, "budget": 4140}
    table = run_job("dimension", job=job, seed=seed, **small)
    assert table["f"][0] == pytest.approx(1.1, abs=1e-3)
    assert table["directions"][-1] == 4140
    assert table["queries"][-1] == 4150
    assert table["f"][-1] == pytest.approx(0.231, abs=0.03)


@most_seeds
def test_dimension_with_small_supports(seed):
    job = first_job("dimension", "50 d=5000")
    table = run_job("dimension", job=job, seed=seed, budget=10 * job.settings["q"])
    assert table["f"][-1] == pytest.approx(0.231, abs=0.09)


def test_running_numbers_see_every_iterate():
    """More iterates than rows: their count, and the longest, are still of all."""
    norms = []

    def value(x):
        return float(((x - 1) ** 2).sum())

    def longest(most, before, x):
        norms.append(float(np.linalg.norm(x)))
        return max(most, norms[-1])

    table = recording.record_run(
        as_objective(value),
        np.zeros(6),
        method=algorithms.szoht(k=2, q=3, mu=1e-3, step_size=0.3),
        measures={},
        running={
            "count": recording.Running(0.0, lambda count, before, x: count + 1),
            "longest": recording.Running(0.0, longest),
        },
        seed=0,
        max_iterations=900,
    )
    assert table["count"].size < 600
    assert table["count"][-1] == 900
    assert table["longest"][-1] == max(norms)


@pytest.mark.parametrize("best", [True, False])
def test_the_best_iterate_or_the_newest_is_followed(best):
    """A step so long that f goes up and down."""
    table = recording.record_run(
        as_objective(lambda x: float(((x - 1) ** 2).sum())),
        np.zeros(6),
        method=algorithms.szoht(k=2, q=3, step_size=0.3),
        measures={"f": lambda x: float(((x - 1) ** 2).sum())},
        seed=0,
        best=best,
        max_iterations=40,
    )
    assert (table["directions"][0], table["queries"][0], table["f"][0]) == (0, 0, 6.0)
    assert (np.diff(table["f"]) <= 0).all() == best
    assert (np.diff(table["queries"]) > 0).all()


@most_seeds
def test_sensitivity_falls_as_drawn(seed):
    """q = 2500, four iterations: f falls by (1 - eta)^2 each, plus what thresholding loses."""
    job = first_job("sensitivity", "plotted q=2500")
    table = run_job("sensitivity", job=job, seed=seed, budget=10_000)
    assert table["f"][0] == pytest.approx(0.01631, abs=1e-5)
    assert table["distance_drawn"][0] == pytest.approx(2.2352, abs=5e-4)
    assert 0.0079 < table["f"][-1] < 0.0094
    assert (np.diff(table["f"]) < 0).all()


@most_seeds
def test_conflict_is_measured(seed):
    experiment = get_experiment("conflict")
    job = Job(
        experiment="conflict",
        curve="q=50",
        settings={
            "d": 300,
            "k_star": 5,
            "mu": 1e-6,
            "kept": [5, 20, 80],
            "repeats": 60,
            "q": 50,
        },
        seed=seed,
    )
    table = experiment.run(job.settings, job.seed)
    results = Results([Curve(job=job, table=table, seconds=0.0)])
    assert experiment.measures["lemma"](results).value < 1 + 1e-6
    assert experiment.measures["tight"](results).value > 0.999
    assert experiment.measures["moment"](results).value < 4
    assert experiment.measures["monotone"](results, column="error", rising=True).value
    assert experiment.measures["covered"](results).value < 1


def test_every_job_is_plain_data():
    """Jobs are keyed by their JSON; quick ones are cheaper."""
    for name in experiment_names():
        experiment = get_experiment(name)
        if experiment.why_unavailable():
            continue
        quick, full = experiment.jobs(Scale(quick=True)), experiment.jobs(Scale())
        assert len({(job.curve, job.seed) for job in full}) == len(full)
        assert sum(job.cost for job in quick) <= sum(job.cost for job in full)
        assert {job.experiment for job in full} == {name}


def test_closed_forms_are_checked_in_full():
    experiment = get_experiment("rho-gamma")
    curves = [
        Curve(job=job, table=experiment.run(job.settings, 0), seconds=0.0)
        for job in experiment.jobs(Scale())
    ]
    claims = [claim for claim in read_claims() if claim.experiment == "rho-gamma"]
    verdicts = {
        claim.id: evaluate_claim(claim, experiment, Results(curves), quick=False).verdict
        for claim in claims
    }
    assert verdicts.pop("rho-gamma-corollary") is Verdict.DIFFERS
    assert set(verdicts.values()) == {Verdict.HOLDS}


def test_port5_is_reproduced():
    """SZOHT as the paper states it: 3.5e-4 at 5,000 queries, within a factor of 1.8."""
    job = first_job("assets", "port5 stated szoht")
    assert job.settings["options"]["step_size"] == 1.0
    ends = [run_job("assets", job=job, budget=5_500, seed=seed)["f"][-1] for seed in range(5)]
    assert 1.9e-4 < np.median(ends) < 6.3e-4


def test_dense_methods_start_from_all_assets_and_sparse_ones_from_ten():
    for method, count in (("szoht", 10), ("zscg", 225)):
        job = first_job("assets", f"port5 tuned {method}")
        table = run_job("assets", job=job, budget=300)
        assert table["l0"][0] == count
        best, _ = portfolio_runs.best_known(problems.portfolio("port5", form="raw"))
        assert np.allclose(table["gap"], table["f"] / best - 1, rtol=1e-9)


def test_distances_are_between_weights():
    """At the start, between ten equal weights and the best ten; a longer x is as far away."""
    problem = problems.portfolio("port5", k=10, form="raw", rng=0)
    table = run_job("assets", job=first_job("assets", "port5 tuned szoht"), budget=300)
    assert table["distance"][0] == pytest.approx(np.linalg.norm(problem.x0 - problem.best_x))
    assert portfolio_runs._distance(7 * problem.best_x, problem.best_x) < 1e-12
    assert portfolio_runs._distance(np.array([1.0, -1.0]), np.array([1.0, 0.0])) == np.inf


@most_seeds
def test_the_default_solver_beats_it(seed):
    job = first_job("assets", "port5 auto")
    table = run_job("assets", job=job, seed=seed, budget=2_500)
    always(table["l0"][-1] <= 10)
    always(table["gap"][-1] > -1e-9)
    always(np.isfinite(table["distance"]).all())
    assert table["f"][-1] < 1.4e-4


def test_only_experiments_with_a_grid_can_be_tuned(tmp_path):
    from szoht.errors import ParameterError  # noqa: PLC0415
    from szoht.paper import tune  # noqa: PLC0415

    with pytest.raises(ParameterError, match="an experiment with a grid search"):
        tune("conflict", out=tmp_path)
    with pytest.raises(ParameterError, match="`name` must be one of"):
        get_experiment("nonsense")
