"""Every misuse is found before a query is spent, by a typed error that names the rule."""

import inspect
import warnings
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from szoht import (
    Full,
    L1Ball,
    Minibatch,
    Seeds,
    Sparse,
    SparseVector,
    algorithms,
    errors,
    minimize,
    operators,
)
from szoht.core.objective import Objective, as_objective
from szoht.core.validation import check_vector
from szoht.evaluation.oracle import Oracle
from szoht.samplers import Minibatch as Batch
from szoht.schedules import Constant, Geometric, Polynomial
from szoht.stopping import Iterations, Queries, Seconds, Stalled, Target
from szoht.types import IterateChoice
from szoht.updates import Adaptive, FrankWolfe, LineSearch

D = 10


def never(*_):
    pytest.fail("a query was spent")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"k": 0}, errors.ParameterError, r"`k` must be an integer in \[1, d\]; got k=0 with d=10"),
        ({"k": 11}, errors.ParameterError, r"\[1, d\]; got k=11 with d=10"),
        ({"k": -1}, errors.ParameterError, "got k=-1"),
        ({"k": 2.0}, errors.ParameterTypeError, "got k=2.0 of type float"),
        ({"k": True}, errors.ParameterTypeError, "got k=True"),
        ({"k": None}, errors.ParameterError, "exactly one of `k` and `constraint`"),
        ({"constraint": Sparse(2)}, errors.ParameterError, "exactly one of"),
        ({"k": None, "constraint": Sparse(11)}, errors.ParameterError, "got k=11 with d=10"),
        ({"x0": np.zeros((2, 5))}, errors.ParameterError, r"`x0` must be 1-d .* \(2, 5\)"),
        ({"x0": 3.0}, errors.ParameterError, r"`x0` must be 1-d"),
        ({"x0": []}, errors.ParameterError, "at least one entry"),
        ({"x0": [0.0, np.nan]}, errors.ParameterError, r"got x0\[1\]=nan"),
        ({"x0": [np.inf] * D}, errors.ParameterError, r"got x0\[0\]=inf"),
        ({"x0": "origin"}, errors.ParameterTypeError, "`x0` must be a 1-d array"),
        ({"x0": [1j]}, errors.ParameterTypeError, "`x0` must be a 1-d array"),
        ({"options": {"q": 0}}, errors.ParameterError, r"`q` must be an integer in \[1, inf\)"),
        ({"options": {"q": 2.5}}, errors.ParameterTypeError, "got q=2.5"),
        ({"options": {"q": Constant(0.5)}}, errors.ParameterError, "got q=0.5"),
        ({"options": {"support_size": 0}}, errors.ParameterError, r"`support_size` .* \[1, d\]"),
        ({"options": {"support_size": 11}}, errors.ParameterError, "support_size=11 with d=10"),
        ({"options": {"mu": 0.0}}, errors.ParameterError, "`mu` must be a finite number > 0"),
        ({"options": {"mu": -1e-3}}, errors.ParameterError, "got mu=-0.001"),
        ({"options": {"mu": np.inf}}, errors.ParameterError, "got mu=inf"),
        ({"options": {"mu": "small"}}, errors.ParameterTypeError, "got mu='small'"),
        ({"options": {"step_size": 0}}, errors.ParameterError, "`step_size` must be"),
        ({"options": {"iterate": "first"}}, errors.ParameterError, "`iterate` must be one of"),
        ({"options": {"steps": 1}}, errors.ParameterError, "got 'steps'. Did you mean 'step_size'"),
        ({"options": {"zzz": 1}}, errors.ParameterError, "got 'zzz'. It has q, mu, step_size"),
        ({"options": {"d": 1}}, errors.ParameterError, "got 'd'"),
        ({"max_queries": 30}, errors.BudgetError, "one plan .* 31 queries; got max_queries=30"),
        ({"max_queries": 0}, errors.ParameterError, "`max_queries` must be an integer"),
        ({"max_iterations": 0}, errors.ParameterError, "`max_iterations`"),
        ({"max_seconds": 0}, errors.ParameterError, "`max_seconds`"),
        ({"target": np.nan}, errors.ParameterError, "`target`"),
        ({"method": "newton"}, errors.ParameterError, "method='newton'. The names are 'ada_zoro'"),
        ({"method": "szhot"}, errors.ParameterError, "'szhot'. Did you mean 'szoht'. The names"),
        ({"method": object(), "k": None}, errors.ParameterTypeError, "`method` must be a name"),
        (
            {"method": algorithms.szoht(k=2, q=3)},
            errors.ParameterError,
            "`k` is part of an algorithm object",
        ),
        ({"method": "iht"}, errors.CapabilityError, "needs the objective's `gradient`"),
        (
            {"options": {"sampler": Minibatch(size=2), "q": 30}},
            errors.CapabilityError,
            "Minibatch needs a finite sum",
        ),
        (
            {"options": {"sampler": Seeds(), "q": 30}},
            errors.CapabilityError,
            "draws samples, and the objective takes none",
        ),
        (
            {"stochastic": True, "options": {"sampler": Full(), "q": 30}},
            errors.CapabilityError,
            "takes a sample, and the algorithm's sampler draws none",
        ),
        (
            {"n_samples": 3, "options": {"sampler": Minibatch(size=4), "q": 30}},
            errors.ParameterError,
            r"`size` must be an integer in \[1, n_samples\]; got size=4 with n_samples=3",
        ),
        ({"n_samples": 0}, errors.ParameterError, "`n_samples`"),
        ({"rng": -1}, errors.ParameterError, "`rng`"),
        ({"rng": 0.5}, errors.ParameterTypeError, "`rng`"),
        ({"on_error": "ignore"}, errors.ParameterError, "`on_error` must be one of 'stop'"),
        ({"chunk_size": 0}, errors.ParameterError, "`chunk_size`"),
        ({"callback": 3}, errors.ParameterTypeError, "`callback` must be callable"),
        ({"callback": [print, 3]}, errors.ParameterTypeError, "`callback` must be callable"),
        ({"gradient": 3}, errors.ParameterTypeError, "`gradient` must be callable"),
    ],
)
def test_minimize(changes, error, message):
    arguments = {"x0": np.zeros(D), "k": 3, "max_queries": 500, "rng": 0, "options": {"q": 30}}
    arguments |= {"method": "szoht"} | changes
    if arguments["method"] != "szoht":
        arguments["options"] = None
    with pytest.raises(error, match=message) as caught:
        minimize(never, arguments.pop("x0"), **arguments)
    assert isinstance(caught.value, errors.SzohtError)
    assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize("fun", [3, None, "fun"])
