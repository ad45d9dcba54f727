from paper import fakes
from szoht.paper import Curve, Job
from szoht.paper.experiment_result import ExperimentResult
from szoht.paper.settings_table import settings_table
from szoht.reporting.cells import Badge


def table(settings, stated):
    curves = [
        Curve(job=Job(experiment="fake", curve="a", settings=one, seed=seed), table={}, seconds=0)
        for seed, one in enumerate(settings)
    ]
    experiment = fakes.make(stated_settings=lambda _: stated)
    return settings_table(ExperimentResult(experiment=experiment, curves=curves))


def test_differences_are_marked_and_what_is_not_stated_too():
    one = {"q": 100, "options": {"mu": 0.3}, "budget": 50}
    found = table([one, one], {"q": 10, "mu": 0.1 * 3})
    assert found.header == ["curve", "runs", "q", "mu", "budget"]
    assert found.rows == [["a", 2, Badge("100 ≠ 10", "warning"), "0.3", "50 *"]]
    assert found.caption.startswith("Settings. 1 differ from the paper's")
    assert not found.collapsed


def test_what_varies_between_the_runs_of_a_curve_is_left_out():
    found = table([{"k": 5, "images": [0, 5]}, {"k": 5, "images": [5, 10]}], {"k": 5})
    assert found.header == ["curve", "runs", "k"]
    assert found.rows == [["a", 2, "5"]]
    assert found.collapsed
    assert "None differs" in found.caption


def test_a_sketch_has_no_settings():
    found = table([{"k": 5}], {})
    assert found.rows == [["a", 1, "5"]]
    assert "states none" in found.caption
