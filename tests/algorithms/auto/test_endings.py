"""How the default solver ends on traps: no false success, no exception, no warning."""

import math
import warnings

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import SparseBox, minimize
from szoht.errors import ParameterError, ParameterTypeError
from szoht.result import Status

METHOD = "auto"
D, K = 60, 3

_rng = np.random.default_rng(3)
T = np.zeros(D)
T[[5, 20, 41]] = [1.0, -1.5, 0.7]
A = _rng.standard_normal((40, D))
HASH = _rng.standard_normal(D)


def quadratic(x):
    return float(((x - T) ** 2).sum())


def raises_elsewhere(x):
    if x.any():
        raise ValueError
    return 1.0


def half_fails(x):
    return math.nan if np.floor(1e6 * abs(float(HASH @ x))) % 2 else quadratic(x)


def from_log(x):
    if (x <= -0.5).any():
        raise ValueError
    return float((np.log(x + 0.5)[[5, 41]] ** 2).sum() + (x[20] - 1) ** 2)


NOTHING_TO_GAIN = {
    "constant": lambda x: 3.0,
    "zero": lambda x: 0.0,
    "start is the minimum": lambda x: float((x**2).sum()),
    "kinked minimum at the start": lambda x: float(np.abs(x).sum()),
    "minimum of the worst": lambda x: float(np.abs(x).max()),
    "tall constant": lambda x: 1e12,
    "step upwards": lambda x: float(np.any(x != 0)),
    "fails everywhere else": raises_elsewhere,
    "infinite elsewhere": lambda x: math.inf if x.any() else 2.0,
    "nan elsewhere": lambda x: math.nan if x.any() else 2.0,
    "rounding only": lambda x: 1.0 + 1e-17 * math.tanh(x.sum()),
    "steep cone": lambda x: 1e8 * float(np.sqrt((x**2).sum())),
}

UNBOUNDED = {
    "linear": lambda x: -float(x.sum()),
    "linear in one": lambda x: -float(x[7]),
    "cubic": lambda x: float((x**3).sum()),
    "concave": lambda x: -float((x**2).sum()),
}

SOLVABLE = {
    "quadratic": (quadratic, 1e-6),
    "tiny values": (lambda x: 1e-12 * quadratic(x), 1e-18),
    "huge values": (lambda x: 1e12 * quadratic(x), 1e6),
    "added constant": (lambda x: quadratic(x) - 1e6, -1e6 + 1e-3),
    "small units": (lambda x: quadratic(x / 1e-6), 1e-6),
    "large units": (lambda x: quadratic(x / 1e5), 1e-6),
    "absolute values": (lambda x: float(((np.abs(x) - np.abs(T)) ** 2).sum()), 1e-6),
    "saddle": (lambda x: float((x[5] * x[20] - 1) ** 2), 1e-6),
    "plateau": (lambda x: float(np.floor(4 * quadratic(x))), 0.5),
    "quartic from its saddle": (lambda x: float(((x[[5, 20, 41]] ** 2 - 1) ** 2).sum()), 1e-6),
    "rounded to three digits": (lambda x: round(quadratic(x), 3), 2e-3),
    "integers inside": (lambda x: float(((np.rint(x) - np.rint(2 * T)) ** 2).sum()), 0.5),
    "saturated": (lambda x: 1 - math.exp(-quadratic(x)), 1e-6),
    "l1 loss": (lambda x: float(np.abs(x - T).sum()), 1e-2),
    "partial domain": (from_log, 1e-4),
}


