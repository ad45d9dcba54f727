"""What a run reports, and how it prints."""

import numpy as np
import pytest

from szoht import Status, minimize
from szoht.core.algorithm import Measured
from szoht.result import Counts, Progress


@pytest.fixture
def result():
    return minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(30), k=2, max_queries=300, rng=0
    )


def test_print_is_readable(result):
    text = str(result)
    assert "The query budget is spent." in text
    assert "2 non-zeros" in text
    assert "(d = 30)" in text
    assert f"nfev: {result.nfev} queries" in text
    assert "gradients" not in text
    assert max(map(len, text.splitlines()[:8])) < 110


def test_long_supports_are_cut_short():
    result = minimize(lambda x: float(((x - 1) ** 2).sum()), np.ones(30), k=30, max_queries=400)
    assert "..." in str(result)


def test_print_shows_what_went_wrong():
    result = minimize(lambda x: np.nan, np.zeros(3), k=1, max_queries=50)
    assert "Query 1" in str(result)
    assert "failures: 1" in str(result)


def test_gradients_are_shown_when_there_are_any():
    result = minimize(
        lambda x: float(x @ x),
        np.ones(3),
        k=3,
        method="iht",
        gradient=lambda x: 2 * x,
        max_queries=40,
    )
    assert "gradients" in str(result)


def test_every_status_has_its_own_code_and_message():
    assert len({status.code for status in Status}) == len(Status)
    assert len({status.message for status in Status}) == len(Status)
    assert all(status.message.endswith(".") for status in Status)


def test_the_same_seed_repeats_a_run(result):
    again = minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(30), k=2, max_queries=300, rng=result.seed
    )
    assert np.array_equal(again.x, result.x)


def progress(iteration=0, best=1.0, value=None, queries=0):
    x = np.zeros(1)
    return Progress(
        iteration=iteration,
        counts=Counts(queries=queries),
        x=x,
        value=best if value is None else value,
        best=Measured(x, best),
        seconds=0.0,
    )


def test_best_x_belongs_to_best_value():
    best = Measured(np.ones(1), 1.0)
    progress = Progress(
        iteration=0, counts=Counts(), x=np.zeros(1), value=0.0, best=best, seconds=0.0
    )
    assert progress.best_x is best.x
