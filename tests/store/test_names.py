"""Stored names outlive module paths and field names."""

import dataclasses
import sys

import pytest

import szoht
from szoht.errors import EncodingError
from szoht.operators import Operator
from szoht.schedules import Schedule
from szoht.store import names
from szoht.store.codec import Encoded, decode, encode

REGISTERED = sorted(name for group in names.PATHS.values() for name in group)


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
