"""Algorithms written as generators: their states are values, however the run branches."""

from dataclasses import replace

import numpy as np

import szoht
from szoht import AskTell, Sparse, Status
from szoht.algorithms.generator import GeneratorAlgorithm, ReplayLog, SolverContext
from szoht.core.query import Answer, Plan

BOX = szoht.SparseBox(2, -1.0, 1.0)


def entries(log):
    return [float(answers[0].values[0]) for answers in log]


def answered(value):
    return (Answer(values=np.array([value])),)


def test_a_log_is_shared_until_it_branches():
    first = ReplayLog().append(answered(1.0))
    second = first.append(answered(2.0))
    branch = first.append(answered(3.0))
    third = second.append(answered(4.0))
    assert entries(first) == [1.0]
    assert entries(second) == [1.0, 2.0]
    assert entries(branch) == [1.0, 3.0]
    assert entries(third) == [1.0, 2.0, 4.0]
    assert len(branch) == len(second) == 2


def test_the_log_is_not_copied_on_the_way():
    log = ReplayLog()
    shared = log._entries
    for i in range(100):
        log = log.append(answered(float(i)))
    assert log._entries is shared
    assert entries(log) == [float(i) for i in range(100)]


def told(algorithm, state, value):
    return algorithm.tell(state, algorithm.ask(state), answered(value))


def test_an_older_state_can_be_told_something_else():
    algorithm = szoht.algorithms.sparse_rs(constraint=BOX)
    start = algorithm.init(np.zeros(6), seed=3)
    older = told(algorithm, told(algorithm, start, 5.0), 4.0)
    newer = told(algorithm, told(algorithm, older, 3.0), 2.0)
    other = told(algorithm, told(algorithm, older, 9.0), 8.0)
    again = told(algorithm, told(algorithm, older, 3.0), 2.0)
    assert newer.best.value == again.best.value == 2.0
    assert other.best.value == 4.0
    np.testing.assert_array_equal(newer.x, again.x)
    plans = [algorithm.ask(state).queries[0].base for state in (newer, again)]
    np.testing.assert_array_equal(*plans)


class Counter(GeneratorAlgorithm):
    """A generator that asks three times, so that its state can be looked at."""

    def sample(self, seed, n_samples):
        return None

    def steps(self, context: SolverContext):
        for i in range(3):
            x = np.array([float(i)])
            (answer,) = yield self.plan(context, x)
            context.move(x, float(answer.values[0]))
            context.explain(f"asked {i}")

    def plan(self, context, x):
        return Plan(queries=(context.query(x),))


def test_a_generator_can_be_taken_up_from_any_state():
    """States are told in a row, and again from a copy that no generator is attached to."""
    algorithm = Counter(operator=Sparse(1))
    state = algorithm.init(np.zeros(1), seed=0)
    for value in (3.0, 1.0, 2.0):
        copy = replace(state)
        plan, again = algorithm.ask(state), algorithm.ask(copy)
        assert np.array_equal(plan.points(), again.points())
        told = [Answer(values=np.array([value]))]
        state, twin = algorithm.tell(state, plan, told), algorithm.tell(copy, again, told)
        assert np.array_equal(state.x, twin.x)
        assert state.explanation == twin.explanation
        assert state.best.value == twin.best.value
    assert state.finished
    assert state.iteration == 3
    assert algorithm.solution(state).value == 1.0
    assert algorithm.final_plan(state) is None


def test_a_finished_generator_ends_the_run():
    asked = AskTell(np.zeros(1), method=Counter(operator=Sparse(1)), max_queries=50, rng=0)
    while not asked.done:
        asked.tell(asked.ask().points()[:, 0] - 1)
    assert asked.result.status is Status.CONVERGED
    assert asked.result.nfev == 3
    assert asked.result.explain == ("asked 0", "asked 1", "asked 2")
