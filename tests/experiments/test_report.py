"""The report, as files and in a browser."""

import csv
import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from experiments import fakes
from szoht.experiments import Claim, Scale, Verdict, reproduce
from szoht.experiments import reproduce as entry
from szoht.experiments import reproduce as public
from szoht.experiments.report import write_report
from szoht.experiments.reproduce import Outcome

del public, entry

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PROBE = """
<script>
  const seen = [...document.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll("path, image, use")].filter(part => {
      const inner = part.getBoundingClientRect();
      return inner.width + inner.height > 0;
    });
    return {name: svg.id, width: box.width, height: box.height, drawn: drawn.length};
  });
  const table = document.querySelector("table"), button = table.querySelector("th button");
  const first = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
  const before = first();
  button.click();
  const up = first();
  button.click();
  const ids = [...document.querySelectorAll("[id]")].map(part => part.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  const result = {seen, before, up, down: first(), twice, wide: document.body.scrollWidth};
  document.body.dataset.probe = JSON.stringify(result);
</script>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a real report: two experiments that take no time."""
    folder = tmp_path_factory.mktemp("report")
    return reproduce(["rho-gamma", "projection"], quick=True, out=folder, workers=1)


def test_everything_is_written(report):
    folder = report.path.parent
    for name in ("rho-gamma-contraction", "projection-sphere"):
        assert (folder / "figures" / f"{name}.svg").read_text().startswith("<?xml")
        assert (folder / "figures" / f"{name}.png").read_bytes()[1:4] == b"PNG"
    assert len(list((folder / "curves").rglob("*.csv"))) == 6 + 3
    with (folder / "curves" / "rho-gamma" / "corrected_q=200-seed0.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1000
    assert float(rows[-1]["k_star=1"]) == pytest.approx(1.0102, abs=1e-3)


def test_verdicts_and_machine_are_shown(report):
    text = report.path.read_text()
    assert {one.verdict for one in report.judged} == {"holds", "differs", "not judged"}
    for one in report.judged:
        assert html.escape(one.claim.statement) in text
    assert f"{len(report.judged)} claims:" in text
    for word in ("numpy", "Python", "seeds", "wall time", "Quick run"):
        assert word in text


def test_the_page_refers_to_nothing_outside(report):
    text = report.path.read_text()
    for name in re.findall(r'(?:src|href|action|data)\s*=\s*"([^"]+)"', text):
        assert name.startswith(("#", "curves/", "data:image/")), name
    assert "@import" not in text
    for url in re.findall(r"url\(([^)]+)\)", text):
        assert url.startswith("#"), url


def test_a_claim_that_fails_is_shown_as_failed(tmp_path):
    from szoht.experiments import Curve, Job, Results, judge  # noqa: PLC0415

    job = Job(experiment="fake", curve="low", settings={"offset": 0}, seed=0)
    results = Results([Curve(job=job, table=fakes.run(job.settings, 0), seconds=0.0)])
    claim = Claim(
        id="a",
        experiment="fake",
        statement="A <wrong> claim",
        where="w",
        compute="value",
        arguments={"curve": "low", "place": 1.0},
        kind="at least",
        target=3.0,
    )
    experiment = fakes.make()
    judged = judge(claim, experiment, results, quick=False)
    outcome = Outcome(
        experiment=experiment,
        curves=results.curves,
        drawings=experiment.figures(results),
        judged=[judged],
        problems=["a curve: no luck"],
    )
    path = write_report([outcome], tmp_path, quick=False, seconds=1.0)
    text = path.read_text()
    assert judged.verdict is Verdict.FAILS
    assert '<span class="badge bad">fails</span>' in text
    assert "1 fail" in text
    assert "A &lt;wrong&gt; claim" in text
    assert "Two lines &amp; &lt;more&gt;." in text
    assert "Not run: a curve: no luck" in text


def test_reports_are_the_same_every_time(report, tmp_path):
    again = reproduce("rho-gamma", quick=True, out=tmp_path, workers=1)
    figures = [
        re.search(r'<svg id="rho-gamma.*?</svg>', p.read_text(), re.S).group(0)
        for p in (report.path, again.path)
    ]
    assert figures[0] == figures[1]


def test_experiments_without_data_are_left_out_visibly(tmp_path, monkeypatch):
    monkeypatch.setenv("SZOHT_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("szoht.problems.data._download", _no_network)
    found = reproduce("assets", quick=True, out=tmp_path / "out", workers=1)
    assert {one.verdict for one in found.judged} == {Verdict.OPEN}
    assert "SZOHT_DATA" in found.path.read_text()


def _no_network(file):
    from szoht.problems import data  # noqa: PLC0415

    raise data._Failed("no network in tests")


def test_seeds_are_what_is_asked_for(tmp_path):
    found = reproduce("projection", quick=True, seeds=1, out=tmp_path, workers=1)
    assert [curve.job.seed for curve in found.outcomes[0].curves] == [0]
    assert list(Scale(seeds=2).runs(quick=1, full=5)) == [0, 1]
    assert np.array_equal(list(Scale().runs(quick=1, full=5)), range(5))


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: make chromium")
def test_in_a_browser(report, tmp_path):
    """Figures show, tables sort, ids are unique, and no request leaves the page."""
    copy = report.path.parent / "probed.html"  # the same page, and a script that looks at it
    copy.write_text(report.path.read_text().replace("</body>", PROBE + "</body>"))
    log = tmp_path / "requests.json"
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-sync",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--log-net-log={log}",
        "--window-size=1200,900",
        "--dump-dom",
        copy.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'data-probe="([^"]+)"', run.stdout)
    assert found, run.stdout[:500] + run.stderr[-500:]
    probe = json.loads(html.unescape(found.group(1)))
    assert {one["name"] for one in probe["seen"]} == {"rho-gamma-contraction", "projection-sphere"}
    for one in probe["seen"]:
        assert one["width"] > 300, one
        assert one["height"] > 150, one
        assert one["drawn"] > 30, one
    assert probe["up"] == sorted(probe["before"])
    assert probe["down"] == sorted(probe["before"], reverse=True)
    assert probe["twice"] == []
    assert probe["wide"] <= 1200
    assert outside(log) == []


def outside(log):
    """Return the addresses beyond this page that the browser began to ask for."""
    text = log.read_text().rstrip()
    if not text.endswith("]}"):  # cut short when the browser left before closing it
        text = text.rstrip(",") + "]}"
    events = json.loads(text)["events"]
    assert events
    urls = {event["params"]["url"] for event in events if "url" in event.get("params", {})}
    return sorted(url for url in urls if url.startswith(("http:", "https:", "ws:", "wss:", "ftp:")))