def test_functions_must_be_callable(fun):
    with pytest.raises(errors.ParameterTypeError, match="`fun` must be callable"):
        minimize(fun, np.zeros(3), k=1, method="szoht")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda points: 1.0,
        lambda points: points.sum(axis=1, keepdims=True),
        lambda points: points,
        lambda points: [[1.0]],
    ],
)
def test_a_vectorised_function_of_the_wrong_shape_spends_nothing(wrong):
    seen = []

    def fun(points):
        seen.extend(points)
        return wrong(points)

    with pytest.raises(errors.AnswerShapeError, match="declared vectorised"):
        minimize(fun, np.zeros(5), k=1, vectorized=True, max_queries=100, method="szoht")
    assert seen == []


def test_a_vectorised_function_may_refuse_an_empty_stack():
    def fun(points):
        if len(points) == 0:
            raise RuntimeError("no points")
        return ((points - 1) ** 2).sum(axis=1)

    assert (
        minimize(
            fun, np.zeros(5), k=1, vectorized=True, max_queries=100, rng=0, method="szoht"
        ).nfev
        > 0
    )


def test_a_vectorised_function_that_changes_shape_later_is_found_then():
    def fun(points):
        return np.zeros(len(points) + (len(points) > 3))

    with pytest.raises(errors.AnswerShapeError, match="must have shape"):
        minimize(fun, np.zeros(5), k=1, vectorized=True, max_queries=100, method="szoht")


def test_a_gradient_of_the_wrong_shape():
    with pytest.raises(errors.AnswerShapeError, match="`gradient` must have shape"):
        minimize(lambda x: 0.0, np.zeros(5), k=1, method="iht", gradient=lambda x: x[:2])


