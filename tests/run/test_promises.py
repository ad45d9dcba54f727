"""What the default method promises on any function whose values repeat, however it ends.

The answer is the best allowed point that was evaluated, and ``fun`` is its value: after a limit, a
target, Ctrl-C, failures, and after an error of the solver itself.
"""

import math
import warnings

import numpy as np
import pytest

import szoht
from szoht import Status
from szoht.algorithms.auto.context import SearchContext
from szoht.errors import InternalErrorWarning

D, K = 20, 3


def center(seed):
    rng = np.random.default_rng(seed)
    best = np.zeros(D)
    best[rng.choice(D, K, replace=False)] = rng.uniform(-2, 2, K)
    return best


def waves(x, best):
    return float(((x - best) ** 2).sum() + 0.3 * np.sin(25 * x).sum())


def fees(x, best):
    return float(((x - best) ** 2).sum() + 0.2 * np.count_nonzero(x))


def steps(x, best):
    return float(np.floor(20 * np.abs(x - best)).sum())


def hashed(x, best):
    return float(
        ((x - best) ** 2).sum() * (1 + 1e-3 * math.sin(1e8 * float(x @ np.arange(1, D + 1))))
    )


def minimax(x, best):
    return float(np.abs(x - best).max() + 0.1 * np.abs(x - best).sum())


def hole(x, best):
    return math.nan if x[0] > 0.3 else waves(x, best)


ROUGH = (waves, fees, steps, hashed, minimax, hole)


class Watched:
    """A function that keeps every point and its value."""

    def __init__(self, fun, seed, sign=1.0):
        self.fun, self.best, self.sign, self.seen = fun, center(seed), sign, []

    def __call__(self, x):
        value = self.sign * self.fun(x, self.best)
        self.seen.append((x.copy(), value))
        return value

    def lowest(self, allowed):
        return min(
            self.sign * value for x, value in self.seen if allowed(x) and not math.isnan(value)
        )


def check(result, fun, allowed):
    """Assert that the answer is the best allowed point that was evaluated."""
    assert fun.sign * result.fun == fun.lowest(allowed)
    assert allowed(result.x)
    assert fun.sign * fun.fun(result.x, fun.best) == result.fun
    assert result.fun_error == 0
    assert np.array_equal(result.ledger.fun, [v for _, v in fun.seen], equal_nan=True)


def at_most(k):
    return lambda x: np.count_nonzero(x) <= k


@pytest.fixture(autouse=True)
def skipped_points_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", szoht.errors.SkippedPointWarning)
        yield


