"""Misuse of `minimize` is found before a query is spent, by a typed error that names the rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from szoht import Full, Minibatch, Seeds, Sparse, algorithms, errors, minimize
from szoht.schedules import Constant
from szoht.stopping import Queries

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
        (
            {"k": None, "constraint": Sparse},
            errors.ParameterError,
            r"got the class Sparse. Give its parameters, such as constraint=Sparse\(10\)",
        ),
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
def test_misuse_is_found_before_a_query_is_spent(changes, error, message):
    arguments = {"x0": np.zeros(D), "k": 3, "max_queries": 500, "rng": 0}
    arguments["options"] = {"q": 30, "mu": 1e-6}
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


@given(st.integers(-3, 15), st.integers(-3, 40), st.integers(-3, 15), st.floats(-1, 1))
@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"constraint": Sparse(300)}, errors.ParameterError, "got k=300 with d=30"),
        ({"constraint": 3}, errors.ParameterTypeError, "`constraint` must be a set"),
        ({"k": 2, "stop": 5}, errors.ParameterTypeError, "`stop` must be a rule"),
        ({"k": 2, "stop": Queries(5)}, errors.BudgetError, "got max_queries=5"),
        ({"k": 2, "options": 5}, errors.ParameterTypeError, "`options` must be a dict"),
        ({"k": 2, "monitor": 5}, errors.ParameterTypeError, "`monitor` must be callable"),
    ],
)
def test_wrong_kinds_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        minimize(
            lambda x: pytest.fail("a query was spent"), np.zeros(30), **arguments, method="szoht"
        )
