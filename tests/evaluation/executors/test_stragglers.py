"""Going on before everybody has answered: unbiased, counted, and only if asked for."""

import math
import threading

import numpy as np
import pytest

import workloads
from szoht import Status, minimize
from szoht.core.query import Plan, Query
from szoht.core.random import Key
from szoht.estimators import Sphere
from szoht.evaluation.chunks import Chunk, ChunkValues, merge
from szoht.evaluation.executors.completion import CompletionRule
from szoht.executors import Processes, Threads
from szoht.run.failures import first_failure


class Stragglers:
    """`quadratic`, but the calls with the given numbers wait until they are released."""

    def __init__(self, slow):
        self.slow = slow
        self.count = 0
        self.lock = threading.Lock()
        self.release = threading.Event()
        self.waited_for = False

    def __call__(self, x):
        with self.lock:
            self.count += 1
            number = self.count
        if number in self.slow:
            self.waited_for = not self.release.wait(20)
        return workloads.quadratic(x)


def run(fun, executor, **parameters):
    return minimize(
        fun,
        np.zeros(workloads.D),
        k=3,
        method="szoht",
        options={"q": 10, "mu": 1e-6, "step_size": 0.05},
        max_iterations=3,
        executor=executor,
        rng=0,
        **parameters,
    )


def test_the_slowest_are_left_out_and_counted():
    fun = Stragglers({7})
    result = run(fun, Threads(3), min_fraction=0.9)
    assert not fun.waited_for
    fun.release.set()
    assert result.status is Status.ITERATIONS
    assert 1 <= result.faults.left_out <= 3  # one of ten may be late in each iteration
    assert "left out" in str(result)
    assert result.counts.failures == 0
    assert result.counts.points == 34  # 3 x 11 issued, and the last measurement


def test_without_stragglers_nothing_changes_in_value():
    result = run(workloads.quadratic, Threads(1), min_fraction=1.0)
    assert result.x.tobytes() == run(workloads.quadratic, None).x.tobytes()
    assert not result.faults


def test_a_worker_that_was_left_behind_is_freed_after_its_time(tmp_path):
    fun = workloads.Mishap(tmp_path, "hang")
    result = run(fun, Processes(2), min_fraction=0.8, timeout=5.0)
    assert result.status is Status.ITERATIONS
    assert result.faults.left_out >= 1


def test_what_is_enough():
    forward = Query(
        base=np.zeros(3),
        directions=Sphere(q=10, mu=1.0)
        .plan(np.zeros(3), None, None, Key(seed=0))
        .queries[0]
        .directions,
    )
    central = Query(
        base=forward.base, directions=forward.directions, with_base=False, mirrored=True
    )
    single = Query(base=forward.base)
    plan = Plan(queries=(forward, central, single))
    chunks = [
        Chunk(i, j, j + 1) for i, query in enumerate(plan.queries) for j in range(query.n_points)
    ]
    rule = CompletionRule(plan, chunks, 0.75)
    answered = [p for p in chunks if p.query == 0 and 1 <= p.start <= 8]  # eight of ten, no base
    answered += [Chunk(1, j, j + 1) for j in [*range(9), *range(10, 17)]]  # seven whole pairs
    for chunk in answered:
        rule.count(chunk)
    assert not rule.satisfied
    rule.count(Chunk(2, 0, 1))
    assert not rule.satisfied
    rule.count(Chunk(0, 0, 1))
    assert not rule.satisfied
    rule.count(Chunk(1, 17, 18))  # the eighth pair
    assert rule.satisfied
    assert rule.n_missing == len(chunks) - len(answered) - 3
    assert not CompletionRule(plan, chunks, None).satisfied


@pytest.mark.parametrize("central", [False, True])
def test_the_estimate_stays_unbiased(central):
    """Monte-Carlo: E[ghat] is the gradient, with 30 % of the directions left out at random."""
    d, repeats = 6, 4000
    slope = np.arange(1.0, d + 1)
    rng = np.random.default_rng(0)
    estimator = Sphere(q=10, mu=1e-3, support_size=3, central=central)
    estimates = np.empty((repeats, d))
    for i in range(repeats):
        plan = estimator.plan(np.zeros(d), None, None, Key(seed=1, iteration=i))
        (query,) = plan.queries
        values = query.points() @ slope
        first = int(query.with_base)
        slow = rng.choice(10, 3, replace=False) + first
        answers = merge(
            plan,
            [
                ChunkValues(chunk=Chunk(0, j, j + 1), values=values[j : j + 1])
                for j in range(query.n_points)
                if j not in slow
            ],
        )
        assert first_failure(plan, answers, 0) is None
        estimates[i] = estimator.combine(plan, answers, None)[0].gradient
    error = estimates.std(axis=0) / math.sqrt(repeats)
    assert (np.abs(estimates.mean(axis=0) - slope) < 4.5 * error).all()
    assert (error < 0.2).all()
