"""The report, as files and in a browser."""

import csv
import html
import re
import sys

import numpy as np
import pytest

from browser import browse, look_at, needs_browser
from paper import fakes
from szoht.paper import (
    Claim,
    ClaimResult,
    Curve,
    Job,
    Results,
    Scale,
    Verdict,
    evaluate_claim,
    reproduce,
)
from szoht.paper.experiment_result import ExperimentResult
from szoht.paper.plotting import paired_plot
from szoht.paper.report import write_report
from szoht.reporting.cells import ErrorBar
from szoht.reporting.figures import inline_svg
from szoht.reporting.page import HtmlTable
from szoht.reporting.theory_figures import contraction_figure


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
    assert len(list((folder / "curves").rglob("*.csv"))) == 6 + 5
    with (folder / "curves" / "rho-gamma" / "corrected_q=200-seed0.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1000
    assert float(rows[-1]["k_star=1"]) == pytest.approx(1.0102, abs=1e-3)


def test_curves_are_listed_by_name_and_seed(report):
    for outcome in report.experiment_results:
        listed = [(curve.job.curve, curve.job.seed) for curve in outcome.curves]
        assert listed == sorted(listed)


def test_what_a_grid_search_found_is_used(tmp_path, monkeypatch):
    seen = []

    def jobs(scale):
        seen.append(scale)
        return []

    module = sys.modules[reproduce.__module__]
    monkeypatch.setattr(module, "get_experiment", lambda name: fakes.make(jobs=jobs))
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "assets.json").write_text('{"best": 7}')
    reproduce("fake", out=tmp_path, seeds=4, workers=1)
    assert seen == [Scale(quick=False, seeds=4, options={"assets": {"best": 7}})]


def test_verdicts_and_machine_are_shown(report):
    text = report.path.read_text()
    assert {one.verdict for one in report.claim_results} == {"holds", "differs", "skipped"}
    for one in report.claim_results:
        assert html.escape(one.claim.statement) in text
        assert html.escape(one.remarks) in text
    for word in ("numpy", "Python", "wall time", "Quick run", "Commit", "processor time"):
        assert word in text


def test_each_experiment_has_a_thumbnail_and_a_light(report):
    text = report.path.read_text()
    gallery = text[text.index('<div class="gallery">') : text.index("</section>")]
    for result in report.experiment_results:
        assert f'<a href="#{result.experiment.name}">' in gallery
        assert f"{result.experiment.title}</strong>" in gallery
    assert gallery.count("data:image/png") == 2
    assert gallery.count('class="light good"') == 2


@pytest.mark.parametrize(
    ("verdicts", "light"),
    [
        ({"a": Verdict.HOLDS, "b": Verdict.SKIPPED}, "good"),
        ({"a": Verdict.HOLDS, "b": Verdict.DIFFERS}, "warning"),
        ({"a": Verdict.DIFFERS, "b": Verdict.FAILS}, "bad"),
        ({"a": Verdict.SKIPPED}, "plain"),
        ({}, "plain"),
    ],
)
def test_lights_are_those_of_the_papers_claims(verdicts, light):
    """A goal of the library that fails makes no figure of the paper red."""
    results = [ClaimResult(claim=claim(id=name), verdict=one) for name, one in verdicts.items()]
    own = ClaimResult(claim=claim(id="own", whose="library"), verdict=Verdict.FAILS)
    experiment = fakes.make()
    assert ExperimentResult(experiment=experiment, claim_results=results).light == light
    if results:
        both = ExperimentResult(experiment=experiment, claim_results=[own, *results])
        assert both.light == light


def claim(**changes):
    parts = {
        "id": "a",
        "experiment": "fake",
        "statement": "A <wrong> claim",
        "where": "w",
        "whose": "paper",
        "measure": "value",
        "arguments": {"curve": "low", "place": 1.0},
        "kind": "at least",
        "target": 3.0,
    }
    return Claim(**parts | changes)


def test_the_papers_curve_is_beside_ours_on_the_same_axes(tmp_path):
    plot = paired_plot(
        lambda axes: axes.plot([0, 10], [1, 2]),
        {"a": np.array([[5.0, 0.0], [40.0, 9.0]])},
        labels={"a": "A"},
        title="f",
        caption="c",
    )
    ours, papers = plot.figure.axes[0], plot.paper.axes[0]
    assert ours.get_xlim() == papers.get_xlim()
    assert ours.get_ylim() == papers.get_ylim()
    assert ours.get_xlim()[1] >= 40
    outcome = ExperimentResult(experiment=fakes.make(), plots={"pair": plot})
    text = write_report([outcome], tmp_path, quick=False, seconds=1.0).read_text()
    assert text.index('id="fake-pair-paper"') < text.index('id="fake-pair"')
    alone = paired_plot(lambda axes: None, {}, labels={}, title="f", caption="c")
    assert alone.paper is None


