"""The record of verdicts that full runs leave."""

import json

import pytest

from szoht.paper import reproduce
from szoht.paper.verdicts import merge_verdicts, record_verdicts


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return reproduce("rho-gamma", out=folder, workers=1)


def test_a_full_run_records_what_it_measured(full):
    (entry,) = json.loads((full.path.parent / "verdicts.json").read_text("utf-8")).values()
    assert entry["claims"]["rho-gamma-value"] == {
        "verdict": "holds",
        "target": "0.9612 ± 0.0005",
        "measured": "0.96118",
    }
    assert entry["claims"]["rho-gamma-corollary"]["verdict"] == "differs"
    assert entry["curves"] == 6
    assert entry["commit"]
    assert len(entry["date"].split("-")) == 3


def test_a_quick_run_records_nothing(tmp_path):
    reproduce("rho-gamma", quick=True, out=tmp_path, workers=1)
    assert not (tmp_path / "verdicts.json").exists()


def test_other_experiments_are_kept(full, tmp_path):
    path = tmp_path / "verdicts.json"
    path.write_text('{"assets": {"claims": {}}, "rho-gamma": {"claims": {"skipped": {}}}}')
    record_verdicts(full.experiment_results, path)
    found = json.loads(path.read_text("utf-8"))
    assert found["assets"] == {"claims": {}}
    assert {"skipped", "rho-gamma-value"} <= found["rho-gamma"]["claims"].keys()
    path.write_text('{"conflict": {"claims": {}}, "rho-gamma": {"claims": {}}}')
    merge_verdicts([full.path.parent / "verdicts.json"], path)
    merged = json.loads(path.read_text("utf-8"))
    assert list(merged) == ["conflict", "rho-gamma"]
    assert merged["rho-gamma"]["claims"]
