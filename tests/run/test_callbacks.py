"""The progress bar."""

import builtins
import io

import numpy as np
import pytest
from rich.console import Console

from szoht import errors, minimize
from szoht.run.callbacks import ProgressBar


def run(**options):
    return minimize(
        lambda x: float(((x - 1) ** 2).sum()), np.zeros(9), k=2, rng=0, **options, method="szoht"
    )


def test_the_bar_shows_queries_best_value_and_support(monkeypatch):
    screen = io.StringIO()
    bars = []

    class Shown(ProgressBar):
        def __init__(self):
            super().__init__()
            self._bar.live.console = Console(file=screen, force_terminal=True, width=140)
            bars.append(self)

    monkeypatch.setattr("szoht.run.minimize.ProgressBar", Shown)
    result = run(max_queries=200, progress=True)
    text = screen.getvalue()
    assert f"{result.nfev}/200 queries" in text
    assert f"best {result.fun:.6g}" in text
    assert "2 non-zeros" in text
    assert bars[0]._bar.finished or result.nfev < 200


def test_the_bar_works_without_a_budget(capsys):
    assert run(max_iterations=3, progress=True).nit == 3
    assert "queries" in capsys.readouterr().out


def test_the_bar_names_its_extra(monkeypatch):
    real = builtins.__import__

    def without_rich(name, *arguments):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'szoht\[cli\]'"):
        run(max_queries=100, progress=True)


def test_the_bar_closes_when_the_function_fails():
    with pytest.raises(ZeroDivisionError):
        minimize(
            lambda x: 1 / 0,
            np.zeros(3),
            k=1,
            max_queries=50,
            progress=True,
            on_error="raise",
            method="szoht",
        )
    # a second live display can only start when the first has been closed
    run(max_queries=100, progress=True)