def test_tables_and_table_1_are_shown(tmp_path):
    cell = ErrorBar(value=79.0, low=70.0, high=86.0, axis=(0.0, 100.0), target=75.0)
    table = HtmlTable(header=["method", "ASR %"], rows=[["SZOHT", cell]], caption="Attacks")
    outcome = ExperimentResult(experiment=fakes.make(), tables=[table])
    text = write_report([outcome], tmp_path, quick=False, seconds=1.0).read_text()
    assert "79 [70, 86] (75)" in text
    assert "StoIHT" in text[text.index('id="table-1"') :]


def test_the_page_refers_to_nothing_outside(report):
    text = report.path.read_text()
    for name in re.findall(r'(?:src|href|action|data)\s*=\s*"([^"]+)"', text):
        assert name.startswith(("#", "curves/", "data:image/")), name
    assert "@import" not in text
    for url in re.findall(r"url\(([^)]+)\)", text):
        assert url.startswith("#"), url


def test_a_claim_that_fails_is_shown_as_failed(tmp_path):
    job = Job(experiment="fake", curve="low", settings={"offset": 0}, seed=0)
    results = Results([Curve(job=job, table=fakes.run(job.settings, 0), seconds=0.0)])
    experiment = fakes.make()
    claim_results = evaluate_claim(claim(), experiment, results, quick=False)
    outcome = ExperimentResult(
        experiment=experiment,
        curves=results.curves,
        plots=experiment.figures(results),
        claim_results=[claim_results],
        errors=["a curve: no luck"],
    )
    path = write_report([outcome], tmp_path, quick=False, seconds=1.0)
    text = path.read_text()
    assert claim_results.verdict is Verdict.FAILS
    assert '<span class="badge bad">fails</span>' in text
    assert "1 fail" in text
    assert text.index("What fails") < text.index("A &lt;wrong&gt; claim") < text.index("<figure>")
    assert 'class="light bad"' in text
    assert "Two lines &amp; &lt;more&gt;." in text
    assert "Not run: a curve: no luck" in text


def test_figures_are_the_same_every_time():
    first, second = (
        inline_svg(contraction_figure(k_star=(1, 2), q=(10,)), "name", "A <figure>")
        for _ in range(2)
    )
    assert first == second
    assert "<title>A &lt;figure&gt;</title>" in first


def test_experiments_without_data_are_left_out_visibly(tmp_path, monkeypatch):
    monkeypatch.setenv("SZOHT_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("szoht.problems.data._download", _no_network)
    found = reproduce("attacks", quick=True, out=tmp_path / "out", workers=1)
    assert {one.verdict for one in found.claim_results} == {Verdict.SKIPPED}
    assert "SZOHT_DATA" in found.path.read_text()


def _no_network(file):
    from szoht.problems import data  # noqa: PLC0415

    raise data._DownloadFailed("no network in tests")


def test_seeds_are_what_is_asked_for(tmp_path):
    found = reproduce("projection", quick=True, seeds=1, out=tmp_path, workers=1)
    assert [curve.job.seed for curve in found.experiment_results[0].curves] == [0]
    assert list(Scale(seeds=2).runs(quick=1, full=5)) == [0, 1]
    assert np.array_equal(list(Scale().runs(quick=1, full=5)), range(5))


@needs_browser
def test_in_a_browser(report, tmp_path):
    """Figures show, tables sort, ids are unique, and no request leaves the page."""
    probe, asked = look_at(report.path, tmp_path)
    assert {one["name"] for one in probe["seen"]} == {"rho-gamma-contraction", "projection-sphere"}
    for one in probe["seen"]:
        assert one["width"] > 300, one
        assert one["height"] > 150, one
        assert one["drawn"] > 30, one
    assert probe["up"] == sorted(probe["before"])
    assert probe["down"] == sorted(probe["before"], reverse=True)
    assert probe["twice"] == []
    assert probe["wide"] <= 1200
    assert asked == []


@needs_browser
def test_a_request_would_be_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<html><body><img src="http://nowhere.invalid/a.png"></body></html>')
    assert browse(page, tmp_path)[1] == ["http://nowhere.invalid/a.png"]
