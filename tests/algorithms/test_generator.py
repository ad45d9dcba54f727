"""Algorithms written as generators: their states are values, however the run branches."""

import numpy as np

import szoht
from szoht.algorithms.generator import ReplayLog
from szoht.core.query import Answer

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
