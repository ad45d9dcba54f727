"""Attacks as experiments: which runs there are, what a row holds, and how rows are compared."""

from types import SimpleNamespace

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.paper import Curve, Job, NotRunError, Results, Scale, attack_runs, get_experiment
from szoht.paper.attack_runs import DATASETS, attack_rows, image_blocks
from szoht.paper.cache import Cache
from szoht.paper.claims import Column

TUNED = {"mnist": {method: {"q": 7} for method in ("szoht", "rspgf", "zscg", "zoro")}}


def measured(name, measure, curves, **arguments):
    """Measure on curves written by hand: a list of tables, one per block, for each curve."""
    made = [
        Curve(
            job=Job(experiment=name, curve=curve, settings={}, seed=seed),
            table={column: np.array(values, dtype=float) for column, values in table.items()},
            seconds=0.0,
        )
        for curve, tables in curves.items()
        for seed, table in enumerate(tables)
    ]
    return get_experiment(name).measures[measure](Results(made), **arguments)


def jobs(name, **scale):
    return get_experiment(name).jobs(Scale(options={"attacks": TUNED}, **scale))


def test_the_paper_states_settings_of_szoht_alone():
    for name, which in (("attacks", "figure"), ("attack-table", "table")):
        stated = [job for job in jobs(name) if f", {Column.STATED}:" in job.curve]
        assert {job.settings["method"] for job in stated} == {"szoht"}
        assert {job.settings["dataset"] for job in stated} == set(DATASETS)
        for job in stated:
            assert job.settings["options"] == getattr(DATASETS[job.settings["dataset"]], which)
    table = {name: dataset.table for name, dataset in DATASETS.items()}
    assert (table["mnist"]["q"], table["mnist"]["support_size"]) == (10, 10)
    assert table["imagenet"]["support_size"] == 20_000
    assert table["cifar10"]["q"] == 1000


def test_tuned_settings_of_a_folder_come_before_those_of_the_library():
    tuned = [job for job in jobs("attacks", datasets=("mnist",)) if str(Column.TUNED) in job.curve]
    assert {job.settings["method"] for job in tuned} == set(TUNED["mnist"])
    assert all(job.settings["options"] == {"q": 7} for job in tuned)


def test_one_data_set_at_a_time():
    for name in ("attacks", "attack-table"):
        assert {job.settings["dataset"] for job in jobs(name, datasets=("cifar10",))} == {"cifar10"}


def test_a_data_set_that_does_not_exist_is_named():
    with pytest.raises(ParameterError, match=r"`dataset` must be .*imagenet.*'svhn'"):
        jobs("attacks", datasets=("svhn",))


def test_an_image_keeps_its_seed_at_every_scale():
    quick, full = (list(image_blocks("mnist", Scale(quick=quick))) for quick in (True, False))
    assert [first for first, _ in full[: len(quick)]] == [first for first, _ in quick]
    assert full[-1][1] == DATASETS["mnist"].images
    assert list(image_blocks("imagenet", Scale(seeds=2))) == [[0, 1], [1, 2]]


def test_figure_and_table_share_the_runs_that_agree(tmp_path):
    """The tuned ones, and those whose stated settings are the same in both."""
    stems = {}
    for name in ("attacks", "attack-table"):
        run = get_experiment(name).run
        stems[name] = {
            Cache(tmp_path).stem(job, run): job.curve
            for job in jobs(name, seeds=1)
            if job.settings["method"] in TUNED["mnist"]
        }
    common = {stems["attacks"][stem] for stem in set(stems["attacks"]) & set(stems["attack-table"])}
    assert common == set(stems["attacks"].values()) - {
        f"mnist, {Column.STATED}: szoht",
        f"imagenet, {Column.STATED}: szoht",
    }


def test_the_cache_survives_a_process():
    """Its key must not hold the address of a loader."""
    assert " at 0x" not in repr(DATASETS)


@pytest.mark.parametrize("success", [True, False])
def test_a_row_has_norms_before_clipping_and_margins_that_hold_until_the_next_iterate(
    monkeypatch, success
):
    result = SimpleNamespace(
        success=success,
        queries=150,
        nit=3,
        change=np.array([0.0, 3.0, 0.0, -4.0]),
        history={"queries": [1, 101, 202], "value": [5.0, 4.0, 3.0]},
    )
    monkeypatch.setattr(attack_runs, "_attack", lambda *_: [result, result])
    table = attack_rows({"budget": 200, "images": [20, 22]}, 0)
    assert table["image"].tolist() == [20, 21]
    assert (table["l0"][0], table["l2"][0], table["iterations"][0]) == (50.0, 5.0, 3.0)
    values = [table[f"f {x}"][1] for x in range(201)]
    assert set(values[:101]) == {5.0}
    assert set(values[101:150]) == {4.0}
    assert set(values[150:]) == {0.0 if success else 4.0}


def test_a_run_that_left_the_numbers_counts_as_one_that_never_moved():
    table = {"f 0": np.array([2.0, 2.0]), "f 10": np.array([1.0, np.nan])}
    job = Job(experiment="attacks", curve="c", settings={}, seed=0)
    x, rows = attack_runs.margins([Curve(job=job, table=table, seconds=0.0)])
    assert x.tolist() == [0.0, 10.0]
    assert rows.tolist() == [[1.0, 0.5], [1.0, 1.0]]


