"""Arguments of the wrong type: a typed error that names the argument, or a run if it makes sense.

Each argument of each entry point is given values of every kind, whichever module checks it.
"""

import inspect

import numpy as np
import pytest

import szoht
from szoht import operators
from szoht.errors import SzohtError
from szoht.run.least_squares import LeastSquaresAskTell
from wrong_values import CALLABLES, VALUES

pytestmark = pytest.mark.filterwarnings("ignore::szoht.errors.SzohtWarning")

FUNCTIONS = ("fun", "gradient", "jac", "along", "callback", "monitor")
"""Arguments that are called: exceptions of theirs are theirs."""

LEFT_OUT = {("resume", "method"): {"5,000 digits", "an object without words"}}
"""What a store says of a method in words."""


def quadratic(x, *_):
    return float(((x - 1) ** 2).sum())


def outputs(x, *_):
    return np.asarray(x) - 1.0


RUN = {"x0": np.zeros(5), "k": 2, "max_queries": 20, "rng": 1}
ENTRIES = {
    "minimize": (szoht.minimize, {"fun": quadratic, **RUN}),
    "maximize": (szoht.maximize, {"fun": lambda x, *_: -quadratic(x), **RUN}),
    "least_squares": (szoht.least_squares, {"fun": outputs, **RUN}),
    "AskTell": (szoht.AskTell, RUN),
    "LeastSquaresAskTell": (LeastSquaresAskTell, RUN),
    "Variables": (szoht.Variables, {"nominal": [1.0, 2.0]}),
    "Program": (szoht.Program, {"command": "true"}),
    "resume": (szoht.resume, {"fun": quadratic}),
}

