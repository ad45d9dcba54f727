"""What users' code relies on keeps working: all that version 0.1 had is still there."""

import hashlib
import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import public_api
import szoht
from szoht.applications.attack import attack
from szoht.cli.app import app
from szoht.problems import DataFile, fetch
from szoht.problems.data import REGISTRY

PINNED = json.loads((Path(__file__).parent / "public_api.json").read_text())


@pytest.fixture(scope="module")
def now():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of toolboxes that the adapters import
        return public_api.describe()


def test_every_name_is_where_it_was(now):
    lost = {
        path: sorted(set(names) - set(now["names"][path]))
        for path, names in PINNED["names"].items()
    }
    assert not {path: names for path, names in lost.items() if names}


NO_DEFAULT = ["KEYWORD_ONLY", "None"]
CHANGED_DEFAULTS = {
    "szoht.minimize": {"on_error": NO_DEFAULT},
    "szoht.AskTell": {"on_error": NO_DEFAULT},
    "szoht.algorithms.sparse_rs": {"horizon": NO_DEFAULT},
    "szoht.algorithms.vr_szht": {"every": NO_DEFAULT, "batch_size": NO_DEFAULT},
    "szoht.algorithms.sarah_szht": {"every": NO_DEFAULT, "batch_size": NO_DEFAULT},
    "szoht.algorithms.saga_szht": {"batch_size": NO_DEFAULT},
}
"""Defaults that differ from 0.1 on purpose: the changelog says how and why."""


@pytest.mark.parametrize("name", PINNED["signatures"])
def test_every_call_that_was_possible_still_is(now, name):
    parameters, pinned = now["signatures"][name], PINNED["signatures"][name]
    kept = {key: parameters.get(key) for key in pinned}
    assert kept == pinned | CHANGED_DEFAULTS.get(name, {})
    new = {key: parameters[key] for key in parameters if key not in pinned}
    assert all(default is not None or kind.startswith("VAR_") for kind, default in new.values()), (
        f"{name} needs arguments that it did not need: {new}"
    )
    positional = [key for key in parameters if parameters[key][0] == "POSITIONAL_OR_KEYWORD"]
    before = [key for key in pinned if pinned[key][0] == "POSITIONAL_OR_KEYWORD"]
    assert positional[: len(before)] == before


@pytest.mark.parametrize("section", ["options", "records", "commands"])
def test_nothing_is_missing(now, section):
    lost = {
        key: sorted(set(entries) - set(now[section].get(key, ())))
        for key, entries in PINNED[section].items()
    }
    assert not {key: entries for key, entries in lost.items() if entries}


@pytest.mark.parametrize("section", ["history", "extras"])
def test_no_entry_is_missing(now, section):
    assert set(PINNED[section]) <= set(now[section])


def test_statuses_keep_their_codes(now):
    assert PINNED["status"].items() <= now["status"].items()
    assert len(set(now["status"].values())) == len(now["status"])


def test_errors_are_caught_by_whatever_caught_them(now):
    for name, bases in PINNED["errors"].items():
        assert set(bases) <= set(now["errors"][name]), name


def test_stores_are_opened_as_before(tmp_path):
    assert list(inspect.signature(szoht.Store).parameters) == ["path", "create"]
    with szoht.Store(tmp_path / "runs.db", create=True) as store:
        assert store.runs() == []


def test_the_folder_of_data_has_its_variable(monkeypatch, tmp_path):
    content = b"1 2"
    file = DataFile(
        name="pins/values.txt", url="", sha256=hashlib.sha256(content).hexdigest(), size=3
    )
    monkeypatch.setitem(REGISTRY, file.name, file)
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "values.txt").write_bytes(content)
    monkeypatch.setenv("SZOHT_DATA", str(tmp_path))
    assert fetch(file.name) == tmp_path / "pins" / "values.txt"


SOLVED = {
    *("d", "support", "values", "fun", "nfev", "nit", "success", "status", "message"),
    *("seed", "method", "history", "run"),
}


@pytest.fixture
def solved(tmp_path, monkeypatch):
    (tmp_path / "simulator_for_pins.py").write_text("def f(x):\n    return float(x @ x)\n")
    monkeypatch.chdir(tmp_path)
    command = "solve simulator_for_pins:f --dim 5 -k 2 --budget 60 --seed 0 --quiet"
    done = CliRunner().invoke(app, [*command.split(), "--store", "r.db", "--output", "out.json"])
    assert done.exit_code == 0, done.output
    return tmp_path


def test_keys_of_a_result_as_json(solved):
    assert set(json.loads((solved / "out.json").read_text())) >= SOLVED


def test_keys_of_a_listed_run(solved):
    line = CliRunner().invoke(app, ["runs", "r.db", "--json"]).stdout
    assert set(json.loads(line)) >= set(PINNED["records"]["RunSummary"])


def test_keys_of_an_asked_point(solved):
    command = "ask a.db --new --dim 5 -k 2 --budget 60"
    line = CliRunner().invoke(app, command.split()).stdout.splitlines()[0]
    assert set(json.loads(line)) >= {"run", "id", "x"}
    line = CliRunner().invoke(app, [*command.split(), "--sparse"]).stdout.splitlines()[0]
    assert set(json.loads(line)) >= {"run", "id", "dim", "indices", "values"}


def test_keys_of_a_portfolio(tmp_path):
    rng = np.random.default_rng(0)
    rows = [",".join(map(str, 0.01 * rng.standard_normal(4))) for _ in range(40)]
    days = [f"2020-01-{1 + i % 28:02d}" if i < 28 else f"2020-02-{i - 27:02d}" for i in range(40)]
    table = "\n".join(["date,A,B,C,D", *(f"{d},{r}" for d, r in zip(days, rows, strict=True))])
    (tmp_path / "returns.csv").write_text(table + "\n")
    command = ["portfolio", str(tmp_path / "returns.csv"), "--returns", "-k", "2", "--json"]
    done = CliRunner().invoke(app, [*command, "--budget", "200", "--seed", "0"])
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)) >= {
        *("objective", "k", "risk_measure", "weights", "risk", "return", "sharpe"),
        *("risk_per_period", "return_per_period", "value", "gross", "queries"),
        *("risk_against_k", "risk_against_return"),
    }


def test_keys_of_an_attack():
    def network(images):
        return np.stack([np.full(len(images), 0.6), images[:, 0, 0, 0]], axis=1)

    found = attack(network, np.full((1, 6, 6), 0.5), 0, k=1, rng=0)
    assert set(found.as_json()) >= {
        *("success", "status", "message", "queries", "nfev", "nit", "margin", "l0", "pixels"),
        *("l2", "linf", "label", "target", "prediction", "adversarial_prediction", "shape"),
        *("coordinates", "values", "seconds", "seed", "method", "history"),
    }
