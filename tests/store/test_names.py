"""Stored names outlive module paths and field names."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

import szoht
from szoht.errors import EncodingError
from szoht.operators import Operator
from szoht.schedules import Schedule
from szoht.store import names
from szoht.store.codec import Encoded, decode, encode

FIXTURES = Path(__file__).with_name("fixtures")
REGISTERED = sorted(name for group in names.PATHS.values() for name in group)

STATES = """
    _random:Key _random:Purpose algorithm:PathPoint algorithm:State
    directions:Drawn directions:Explicit directions:Offsets directions:Part
    estimators.adaptive_recovery:Adaptation estimators.anchored:Anchor
    estimators.memory:Entry estimators.memory:Table
    estimators.sketch:Findings estimators.sketch:Step
    estimators.sparse_recovery:Kept estimators.sparse_recovery:SignRows
    hashed:HashedSigns hashed:Probe
    laws:GaussianLaw laws:OrthogonalLaw laws:RademacherLaw laws:SphereLaw
    queries:Answer queries:Estimate queries:Plan queries:Query queries:Stage
    scripted:ScriptState
    updates.accelerated:Pair updates.adaptive:Moments updates.line_search:Length
"""
"""In snapshots of 0.1 as parts of a state, in entries that are not read."""

NEVER = """
    algorithms.automatic.measure:Gauge algorithms.automatic.measure:Measurements
    algorithms.automatic.measure:Point algorithms.automatic.recover:Evidence
    algorithms.automatic.recover:Recovery algorithms.automatic.restricted:Problem
    algorithms.automatic.restricted:Solved algorithms.automatic.search:Candidates
    algorithms.automatic.search:Search algorithms.corner_search:Held algorithms.corners:Corners
    algorithms.slope_model:SlopeModel algorithms.slope_model:SlopePrior
    estimators.cosamp:Recovered estimators.cosamp:_Dense estimators.differences:Quotients
    objective:Objective objective:_Call objective:_FirstOfBatch objective:_Plain
    oracle:Oracle pieces:Piece pieces:PieceAnswer
    result:Counts result:Failure result:Faults result:Progress result:Result result:Status
    scripted:Notebook scripted:Scripted scripted:_Talk stopping:Rule
"""
"""Work in progress, abstract classes, results, and what holds functions."""

NEVER_PACKAGES = (
    "adapters",
    "cli",
    "executors",
    "experiments",
    "problems",
    "remote",
    "reporting",
    "store",
    "theory",
)


def test_every_class_of_0_1_is_known_or_was_never_stored():
    listed = json.loads((FIXTURES / "0.1" / "stored_names.json").read_text())
    others = {f"szoht.{name}" for name in (STATES + NEVER).split()}
    for path in listed:
        package = path.split(".", 1)[1].partition(":")[0].partition(".")[0]
        known = path in names.PATHS_0_1
        assert known != (path in others or package in NEVER_PACKAGES), path
    assert set(names.PATHS_0_1) <= set(listed)
    assert others <= set(listed)


def test_every_path_of_0_1_means_a_class():
    for path, name in names.PATHS_0_1.items():
        assert names.find_class(path) == names.find_class(name)
        assert names.find_class(path)[0] == name


@pytest.mark.parametrize("name", REGISTERED)
def test_the_registry_is_true(name):
    _, kind = names.find_class(name)
    assert names.name_of(kind) == name
    assert dataclasses.is_dataclass(kind) or issubclass(kind, tuple)


def test_names_are_given_once():
    assert len(REGISTERED) == len(set(REGISTERED))
    paths = [path for group in names.PATHS.values() for path in group.values()]
    assert len(paths) == len(set(paths))


def test_module_paths_are_not_written():
    algorithm = szoht.szoht(k=2, q=3, mu=szoht.schedules.Geometric(start=1.0, ratio=0.5))
    text = encode(algorithm).text
    assert "szoht." not in text
    assert '"record": "sphere"' in text


def test_a_class_that_moved(monkeypatch):
    """What was stored before a move can be read after it, and is then stored as before."""
    old = encode(szoht.Sparse(3))

    @dataclasses.dataclass(frozen=True)
    class Moved:
        k: int
        always: tuple[int, ...] = ()

    Moved.__module__, Moved.__qualname__ = "szoht.elsewhere", "Moved"
    module = type(sys)("szoht.elsewhere")
    module.Moved = Moved
    monkeypatch.setitem(sys.modules, "szoht.elsewhere", module)
    monkeypatch.setitem(names._PATH_OF, "sparse", "szoht.elsewhere:Moved")
    monkeypatch.setitem(names._NAME_OF, "szoht.elsewhere:Moved", "sparse")
    names.find_class.cache_clear()
    try:
        assert decode(old, Operator) == Moved(3)
        assert encode(Moved(3)) == old
        by_path = Encoded(old.text.replace('"sparse"', '"szoht.operators.sparse:Sparse"'), b"")
        assert decode(by_path, Operator) == Moved(3)
    finally:
        names.find_class.cache_clear()


def test_a_field_that_was_renamed(monkeypatch):
    old = '{"record": "sparse", "fields": {"n_nonzero": 3}}'
    with pytest.raises(EncodingError, match="'sparse' has no field 'n_nonzero'"):
        decode(Encoded(old, b""), Operator)
    monkeypatch.setitem(names.RENAMED_FIELDS, "sparse", {"n_nonzero": "k"})
    assert decode(Encoded(old, b""), Operator) == szoht.Sparse(3)
    assert decode(encode(szoht.Sparse(3)), Operator) == szoht.Sparse(3)


@pytest.mark.parametrize("name", REGISTERED)
def test_only_schedules_stand_where_schedules_do(name):
    assert names.belongs(name, Schedule) == (name in names.PATHS["Schedule"])