PARTS = {
    "Box": {"low": -1.0, "high": 1.0},
    "GraphSparse": {"k": 2, "edges": [(0, 1), (1, 2)]},
    "GroupSparse": {"k": 2, "size": 2},
    "Identity": {},
    "L1Ball": {"radius": 1.0},
    "LowRank": {"r": 1, "shape": (2, 3)},
    "Semicontinuous": {"k": 2, "at_least": 0.1},
    "SoftThreshold": {"penalty": 0.1},
    "Sparse": {"k": 2},
    "SparseBox": {"k": 2, "low": -1.0, "high": 1.0},
    "SparseIn": {"transform": "dct", "k": 2},
    "SparseSimplex": {"k": 2},
    "SparseSum": {"k": 2},
    "TreeSparse": {"k": 2, "parents": [-1, 0, 0, 1]},
    "TwoStep": {"sparse": szoht.Sparse(2), "convex": szoht.L1Ball(1.0)},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong") / "runs.db"
    szoht.minimize(quadratic, np.zeros(5), k=2, max_queries=20, rng=0, store=path)
    return path


def complaint(call, arguments):
    """Return what is wrong with the outcome of a call, None if nothing is."""
    try:
        call(**arguments)
    except SzohtError as error:
        return None if str(error).strip() else "no words"
    except Exception as error:
        return repr(error)
    return None


def parameters(call):
    return list(inspect.signature(call).parameters)


def cases():
    for name, (call, _) in ENTRIES.items():
        for parameter in parameters(call):
            yield pytest.param(name, parameter, id=f"{name}-{parameter}")


@pytest.mark.parametrize(("name", "parameter"), list(cases()))
def test_arguments_of_every_kind(store, name, parameter, capsys):
    call, arguments = ENTRIES[name]
    if name == "resume":
        arguments = {"store": store, **arguments}
    kinds = VALUES if parameter in FUNCTIONS else VALUES | CALLABLES
    kinds = {kind: value for kind, value in kinds.items() if not starts(parameter, value)}
    for kind in LEFT_OUT.get((name, parameter), ()):
        del kinds[kind]
    found = {kind: complaint(call, arguments | {parameter: value}) for kind, value in kinds.items()}
    assert {kind: what for kind, what in found.items() if what} == {}


def starts(parameter, value):
    """Tell whether a value would start processes, or make a file."""
    if parameter == "workers":
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    return parameter in ("store", "known") and isinstance(value, str | bytes)


@pytest.mark.parametrize("name", PARTS)
def test_parameters_of_sets(name):
    make, arguments = getattr(operators, name), PARTS[name]
    make(**arguments)
    found = {}
    for parameter in parameters(make):
        for kind, value in (VALUES | CALLABLES).items():
            given = arguments | {parameter: value}
            found[parameter, kind] = complaint(make, given) or complaint(used(make, given), {})
    assert {case: what for case, what in found.items() if what} == {}


def used(make, arguments):
    """Return a run under a constraint that could be made."""
    try:
        constraint = make(**arguments)
    except SzohtError:
        return lambda: None
    return lambda: szoht.minimize(
        quadratic, np.zeros(6), constraint=constraint, max_queries=10, rng=0, method="szoht"
    )


def test_every_set_is_tested():
    made = {name for name in operators.__all__ if inspect.isclass(getattr(operators, name))}
    assert {name for name in made if not is_contract(getattr(operators, name))} == set(PARTS)


def is_contract(kind):
    return getattr(kind, "_is_protocol", False)


@pytest.mark.parametrize("kind", VALUES)
def test_values_told_by_the_caller(kind):
    for told in ({"values": VALUES[kind]}, {"values": [1.0], "gradient": VALUES[kind]}):
        assert complaint(szoht.AskTell(**RUN).tell, told) is None


@pytest.mark.parametrize("kind", VALUES)
def test_tables_of_variables(kind):
    from pandas import DataFrame, Series  # noqa: PLC0415

    if kind != "a DataFrame":
        assert complaint(szoht.Variables.from_frame, {"frame": VALUES[kind]}) is None
    if not isinstance(VALUES[kind], str):
        assert complaint(szoht.Variables.from_csv, {"path": VALUES[kind]}) is None
    for column in ("name", "nominal", "low", "log", "integer", "values", "start", "unit"):
        cells = Series([VALUES[kind]] * 2, dtype=object)
        frame = DataFrame({"nominal": Series([1.0, 2.0]), column: cells})
        assert complaint(szoht.Variables.from_frame, {"frame": frame}) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": 3}, "`names` must be several strings; got 3"),
        ({"names": "ab"}, "`names` must be several strings; got 'ab'"),
        ({"names": ["\ud800"] * 5}, "`names` must be text"),
        ({"always": True}, "`always` must be a list of variables, by number or name; got always=T"),
        ({"always": [7]}, r"`always` must be an integer in \[0, d - 1\]; got always=7"),
        ({"args": 5}, r"`args` must be a tuple of further arguments; got args=5\. .*\(a,\)"),
        ({"args": np.zeros(2)}, "`args` must be a tuple"),
        ({"vectorized": np.zeros(2)}, "`vectorized` must be True or False; got .* of type ndarray"),
        ({"maximize": "no"}, "`maximize` must be True or False; got maximize='no' of type str"),
        ({"on_error": np.zeros(2)}, "`on_error` must be one of 'stop', 'skip', 'raise'; got"),
        ({"x_as": np.zeros(2)}, "`x_as` must be one of 'array', 'series', 'dict'; got"),
        ({"n_samples": {}}, r"`n_samples` must be an integer in \[1, inf\); got n_samples={}"),
        (
            {"max_queries": 10**400},
            "an integer of 401 digits, and at most 2.*63 - 1 can be counted",
        ),
        (
            {"target": 10**400},
            "`target` must be a finite number; got .* 401 digits, beyond 1.8e308",
        ),
        ({"callback": np.array(3)}, "`callback` must be callable, or several; got array"),
        ({"monitor": lambda x: "low"}, "`monitor` must return a number; got 'low'"),
        ({"executor": szoht.executors.Threads}, "`executor` must be one of szoht.executors"),
        ({"method": "auto", "options": {"effort": [1]}}, "`effort` must be a number > 0; got"),
        ({"method": "szoht", "options": {"central": 2}}, "`central` must be True or False; got"),
        ({"method": "szoht", "options": {"sampler": 3}}, "`sampler` must be one of szoht.samplers"),
        ({"method": "hzo_ht", "options": {"max_q": "a"}}, "`high` must be a number"),
    ],
)
def test_messages_name_the_argument_the_rule_and_the_value(arguments, message):
    with pytest.raises(SzohtError, match=message) as caught:
        szoht.minimize(quadratic, np.zeros(5), **{"k": 2, "max_queries": 20} | arguments)
    assert isinstance(caught.value, ValueError | TypeError)


def test_a_limit_of_a_stored_run_is_a_number(store):
    for limit in ("max_queries", "max_iterations", "max_seconds", "target"):
        with pytest.raises(SzohtError, match=f"`{limit}` must be"):
            szoht.resume(store, quadratic, **{limit: "many"})


def test_a_target_below_zero_is_a_limit_like_others(tmp_path):
    szoht.minimize(quadratic, np.zeros(5), k=2, max_queries=10, rng=0, store=tmp_path / "runs.db")
    result = szoht.resume(tmp_path / "runs.db", quadratic, max_queries=20, target=-1.0)
    assert result.nfev <= 20
