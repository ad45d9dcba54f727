"""``szoht report``: of a run that has not ended, and as a page."""

import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from browser import look_at, needs_browser
from interrupts import interrupted
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
    stopped = interrupted(
        szoht.minimize, slow, np.zeros(5), k=2, method="szoht", rng=0, store=store
    )
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

    def impatient(x):
        raise KeyboardInterrupt

    interrupted(szoht.minimize, impatient, np.zeros(3), k=1, rng=0, store=store)
    outcome = CliRunner().invoke(app, ["report", str(store), "--html", str(page)])
    assert outcome.exit_code == 0, outcome.output
    text = page.read_text()
    assert "No value is known yet." in text
    assert "Nothing is changed." in text


def test_a_page_that_cannot_be_written_is_noticed_first(tmp_path):
    outcome = CliRunner().invoke(app, ["report", "no.db", "--html", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "is a folder" in " ".join(outcome.output.replace("│", " ").split())


SLOW = """
import pathlib, time

def fun(x):
    time.sleep(0.02)
    return -1.0 if pathlib.Path("enough").exists() else float(((x - 1) ** 2).sum())
"""


def test_a_page_is_written_again_until_the_run_has_ended(tmp_path):
    (tmp_path / "slow_model.py").write_text(SLOW)
    command = [sys.executable, "-m", "szoht", "solve", "slow_model:fun", "--dim", "9", "-k", "2"]
    more = ["--seconds", "60", "--target", "-1", "--method", "szoht", "--store", "runs.db"]
    solving = subprocess.Popen([*command, *more, "--quiet"], cwd=tmp_path)
    store, page = tmp_path / "runs.db", tmp_path / "run.html"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        outcome = CliRunner().invoke(app, ["report", str(store), "--html", str(page)])
        if outcome.exit_code == 0 and "RUNNING" in page.read_text():
            break
        time.sleep(0.05)
    watch = ["report", str(store), "--html", str(page), "--watch", "0.5"]
    watching = subprocess.Popen([sys.executable, "-m", "szoht", *watch], cwd=tmp_path)
    texts = set()
    while watching.poll() is None and time.monotonic() < deadline:
        texts.add(page.read_text())
        if 'http-equiv="refresh" content="1"' in page.read_text():
            (tmp_path / "enough").touch()
        time.sleep(0.05)
    assert (watching.wait(timeout=60), solving.wait(timeout=60)) == (0, 0)
    live = [text for text in texts if 'http-equiv="refresh" content="1"' in text]
    assert live
    assert all(text.rstrip().endswith("</html>") for text in texts)
    last = page.read_text()
    assert "TARGET" in last
    assert "refresh" not in last


def test_watching_needs_a_page_and_time(tmp_path):
    szoht.minimize(lambda x: float(x @ x), np.ones(3), k=3, rng=0, store=tmp_path / "runs.db")
    for more in ([], ["--html", str(tmp_path / "a.html"), "--watch", "0"]):
        command = ["report", str(tmp_path / "runs.db"), "--watch", "1", *more]
        outcome = CliRunner().invoke(app, command)
        assert outcome.exit_code == 2
        assert "watch" in outcome.output


def test_a_run_of_version_0_1_has_a_page_in_words(tmp_path):
    source = Path(__file__).parents[1] / "store" / "fixtures" / "0.1"
    for file in source.glob("*.db"):
        shutil.copy(file, tmp_path)
    found = []
    for file in tmp_path.glob("*.db"):
        for run in szoht.Store(file).runs():
            page = tmp_path / "run.html"
            outcome = CliRunner().invoke(app, ["report", str(file), run.name, "--html", str(page)])
            assert outcome.exit_code == 0, outcome.output
            found.append(page.read_text())
    assert all("listed and not resumed" in text for text in found)
