"""The grid search on portfolios: equal grids, the paper's setting in them, the worst seed."""

import numpy as np
import pytest

from szoht.paper import Curve, Job, Results, Scale, portfolio_runs, portfolio_tuning, tune
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.portfolio_tuning import default_settings, grid, race, select_settings
from szoht.paper.reproduce import tuned_settings
from szoht.paper.tuning import CHOOSING


@pytest.mark.parametrize("name", portfolio_runs.PORTFOLIOS)
def test_every_method_has_as_many_settings(name):
    """And SZOHT those of the paper, where it states them."""
    sizes = {method: len(grid(name, method)) for method in PAPER_METHODS}
    stated = portfolio_runs.stated_settings(name, "szoht")
    assert bool(stated) == (name != "port3")
    assert sizes == dict.fromkeys(PAPER_METHODS, 54) | {"szoht": 54 + bool(stated)}
    assert not stated or stated in grid(name, "szoht")


def test_no_parameter_of_another_method_is_stated():
    for method in ("rspgf", "zscg", "zoro"):
        assert portfolio_runs.stated_settings("port4", method) == {}


def test_steps_scale_with_the_square_of_the_start():
    """Ten assets have |x0|^2 = 1/10, all 98 of port4 have 1/98."""
    sparse = {one["step_size"] for one in grid("port4", "szoht")[1:]}
    dense = {one["step_size"] for one in grid("port4", "rspgf")}
    ratios = np.array(sorted(sparse)) / np.array(sorted(dense))
    assert ratios == pytest.approx(9.8, rel=0.1)


def test_shipped_settings_are_of_the_grid():
    shipped = default_settings()
    assert len(shipped) == 12
    for name in portfolio_runs.PORTFOLIOS:
        for method in PAPER_METHODS:
            assert shipped[f"{name} {method}"] in grid(name, method)


def test_judging_seeds_are_fresh():
    from szoht.paper import get_experiment  # noqa: PLC0415

    jobs = get_experiment("assets").jobs(Scale())
    assert not {job.seed for job in jobs} & set(CHOOSING)


def chosen(monkeypatch, ends):
    """Race settings whose runs end at the given values, one per seed; return it and the runs."""
    runs = []

    def run(settings, seed):
        runs.append((settings["options"]["name"], seed))
        value = ends[settings["options"]["name"]][CHOOSING.index(seed)]
        return {"f": np.full(20, value)}

    monkeypatch.setattr(portfolio_tuning, "run", run)
    settings = {
        "portfolio": "port4",
        "method": "zscg",
        "budget": 10,
        "grid": [{"name": name} for name in ends],
    }
    job = Job(experiment="assets", curve="c", settings=settings, seed=0)
    found = select_settings(Results([Curve(job=job, table=race(settings), seconds=0.0)]))
    return found["port4 zscg"]["name"], runs


def test_a_setting_that_is_unstable_over_seeds_loses(monkeypatch):
    """It is the lowest for two of three seeds."""
    ends = {"steady": (3.0, 3.0, 3.1), "unstable": (1.0, 1.0, 9.0), "bad": (8.0, 1.0, 1.0)}
    name, runs = chosen(monkeypatch, ends)
    assert name == "steady"
    assert [seed for one, seed in runs if one == "bad"] == [CHOOSING[0]]  # 8 > 3.1: cannot win


def test_a_race_chooses_what_all_runs_would(monkeypatch):
    rng = np.random.default_rng(0)
    for _ in range(50):
        ends = {str(i): tuple(rng.exponential(size=3)) for i in range(8)}
        ends["failed"] = (np.nan, 0.0, 0.0)
        worst = {name: max(values) for name, values in ends.items() if name != "failed"}
        assert chosen(monkeypatch, ends)[0] == min(worst, key=worst.__getitem__)


def test_no_single_iterate_decides():
    """The median of the last tenth."""
    f = np.array([0.09] * 38 + [0.001] + [0.08])
    assert portfolio_tuning._last({"f": f}) == pytest.approx(0.085)


def test_the_command_writes_what_it_finds(tmp_path, monkeypatch):
    monkeypatch.setattr(portfolio_tuning, "PORTFOLIOS", ("port4",))
    monkeypatch.setattr(portfolio_tuning, "PAPER_METHODS", ("zscg",))
    settings = [{"q": 20, "mu": 1e-4, "radius": radius} for radius in (1.0, 3.0)]
    monkeypatch.setattr(portfolio_tuning, "grid", lambda name, method: settings)
    path = tune("assets", out=tmp_path, quick=True, workers=1)
    assert path == tmp_path / "tuned" / "assets.json"
    assert tuned_settings(tmp_path)["assets"]["port4 zscg"] in settings
