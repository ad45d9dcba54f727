"""Sound input at the edge of what is usual: an answer, or a typed error that is documented."""

import math

import numpy as np
import pytest

import szoht
from szoht import Status, Variables, algorithms, errors

pytestmark = pytest.mark.filterwarnings("ignore::szoht.errors.SzohtWarning")

GOAL = 0.7
NEED_MORE = ("iht", "stoiht", "vr_szht", "sarah_szht", "saga_szht")
"""Methods of gradients, and of finite sums."""

METHODS = [name for name in algorithms.METHODS if name not in NEED_MORE]


def distance(x):
    return float(((np.asarray(x, dtype=float) - GOAL) ** 2).sum())


def factors(x):
    return float(np.log(x[0] / 3) ** 2 + np.log(x[1]) ** 2)


def at_some(value):
    return lambda x: value if x[0] > 0.3 else distance(x)


ONE_FREE = {"low": [0, 0, -1], "high": [0, 0, 1]}
FIXED = {"low": [0, 0, -1, -1, 0, -2], "high": [0, 0, 1, 1, 0, 2]}
SIDES = [(0, None), (None, 0), (None, None), (0, 1)]

ANSWERED = {
    "one variable": (distance, [0.0], {"k": 1}),
    "one variable, bounds": (distance, [0.0], {"k": 1, "bounds": (-1, 0.5)}),
    "one integer": (distance, [0.0], {"k": 1, "integer": True, "bounds": (-3, 3)}),
    "as many changes as variables": (distance, np.zeros(4), {"k": 4}),
    "all but one fixed": (
        distance,
        Variables(np.zeros(3), **ONE_FREE),
        {"k": 1},
    ),
    "some fixed": (distance, Variables(np.zeros(6), **FIXED), {"k": 2}),
    "fewer free than k": (
        distance,
        Variables(np.zeros(3), **ONE_FREE),
        {"k": 3},
    ),
    "some fixed integers": (distance, Variables(np.zeros(6), **FIXED, integer=True), {"k": 2}),
    "a list of one value": (
        distance,
        Variables(np.zeros(3), values=[[0.0], [0.0, 1.0], None]),
        {"k": 1},
    ),
    "no upper bound": (distance, np.zeros(6), {"k": 2, "bounds": (0, None)}),
    "no lower bound": (distance, np.zeros(6), {"k": 2, "bounds": (-math.inf, 0)}),
    "an infinite bound": (distance, np.zeros(6), {"k": 2, "bounds": (0, math.inf)}),
    "bounds on some sides": (distance, np.zeros(4), {"k": 2, "bounds": SIDES}),
    "integers without end": (
        distance,
        np.zeros(4),
        {"k": 2, "bounds": (0, None), "integer": True},
    ),
    "factors without end": (factors, Variables([1.0, 1.0], log=True, low=[1.0, 0.5]), {"k": 1}),
    "narrow bounds": (distance, np.zeros(4), {"k": 2, "bounds": (0, 1e-300)}),
    "a start at a bound": (distance, [1.0, 0, 0, 0], {"k": 2, "bounds": (0, 1)}),
    "a start at two bounds": (distance, [1.0, -1.0, 0, 0], {"k": 2, "bounds": (-1, 1)}),
    "nominal values at a bound": (distance, Variables(np.ones(5), low=0, high=1), {"k": 2}),
    "a dense start": (distance, np.ones(6), {"k": 2}),
    "a dense start with a reference": (distance, np.ones(6), {"k": 2, "reference": np.zeros(6)}),
    "a start outside a box": (distance, np.full(4, 5.0), {"constraint": szoht.SparseBox(2, 0, 1)}),
    "a start outside the simplex": (
        distance,
        np.full(4, 5.0),
        {"constraint": szoht.SparseSimplex(2)},
    ),
    "inf at some points": (at_some(math.inf), np.zeros(5), {"k": 2}),
    "-inf at some points": (at_some(-math.inf), np.zeros(5), {"k": 2}),
    "inf but at the start": (lambda x: math.inf if np.any(x) else 1.0, np.zeros(5), {"k": 2}),
    "float32": (distance, np.zeros(5, dtype=np.float32), {"k": 2}),
    "float16": (distance, np.zeros(5, dtype=np.float16), {"k": 2}),
    "integers": (distance, np.array([1, 0, 0, 2]), {"k": 2}),
    "bytes": (distance, np.array([1, 0, 0, 2], dtype=np.uint8), {"k": 2}),
    "a list": (distance, [0, 0, 0, 0, 1], {"k": 2}),
    "a tuple": (distance, (0.0,) * 5, {"k": 2}),
    "a range": (distance, range(3), {"k": 2}),
    "flags": (distance, [False] * 5, {"k": 2}),
    "a column": (distance, np.zeros((5, 2))[:, 0], {"k": 2}),
    "a read-only array": (distance, np.broadcast_to(0.0, 5), {"k": 2}),
    "minus zero": (distance, np.array([-0.0] * 4), {"k": 2}),
    "a denormal start": (distance, np.array([1e-320, 0, 0]), {"k": 2}),
}