def test_objects_declare_their_own_powers():
    objective = Objective(value=lambda x, _: 0.0)
    with pytest.raises(errors.ParameterError, match="`vectorized` describes a plain function"):
        as_objective(objective, vectorized=True)


def test_an_algorithm_object_needs_its_numbers():
    with pytest.raises(errors.ParameterError, match="`q` must be given, or `d`"):
        algorithms.szoht(k=2)


def test_frank_wolfe_needs_a_set_with_vertices():
    with pytest.raises(errors.CapabilityError, match=r"with `lmo`.*Sparse\(k=2\)"):
        FrankWolfe(operator=Sparse(2))
    FrankWolfe(operator=L1Ball(1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Queries(0),
        lambda: Iterations(1.5),
        lambda: Seconds(-1),
        lambda: Target(np.inf),
        lambda: Stalled(0),
        lambda: Stalled(3, rtol=-1),
        lambda: Batch(size=0),
        lambda: Seeds(size=0),
        lambda: Constant(np.nan),
        lambda: Geometric(start=0, ratio=1),
        lambda: Geometric(start=1, ratio=-1),
        lambda: Polynomial(start=1, power=-1),
        lambda: Polynomial(start=1, offset=0),
        lambda: LineSearch(operator=Sparse(1), ratio=1.0),
        lambda: LineSearch(operator=Sparse(1), reach=0),
        lambda: Oracle(objective=Objective(value=never), on_error="maybe"),
    ],
)
def test_parts_validate_at_construction(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()


@given(st.integers(-3, 15), st.integers(-3, 40), st.integers(-3, 15), st.floats(-1, 1))
def test_either_a_run_or_a_typed_error(k, q, support_size, mu):
    options = {"q": q, "support_size": support_size, "mu": mu, "step_size": 0.05}
    valid = 1 <= k <= D and q >= 1 and 1 <= support_size <= D and mu > 1e-9
    try:
        result = minimize(
            lambda x: float(((x - 1) ** 2).sum()),
            np.zeros(D),
            k=k,
            options=options,
            max_iterations=2,
            rng=0,
            method="szoht",
        )
    except errors.ParameterError:
        assert not valid
    except errors.RoundingWarning:
        assert mu < 1e-9
    else:
        assert np.count_nonzero(result.x) <= k


def test_a_start_from_torch_is_read_without_a_warning():
    torch = pytest.importorskip("torch")
    for start in (torch.zeros(D), torch.zeros(D, requires_grad=True)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = minimize(lambda x: float(x @ x), start, k=3, max_queries=50, rng=0)
        assert result.x.size == D


@pytest.mark.parametrize("kind", ["bfloat16", "complex64"])
def test_a_start_from_torch_that_numpy_cannot_hold(kind):
    torch = pytest.importorskip("torch")
    start = torch.zeros(D, dtype=getattr(torch, kind))
    with pytest.raises(errors.ParameterTypeError, match="`x0` must be a 1-d array of real numbers"):
        minimize(never, start, k=3)


def test_a_message_ends_with_one_full_stop():
    sparse = SparseVector(10**9, [3], [1.0])
    with pytest.raises(errors.ParameterTypeError) as caught:
        check_vector("x0", sparse)
    assert str(caught.value).endswith("as an array.")


def test_every_choice_of_iterate_is_documented():
    for name, factory in algorithms.METHODS.items():
        text = inspect.getdoc(factory)
        lines = [line for line in text.splitlines() if line.strip().startswith("iterate : ")]
        for line in lines:
            assert all(repr(c).replace("'", '"') in line for c in get_args(IterateChoice)), name


def test_an_adaptive_update_names_every_operator_that_it_can_use():
    with pytest.raises(errors.CapabilityError) as caught:
        Adaptive(operator=operators.SparseSimplex(2), step_size=0.1)
    able = [
        name
        for name in operators.__all__
        if name != "Operator" and hasattr(getattr(operators, name), "weighted_prox")
    ]
    assert all(name in str(caught.value) for name in able)