def block(success, l0=(0,), l2=(0,), iterations=(0,)):
    return {"success": success, "l0": l0, "l2": l2, "iterations": iterations}


ATTACKS = {
    # two blocks of images; the second image resists, so its row counts for the rate only
    "mnist, tuned fairly: szoht": [
        block([1, 0], [2, 90], [1, 50], [10, 99]),
        block([1], [4], [3], [30]),
    ],
    "mnist, tuned fairly: rspgf": [block([1, 1], [99, 99], [2.5] * 2, [15] * 2)],
    "mnist, tuned fairly: zoro": [block([0], [1], [0.1], [1])],
    "mnist, tuned fairly: zscg": [block([1], [100], [9], [90])],
}


def test_the_table_has_means_over_successes_and_a_dash_without():
    best = {
        column: measured("attack-table", "best", ATTACKS, dataset="mnist", column=column)
        for column in ("success", "l0", "l2", "iterations")
    }
    assert {column: one.value for column, one in best.items()} == {
        "success": False,
        "l0": True,  # ZORO, which succeeded on nothing, has no l0
        "l2": True,
        "iterations": False,
    }
    assert "SZOHT 2 [1, 3]" in best["l2"].text
    assert "ZORO –" in best["l2"].text  # noqa: RUF001
    assert "3 images" in best["l2"].text


def test_without_a_success_there_is_no_value():
    nothing = {"mnist, as in the paper: szoht": [block([0], [7], [1], [1])]}
    assert measured("attack-table", "szoht", nothing, dataset="mnist", column="success").value == 0
    for column in ("l0", "l2", "iterations"):
        with pytest.raises(NotRunError, match="no attack succeeded"):
            measured("attack-table", "szoht", nothing, dataset="mnist", column=column)
    lost = ATTACKS | {"mnist, tuned fairly: szoht": [block([0], [7], [1], [1])]}
    with pytest.raises(NotRunError, match="nothing to compare"):
        measured("attack-table", "best", lost, dataset="mnist", column="l2")
    with pytest.raises(NotRunError, match="states no settings of the other methods"):
        measured("attack-table", "best", nothing, dataset="imagenet", column="l2")


def test_searches_are_compared_by_rate_and_by_median_queries():
    """A search that gave up after one query did not succeed in one query."""
    case = {"dataset": "mnist", "unit": "coordinates", "k": 20}
    mine, theirs = ("mnist, 20 coordinates: corner_search", "mnist, 20 coordinates: sparse_rs")
    image = [0, 1, 2, 3, 4]
    curves = {
        mine: [{"image": image, "success": [1, 1, 1, 1, 0], "queries": [10, 20, 30, 40, 1]}],
        theirs: [{"image": image, "success": [1, 1, 1, 0, 0], "queries": [40, 50, 120, 1, 1]}],
    }
    rates = measured("attack-table", "compared_with_sparse_rs", curves, column="success", **case)
    assert rates.value == pytest.approx(20.0)
    assert rates.low == 0.0
    medians = measured("attack-table", "compared_with_sparse_rs", curves, column="queries", **case)
    assert medians.value == pytest.approx(30 / 120)
    assert "5 images, 1 seeds" in medians.text
    found = measured("attack-table", "sparse_rs_median", curves, **case)
    assert (found.value, found.high) == (120.0, np.inf)
    more = {**curves, theirs: [*curves[theirs], {"image": [0], "success": [1], "queries": [9]}]}
    with pytest.raises(NotRunError, match="some of the runs"):
        measured("attack-table", "sparse_rs_median", more, **case)
    curves[mine][0]["success"] = [1, 1, 0, 0, 0]
    with pytest.raises(NotRunError, match="half of the images"):
        measured("attack-table", "compared_with_sparse_rs", curves, column="queries", **case)


def curve(*values):
    return [{f"f {2_000 * i}": [value] * 3 for i, value in enumerate(values)}]


def test_margins_are_compared_relative_to_their_start_up_to_the_judged_place():
    curves = {
        "mnist, tuned fairly: szoht": curve(10, 4, 1, 9),
        "mnist, tuned fairly: rspgf": curve(1, 0.9, 0.8, 0),
        "mnist, tuned fairly: zoro": curve(1, 1, 1, 1),
        "mnist, tuned fairly: zscg": curve(1, 0.7, 0.7, 0),
    }
    assert measured("attacks", "fastest", curves, dataset="mnist").value
    curves["mnist, tuned fairly: szoht"] = curve(10, 9, 8, 0)
    assert not measured("attacks", "fastest", curves, dataset="mnist").value
    with pytest.raises(NotRunError, match="states no settings of the other methods"):
        measured("attacks", "fastest", curves, dataset="imagenet")


def test_the_stated_margin_is_read_off_after_whole_iterations():
    """With q = 100 the iterate after 1,000 directions is known after 1,011 queries."""
    values = {"f 0": [2.0, 2.0], "f 1000": [9.0, 9.0], "f 1011": [1.0, 0.5], "f 1100": [0.0, 0.0]}
    curves = {"mnist, as in the paper: szoht": [values]}
    found = measured("attacks", "margin_after", curves, dataset="mnist", directions=1000)
    assert found.value == pytest.approx(0.375)
    assert (found.low, found.high) == (0.25, 0.5)
