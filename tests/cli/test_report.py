"""``szoht report``: of a run that has not ended, and as a page."""

import math
import re
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from browser import look_at, needs_browser
from szoht.cli.app import app


def test_the_time_is_that_of_the_run_and_not_of_its_replay(tmp_path):
    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(0.1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return float((x - 1) @ (x - 1))

    store = tmp_path / "runs.db"
    stopped = szoht.minimize(slow, np.zeros(5), k=2, method="szoht", rng=0, store=store)
    outcome = CliRunner().invoke(app, ["report", str(store), stopped.run])
    assert outcome.exit_code == 0, outcome.output
    (line,) = [row for row in outcome.output.splitlines() if row.strip().startswith("seconds:")]
    assert float(line.split(":")[1]) >= 0.3


NAMES = (
    "speed <b>&",
    "rate\x07 $x$",
    "buffers",
    "threads",
    "load",
    "a name that is much too long to show",
)


def profit(x):
    speed, rate, buffers, _, load, heat = x
    if load > 60:
        raise ValueError("the <licence> server is \x1b[31mdown")
    misfit = ((speed - 35) / 20) ** 2 + math.log10(rate / 1e-3) ** 2 + (heat - 3) ** 2
    return 9 - misfit - (buffers - 7) ** 2


@pytest.fixture
def reported(tmp_path):
    """Return a result and the page about it."""
    knobs = szoht.Variables(
        dict(zip(NAMES, (20.0, 1e-4, 3, 4, 50.0, 7.0), strict=True)),
        low={NAMES[0]: 0, NAMES[1]: 0, "buffers": 1, "load": 0},
        high={NAMES[0]: 80, "buffers": 7, "load": 100},
        log=[NAMES[1]],
        integer=["buffers"],
    )
    store, page = tmp_path / "runs.db", tmp_path / "run.html"
    result = szoht.maximize(
        profit, knobs, k=4, max_queries=300, rng=0, store=store, on_error="skip"
    )
    outcome = CliRunner().invoke(app, ["report", str(store), result.run, "--html", str(page)])
    assert outcome.exit_code == 0, outcome.output
    assert f"wrote {page}" in outcome.output
    return result, page


def test_a_page_tells_of_changes_decisions_faults_and_times(reported):
    result, page = reported
    text = page.read_text(encoding="utf-8")
    assert result.counts.failures
    assert f"Run {result.run}" in text
    assert "speed &lt;b&gt;&amp;" in text
    assert "<b>" not in text
    assert "20 to 35" in text
    assert re.search(r"<td>buffers</td>.*?<td>high</td>", text)
    assert result.explain[1][:20] in text
    assert f"{result.counts.failures} points could not be evaluated" in text
    assert r"the &lt;licence&gt; server is \x1b[31mdown" in text
    assert r"rate\x07 $x$" in text
    assert not {"\x07", "\x1b"} & set(text)
    assert "longest step, seconds" in text
    assert "://" not in text.replace("http://www.w3.org/", "")


@needs_browser
def test_a_page_in_a_browser(reported, tmp_path):
    _, page = reported
    probe, asked = look_at(page, tmp_path)
    assert asked == []
    assert [one["name"] for one in probe["seen"]] == ["values", "pace", ""]
    assert all(one["width"] > 300 and one["height"] > 100 for one in probe["seen"])
    assert probe["twice"] == []
    assert probe["wide"] <= 1200


def test_a_page_of_a_run_without_a_value(tmp_path):
    store, page = tmp_path / "runs.db", tmp_path / "run.html"

    def interrupted(x):
        raise KeyboardInterrupt

    szoht.minimize(interrupted, np.zeros(3), k=1, rng=0, store=store)
    outcome = CliRunner().invoke(app, ["report", str(store), "--html", str(page)])
    assert outcome.exit_code == 0, outcome.output
    text = page.read_text()
    assert "No value is known yet." in text
    assert "Nothing is changed." in text


def test_a_page_that_cannot_be_written_is_noticed_first(tmp_path):
    outcome = CliRunner().invoke(app, ["report", "no.db", "--html", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "is a folder" in outcome.output
