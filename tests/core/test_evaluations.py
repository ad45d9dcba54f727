"""Every evaluation of a run as a table."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

import szoht
from szoht.core import evaluations, ledger
from szoht.errors import CapabilityError, DroppedPointsWarning


def profit(x):
    return 9 - ((x[0] - 35) / 20) ** 2 - (x[1] - 7) ** 2


KNOBS = {"low": [0, 0, 0], "high": [80, 12, 9], "integer": [False, True, False]}


def test_a_frame_has_the_users_numbers_and_names():
    knobs = szoht.Variables({"speed": 20.0, "buffers": 3, "heat": 5.0}, **KNOBS)
    seen = []

    def fun(x):
        seen.append((*x, profit(x)))
        return seen[-1][-1]

    result = szoht.maximize(fun, knobs, k=2, max_queries=60, rng=0)
    table = result.evaluations
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == ["query", "fun", "speed", "buffers", "heat"]
    assert np.array_equal(table[["speed", "buffers", "heat", "fun"]].to_numpy(), seen)
    assert table["query"].tolist() == list(range(1, result.nfev + 1))
    assert table["fun"].max() == result.fun


def test_without_pandas_it_is_a_dict_of_columns(monkeypatch):
    result = szoht.minimize(lambda x: float(x @ x), np.ones(2), k=2, max_queries=12, rng=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = result.evaluations
    assert list(table) == ["query", "fun", "x[0]", "x[1]"]
    assert len(table["fun"]) == result.nfev


def test_failures_are_nan():
    def fun(x):
        return float("nan") if x[0] > 0 else float(((x + 1) ** 2).sum())

    with pytest.warns(szoht.errors.SkippedPointWarning):
        result = szoht.minimize(fun, np.zeros(3), k=1, max_queries=40, rng=0)
    assert result.evaluations["fun"].isna().sum() == result.counts.failures > 0


def test_named_methods_have_one_too():
    result = szoht.minimize(
        lambda x: float(x @ x),
        np.eye(9)[0],
        k=2,
        method="szoht",
        options={"q": 4},
        max_queries=60,
        rng=0,
    )
    table = result.evaluations
    assert len(table) == result.nfev
    points = table[[f"x[{i}]" for i in range(9)]].to_numpy()
    assert np.array_equal((points**2).sum(axis=1), table["fun"]) or np.allclose(
        (points**2).sum(axis=1), table["fun"], rtol=1e-14
    )


def test_points_that_were_not_kept_are_nan_and_said(monkeypatch):
    monkeypatch.setattr(ledger, "OTHER_POINTS_BYTES", 500)
    result = szoht.minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(9), k=2, max_queries=60, rng=0
    )
    with pytest.warns(DroppedPointsWarning, match="no answers were not kept"):
        table = result.evaluations
    assert len(table) == result.nfev
    assert table.isna().any(axis=None)
    assert not table["fun"].isna().any()


def test_a_table_that_is_too_large_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(evaluations, "MOST_CELLS", 100)
    result = szoht.minimize(lambda x: float(x @ x), np.ones(9), k=9, max_queries=60, rng=0)
    with pytest.raises(CapabilityError, match=r"result\.ledger\.x\(start, stop\)"):
        _ = result.evaluations
    assert result.ledger.x(0, 5).shape == (5, 9)


def test_outputs_have_their_names(tmp_path):
    def simulate(x):
        return {"flow": x[0] + x[1], "heat": x[0] - 2 * x[1]}

    szoht.least_squares(
        simulate, np.zeros(2), k=2, observed={"flow": 1.0, "heat": 0.5}, store=tmp_path / "r", rng=0
    )
    table = szoht.resume(tmp_path / "r", simulate).evaluations
    assert table.columns.tolist() == ["query", "flow", "heat", "x[0]", "x[1]"]
    assert np.allclose(table["flow"], table["x[0]"] + table["x[1]"])


def test_a_result_that_was_asked_for_early_does_not_grow():
    run = szoht.AskTell(np.zeros(5), k=2, max_queries=50, rng=0)
    run.tell([float(((x - 1) ** 2).sum()) for x in run.ask().points()])
    early = run.result
    run.tell([float(((x - 1) ** 2).sum()) for x in run.ask().points()])
    assert len(early.ledger) < len(run.result.ledger)
    assert len(early.evaluations) == early.nfev


@pytest.mark.parametrize("settings", [{"k": 2}, {}, {"method": "szoht", "k": 2}], ids=str)
def test_a_result_can_be_pickled(settings):
    result = szoht.minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(6), max_queries=40, rng=0, **settings
    )
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert np.array_equal(again.evaluations, result.evaluations)
    assert again.fun == result.fun
