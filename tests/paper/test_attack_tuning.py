"""The grid search for attacks: what it contains, and what it chooses."""

import numpy as np
import pytest

from szoht.paper import Curve, Job, Results, Scale
from szoht.paper.attack_runs import DATASETS
from szoht.paper.attack_tuning import (
    TUNED_QUERIES,
    attack_tuning_jobs,
    select_attack_settings,
)
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.tuning import CHOOSING


def test_the_paper_is_in_every_grid_and_no_choosing_image_judges():
    jobs = attack_tuning_jobs(Scale())
    assert {job.seed for job in jobs} == set(CHOOSING)
    for name in TUNED_QUERIES:
        mine = [job.settings for job in jobs if job.settings["dataset"] == name]
        options = [one["options"] for one in mine if one["method"] == "szoht"]
        assert DATASETS[name].figure in options
        assert DATASETS[name].table in options
        assert min(one["images"][0] for one in mine) >= DATASETS[name].images
        assert {one["method"] for one in mine} == set(PAPER_METHODS)


def tried(method, options, *, margins):
    """Return the runs of one setting: for each seed the margins from the start to the end."""
    settings = {"dataset": "mnist", "method": method, "options": options}
    return [
        Curve(
            job=Job(
                experiment="attacks", curve=f"{method} {options}", settings=settings, seed=seed
            ),
            table={f"f {i}": np.array([value]) for i, value in enumerate(one)},
            seconds=0.0,
        )
        for seed, one in enumerate(margins)
    ]


def chosen(*others):
    rest = [
        run
        for method in ("rspgf", "zscg", "zoro")
        for run in tried(method, {"radius": 1.0, "penalty": 1.0}, margins=[[1, 1]])
    ]
    return select_attack_settings(Results([*rest, *(run for runs in others for run in runs)]))


def test_a_setting_that_one_seed_makes_unstable_is_not_chosen():
    found = chosen(
        tried("szoht", {"step_size": 1.0}, margins=[[1, 0.0], [1, 0.0], [1, np.nan]]),
        tried("szoht", {"step_size": 0.1}, margins=[[1, 0.5], [1, 0.5], [1, 0.5]]),
    )
    assert found["mnist"]["szoht"] == {"step_size": 0.1}


@pytest.mark.parametrize(("heavy", "expected"), [(0.22, 3.0), (0.4, 1.0)])
def test_of_similar_values_the_largest_penalty_counts(heavy, expected):
    """SZOHT converges to .2; of the settings with one penalty the fastest is compared."""
    found = chosen(
        tried("szoht", {"step_size": 1.0}, margins=[[1, 0.2]]),
        tried("rspgf", {"penalty": 3.0, "step_size": 1.0}, margins=[[1, heavy]]),
        tried("rspgf", {"penalty": 3.0, "step_size": 9.0}, margins=[[1, 0.9]]),
        tried("rspgf", {"penalty": 1.0, "step_size": 2.0}, margins=[[1, 0.0]]),
        tried("zscg", {"radius": 3.0}, margins=[[1, 0.2]]),
    )
    assert found["mnist"]["rspgf"]["penalty"] == expected
    assert found["mnist"]["zscg"] == {"radius": 3.0}


def test_a_data_set_that_was_not_searched_keeps_its_settings():
    assert list(chosen(tried("szoht", {"step_size": 1.0}, margins=[[1, 0.2]]))) == ["mnist"]