REFUSED = {
    "all fixed": (Variables(np.zeros(3), low=0, high=0), {"k": 1}, "low == high for each of the 3"),
    "a start out of bounds": (
        np.full(4, 5.0),
        {"k": 2, "bounds": (0, 1)},
        "`start` must lie within the bounds; got variable 0 with start=5",
    ),
    "a start outside a convex box": (
        np.full(4, 5.0),
        {"constraint": szoht.Box(low=0, high=1)},
        "`x0` must lie in Box",
    ),
    "a start outside a ball": (
        np.full(4, 5.0),
        {"constraint": szoht.L1Ball(1.0)},
        "`x0` must lie in L1Ball",
    ),
    "bounds in the wrong order": (np.zeros(2), {"k": 1, "bounds": (1, -1)}, "low <= high"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ANSWERED)
def test_an_answer_or_what_the_method_cannot_do(case, method):
    fun, x0, arguments = ANSWERED[case]
    try:
        result = szoht.minimize(fun, x0, **arguments, method=method, max_queries=60, rng=0)
    except errors.SzohtError as error:
        assert method != "auto"
        assert isinstance(error, errors.ParameterError | errors.CapabilityError)  # noqa: PT017
        return
    assert result.x.dtype == np.float64
    assert result.nfev <= 60
    check_bounds(result, arguments.get("bounds"))
    if math.isfinite(result.fun) and result.measured:
        assert result.fun == pytest.approx(fun(result.x), rel=1e-9, abs=1e-12)
    elif not math.isfinite(result.fun):
        assert result.status in (Status.FAILED, Status.DIVERGED)


def check_bounds(result, bounds):
    if result.variables is not None:
        assert (result.x >= result.variables.low).all()
        assert (result.x <= result.variables.high).all()
    else:
        assert bounds is None


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("method", ["auto", "szoht"])
def test_input_that_no_run_can_begin_with(case, method):
    x0, arguments, message = REFUSED[case]
    with pytest.raises(errors.ParameterError, match=message):
        szoht.minimize(distance, x0, **arguments, method=method, max_queries=60, rng=0)


@pytest.mark.parametrize("case", ANSWERED)
def test_the_same_for_many_outputs(case):
    _, x0, arguments = ANSWERED[case]
    if "constraint" in arguments or "reference" in arguments:
        return  # which `least_squares` does not have

    def outputs(x):
        return np.asarray(x, dtype=float) - GOAL

    fit = szoht.least_squares(outputs, x0, **arguments, max_queries=40, rng=0)
    assert fit.cost == pytest.approx(0.5 * float((outputs(fit.x) ** 2).sum()), rel=1e-9, abs=1e-12)
    assert (fit.x >= fit.variables.low).all()
    assert (fit.x <= fit.variables.high).all()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_start_without_a_value(value):
    result = szoht.minimize(lambda x: value, np.zeros(5), k=2, max_queries=20, rng=0)
    assert result.status is Status.FAILED
    assert f"returned {value}" in result.message
    assert np.isnan(result.fun)