def run(fun, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = {"max_queries": 3000, "rng": 0, "on_error": "skip", "k": K} | settings
        return minimize(fun, np.zeros(D), method=METHOD, **settings)


@pytest.mark.parametrize("name", NOTHING_TO_GAIN)
def test_a_start_that_is_not_improved_is_no_success(name):
    result = run(NOTHING_TO_GAIN[name], max_queries=600)
    assert result.status in (
        Status.NO_PROGRESS,
        Status.QUERIES,
        Status.MOSTLY_FAILED,
        Status.CONSTANT,
    )
    assert not result.success
    assert result.fun == NOTHING_TO_GAIN[name](np.zeros(D))


@pytest.mark.parametrize("name", UNBOUNDED)
@most_seeds
def test_values_that_fall_without_end_are_no_minimum(seed, name):
    result = run(UNBOUNDED[name], rng=seed, max_queries=1_000)
    always(not result.success)
    assert result.fun < -1e3


@pytest.mark.parametrize("name", SOLVABLE)
@most_seeds
def test_odd_functions_are_solved(seed, name):
    fun, value = SOLVABLE[name]
    result = run(fun, rng=seed, max_queries=1_500)
    assert result.fun <= value
    assert result.status in (Status.CONVERGED, Status.EXHAUSTED, Status.QUERIES)


def test_a_function_that_mostly_fails_says_so():
    result = run(raises_elsewhere, max_queries=500)
    assert result.status is not Status.CONVERGED


@most_seeds
def test_a_function_that_fails_at_random_is_still_lowered(seed):
    result = run(half_fails, rng=seed)
    assert result.fun < quadratic(np.zeros(D))


@most_seeds
def test_a_minimum_in_a_corner_of_the_box_is_found(seed):
    box = SparseBox(K, -1.0, 2.0)
    result = run(lambda x: -float(x.sum()), constraint=box, k=None, rng=seed)
    assert result.fun == -2.0 * K
    assert result.status in (Status.CONVERGED, Status.EXHAUSTED, Status.QUERIES)


@most_seeds
def test_an_end_by_itself_comes_with_evidence(seed):
    result = run(quadratic, rng=seed)
    assert result.status is Status.CONVERGED
    assert result.evidence.restarts_agreeing == result.evidence.restarts > 0
    assert "rounding" in result.evidence.noise


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 10, 13, 20, 37, 100, 333])
def test_every_query_of_a_budget_is_used_or_the_run_has_ended(budget):
    result = run(lambda x: float(((A @ (x - T)) ** 2).sum()), max_queries=budget)
    assert result.nfev == budget or not result.status.limit


@most_seeds
def test_effort_multiplies_patience(seed):
    def squares(x):
        return float(((A @ (x - T)) ** 2).sum())

    ends = [
        run(squares, options={"effort": effort}, max_queries=20_000, rng=seed).nfev
        for effort in (0.1, 1.0, 3.0)
    ]
    assert ends[0] <= ends[1] < 0.7 * ends[2] < 20_000
    spent = run(quadratic, options={"effort": math.inf}, rng=seed)
    assert spent.status is Status.QUERIES
    assert spent.nfev == 3000


@pytest.mark.parametrize("effort", [0, -1.0, math.nan, "much"])
def test_effort_is_checked(effort):
    with pytest.raises((ParameterError, ParameterTypeError), match="`effort` must be"):
        run(quadratic, options={"effort": effort})


@most_seeds
def test_a_smooth_run_ends_soon_after_its_answer(seed):
    found = []

    def fun(x):
        fun.calls += 1
        value = quadratic(x)
        if value < 1e-8 and not found and np.count_nonzero(x) <= K:
            found.append(fun.calls)
        return value

    fun.calls = 0
    result = run(fun, rng=seed, max_queries=20_000)
    assert result.status is Status.CONVERGED
    assert result.nfev <= max(600, 9 * found[0])


@most_seeds
def test_a_plateau_is_no_evidence_of_a_minimum(seed):
    """Half of the way down f is flat, whatever its variables do, but for a narrow well."""

    def plateau(x):
        return 1.0 + max(0.0, 1.0 - float(((x[[5, 20]] + 0.3) ** 2).sum()))

    result = run(plateau, rng=seed)
    always(not result.success)
    assert result.fun == 1.0
