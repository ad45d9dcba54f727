"""JSON and arrays in place of pickles; fingerprints of functions."""

import functools
import io
import json
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import szoht
from szoht import SparseBox, algorithms
from szoht.core.algorithm import Algorithm
from szoht.core.query import Stage
from szoht.errors import EncodingError
from szoht.operators import Operator
from szoht.store.codec import Encoded, decode, encode
from szoht.store.fingerprint import fingerprint, import_path, matches
from szoht.types import Vector

SETTINGS = {
    "sketch_ht": {"k": 2},
    "corner_search": {"constraint": SparseBox(2, low=-1.0, high=1.0)},
    "sparse_rs": {"constraint": SparseBox(2, low=-1.0, high=1.0)},
    "zscg": {"radius": 3.0, "smoothness": 2.0},
    "zo_projected_gradient": {"radius": 3.0},
    "rspgf": {"penalty": 0.1},
    "zoro": {"sparsity": 3},
    "momentum_szoht": {"k": 2, "step_size": 0.01, "q": 3},
    "zo_adamm": {"k": 2, "step_size": 0.01, "q": 3},
    "vr_szht": {"k": 2, "step_size": 0.01, "q": 3},
    "sarah_szht": {"k": 2, "step_size": 0.01, "q": 3},
    "saga_szht": {"k": 2, "step_size": 0.01, "q": 3},
    "auto": {"k": 2},
    "iht": {"k": 2},
    "stoiht": {"k": 2},
    "ada_zoro": {},
}


@pytest.mark.parametrize("method", sorted(algorithms.METHODS))
def test_every_algorithm_is_data(method):
    settings = SETTINGS.get(method, {"k": 2, "q": 3})
    algorithm = algorithms.METHODS[method](**settings)
    assert repr(decode(encode(algorithm), Algorithm)) == repr(algorithm)


def test_bounds_in_full():
    low, high = -np.arange(5000.0), np.linspace(0, 1, 5000)
    operator = decode(encode(szoht.SparseBox(3, low=low, high=high)), Operator)
    np.testing.assert_array_equal(operator.low, low)
    np.testing.assert_array_equal(operator.high, high)
    assert not operator.low.flags.writeable


@pytest.mark.parametrize(
    "operator",
    [
        szoht.TreeSparse(2, [-1, 0, 0], low=0.0),
        szoht.GraphSparse(2, [[0, 1], [1, 2]], components=2),
        szoht.LowRank(1, shape=(2, 3)),
        szoht.GroupSparse(k=1, groups=[[0, 1], [1, 2]], overlap="explicit"),
        szoht.GroupSparse(k=1, size=3, per_group=2),
        szoht.SparseSimplex(3, at_least=0.1, at_most=0.6, groups=[0, 0, 1], per_group=1),
        szoht.Semicontinuous(2, at_least=0.5, high=[1.0, 2.0]),
        szoht.SparseIn("dct", k=2),
        szoht.SparseIn(np.eye(3), k=2),
        szoht.TwoStep(sparse=szoht.Sparse(2), convex=szoht.L1Ball(1.0)),
    ],
    ids=str,
)
def test_structured_sets_are_data(operator):
    assert repr(decode(encode(operator), Operator)) == repr(operator)


def test_a_linear_operator_is_not_data():
    transform = aslinearoperator(np.eye(3))
    with pytest.raises(EncodingError, match="is not stored"):
        encode(szoht.SparseIn(transform, k=2))


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, 1e-320, float("inf"), "é", (1, [2, {"a": (3,)}]), 2**200],
)
def test_values_come_back(value):
    assert repr(decode(encode(value), Any)) == repr(value)
    assert decode(encode(np.float64(0.1)), float) == 0.1


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        object(),
        {1, 2},
        np.array([object()]),
        np.array(["a"]),
        1j,
        b"bytes",
        Stage.SEARCH,
    ],
)
def test_what_is_not_data_is_refused(value):
    with pytest.raises(EncodingError, match="is not stored"):
        encode({"value": (value,)})


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "subprocess:Popen",
        "szoht.store.store:Store",
        "szoht.cli:main",
        "szoht.evaluation.programs:subprocess",
        "szoht.nowhere:Thing",
        "szoht:minimize",
        "szohtx.y:Z",
    ],
)
def test_only_records_of_the_library_are_made(name):
    text = json.dumps({"record": name, "fields": {}})
    with pytest.raises(EncodingError, match="is not the name of a class"):
        decode(Encoded(text, b""), Operator)


def test_no_array_of_objects_is_read():
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([{}]), allow_pickle=True)
    with pytest.raises(EncodingError, match="no header that can be read"):
        decode(Encoded('{"array": 0}', file.getvalue()), Vector)


def make(constant):
    names = {}
    exec(f"def fun(x):\n    return [v in {{'b', 'a'}} for v in x] + [{constant}]", names)  # noqa: S102
    return names["fun"]


class Model:
    def __call__(self, x):
        return 1.0


class Other:
    def __call__(self, x):
        return 2.0


def test_fingerprints():
    assert matches(fingerprint(make(1)), fingerprint(make(1)))
    assert not matches(fingerprint(make(1)), fingerprint(make(2)))
    assert not matches(fingerprint(np.sin), fingerprint(np.cos))
    assert matches(fingerprint(Model()), fingerprint(Model()))
    assert not matches(fingerprint(Model()), fingerprint(Other()))
    program = szoht.Program(command="simulate --fast")
    assert matches(
        fingerprint(program), fingerprint(szoht.Program(command="simulate --fast", timeout=3))
    )
    assert not matches(fingerprint(program), fingerprint(szoht.Program(command="simulate --slow")))


def test_arguments_of_partials_count():
    def one(*more, **named):
        return fingerprint(functools.partial(make(1), *more, **named))

    array = np.arange(2000.0)
    assert matches(one(3, scale=array), one(3, scale=array.copy()))
    assert matches(one(a=1, b={2, "c"}), one(b={"c", 2}, a=1))
    assert matches(one(make(2), Model()), one(make(2), Model()))
    changed = array.copy()
    changed[1000] += 1e-9  # where repr shows dots
    different = [
        fingerprint(make(1)),
        *(one(3), one(4), one(a=3), one("3"), one(3.0)),
        *(one(array), one(changed), one(array.astype(int)), one(array.reshape(2, 1000))),
        *(one(make(2)), one(make(3)), one([3]), one((3,)), one(np.array([3, None]))),
        *(one(szoht.Sparse(3)), one(szoht.Sparse(4)), one(szoht.SparseSimplex(3))),
        *(one(functools.partial(len, 3)), one(functools.partial(len, 4))),
    ]
    for i, first in enumerate(different):
        for second in different[:i]:
            assert not matches(first, second)
    nested = functools.partial(functools.partial(make(1), 3), 4)
    assert not matches(fingerprint(nested), one(3))


def test_other_pythons_compile_differently():
    one, two = fingerprint(make(1)), fingerprint(make(2))
    assert matches(one | {"python": "3.99"}, two)
    assert not matches(one | {"python": "3.99", "name": "else"}, two)


def test_places():
    assert import_path(np.linalg.norm) == "numpy.linalg:norm"
    assert import_path(Model()) is None
    assert import_path(Model().__call__) is None