@pytest.mark.parametrize("kind", ROUGH, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("queries", [30, 150, 400])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_limit_of_queries(kind, queries, bounded):
    for seed in range(2):
        fun = Watched(kind, seed)
        more = {"constraint": szoht.SparseBox(K, -3, 3)} if bounded else {"k": K}
        result = szoht.minimize(fun, np.zeros(D), max_queries=queries, rng=seed, **more)
        check(result, fun, at_most(K))


@pytest.mark.parametrize("kind", ROUGH, ids=lambda kind: kind.__name__)
def test_a_maximum_of_named_variables_with_integers(kind):
    best = np.abs(np.rint(center(0)))
    knobs = szoht.Variables(
        np.zeros(D), low=np.zeros(D), high=np.full(D, 4.0), integer=np.arange(D) < D // 2
    )
    fun = Watched(kind, 0, sign=-1.0)
    fun.best = best
    result = szoht.maximize(fun, knobs, k=K, max_queries=200, rng=0)
    check(result, fun, at_most(K))


@pytest.mark.parametrize("kind", ROUGH, ids=lambda kind: kind.__name__)
def test_without_k_the_answer_is_the_best_of_its_size(kind):
    fun = Watched(kind, 1)
    result = szoht.minimize(fun, np.zeros(D), max_queries=150, rng=0)
    check(
        result,
        fun,
        at_most(max(2, np.count_nonzero(result.x)) if result.knee is None else result.knee),
    )
    for point in result.path:
        assert fun.lowest(at_most(point.k)) <= point.fun


@pytest.mark.parametrize(
    "constraint",
    [
        szoht.GroupSparse(k=2, size=4),
        szoht.TreeSparse(4, (np.arange(D) - 1) // 2),
        szoht.LowRank(1, (4, 5)),
        szoht.Semicontinuous(3, at_least=0.5, low=-2.0, high=2.0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_structured_sets(constraint):
    for kind in (waves, steps):
        fun = Watched(kind, 0)
        result = szoht.minimize(fun, np.zeros(D), constraint=constraint, max_queries=150, rng=0)
        check(result, fun, constraint.contains)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_failures_that_end_the_run(share):
    fun = Watched(waves, 0)

    def fragile(x):
        if len(fun.seen) > 200 * share:
            raise RuntimeError("the license has expired")
        return fun(x)

    result = szoht.minimize(fragile, np.zeros(D), k=K, max_queries=200, rng=0, on_error="stop")
    assert result.status is Status.FAILED
    assert result.fun == fun.lowest(at_most(K))


def test_a_callback_and_a_target():
    fun = Watched(waves, 0)
    result = szoht.minimize(fun, np.zeros(D), k=K, callback=lambda p: p.queries > 90, rng=0)
    assert result.status is Status.CALLBACK
    check(result, fun, at_most(K))
    again = Watched(waves, 0)
    reached = szoht.minimize(again, np.zeros(D), k=K, target=result.fun, rng=0)
    assert reached.status is Status.TARGET
    check(reached, again, at_most(K))
    assert len(again.seen) <= len(fun.seen)


def test_a_limit_of_time_holds_within_one_evaluation():
    for knobs in (np.zeros(D), szoht.Variables(np.zeros(D), low=-3, high=3, integer=[True] * D)):
        fun, clock = Watched(steps, 0), []

        def ticking(x, fun=fun, clock=clock):
            clock.append(1)
            return fun(x)

        run = szoht.AskTell(knobs, k=K, max_seconds=1.0, rng=0)
        run.clock.freeze(0.0)
        oracle = szoht.evaluation.oracle.Oracle(
            objective=szoht.run.mapped.map_objective(
                szoht.core.objective.as_objective(ticking), run.config.variables, x_as="array"
            ),
            is_late=lambda run=run, clock=clock: run.clock.freeze(len(clock) / 40) or run.is_late,
        )
        result = szoht.run.loop.drive(run, oracle)
        assert result.status is Status.SECONDS
        assert len(clock) <= 42
        assert result.fun == fun.lowest(at_most(K))


class BugError(Exception):
    """Of the solver."""


@pytest.fixture
def broken(monkeypatch):
    """Let the default solver fail inside once it has spent so many queries."""

    def after(queries):
        ask = SearchContext._ask_once

        def failing(self, plan):
            if self.spent > queries:
                raise BugError("nobody has thought of this")
            return ask(self, plan)

        monkeypatch.setattr(SearchContext, "_ask_once", failing)
        return monkeypatch.undo

    return after


@pytest.mark.parametrize("queries", [2, 10, 60])
def test_an_error_of_the_solver_is_not_the_users_loss(broken, queries):
    fun = Watched(waves, 0)
    broken(queries)
    with pytest.warns(InternalErrorWarning, match=r"BugError: nobody.*szoht\.show_versions\(\)"):
        result = szoht.minimize(fun, np.zeros(D), k=K, max_queries=300, rng=0)
    assert result.status is Status.INTERNAL_ERROR
    assert not result.success
    assert "Traceback" in result.error
    assert "BugError: nobody has thought of this" in result.error
    check(result, fun, at_most(K))


def test_resume_does_not_run_into_it_again(broken, tmp_path):
    fun, store = Watched(waves, 0), tmp_path / "runs.db"
    undo = broken(10)
    with pytest.warns(InternalErrorWarning):
        first = szoht.minimize(fun, np.zeros(D), k=K, max_queries=150, rng=0, store=store)
    with szoht.Store(store) as file:
        assert file.runs()[0].status == "INTERNAL_ERROR"
    undo()
    result = szoht.resume(store, fun, run=first.run)
    assert result.status is not Status.INTERNAL_ERROR
    check(result, fun, at_most(K))
    assert result.nfev == len(fun.seen) > first.nfev


def test_an_error_that_comes_again_ends_the_run_again(broken, tmp_path):
    fun, store = Watched(waves, 0), tmp_path / "runs.db"
    broken(10)
    options = {"k": K, "max_queries": 150, "rng": 0}
    with pytest.warns(InternalErrorWarning):
        first = szoht.minimize(fun, np.zeros(D), store=store, **options)
    with pytest.warns(InternalErrorWarning):
        again = szoht.resume(store, fun, run=first.run)
    assert again.status is Status.INTERNAL_ERROR
    assert again.fun == fun.lowest(at_most(K))


def test_who_drives_a_run_is_warned_too(broken):
    broken(3)
    run = szoht.AskTell(np.zeros(D), k=K, max_queries=100, rng=0)

    def drive():
        while not run.done:
            run.tell([waves(x, center(0)) for x in run.ask().points()])

    with pytest.warns(InternalErrorWarning):
        drive()
    assert run.result.status is Status.INTERNAL_ERROR


def test_an_error_of_a_method_of_ones_own(monkeypatch):
    method = szoht.szoht(k=K, q=5)
    prox = szoht.Sparse.prox
    calls = []

    def failing(self, *arguments):
        calls.append(1)
        if len(calls) > 6:
            raise BugError("later")
        return prox(self, *arguments)

    monkeypatch.setattr(szoht.Sparse, "prox", failing)
    with pytest.warns(InternalErrorWarning, match="BugError: later"):
        result = szoht.minimize(
            lambda x: waves(x, center(0)), np.zeros(D), method=method, max_queries=500, rng=0
        )
    assert result.status is Status.INTERNAL_ERROR
    assert math.isfinite(result.fun)
