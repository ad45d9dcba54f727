"""Line search: which candidate wins, what is remembered, and what a failure does."""

import numpy as np
import pytest

from algorithms.runs import log_cosh
from outcomes import most_seeds
from szoht import AskTell, SoftThreshold, Sparse, Status, errors, minimize
from szoht.algorithms.composite import Composite
from szoht.core.query import Estimate, Stage
from szoht.estimators import Coordinate, Sphere
from szoht.updates import LineSearch
from szoht.updates.line_search import StepMemory

D, K = 17, 4
problem = log_cosh(D)


def estimate_of(gradient, value=0.0, *, measured=True):
    return Estimate(gradient=np.array(gradient, float), value=value, measured=measured)


def test_a_failed_candidate_does_not_win():
    search = LineSearch(operator=Sparse(1))
    x = np.zeros(1)
    chosen, _ = search.choose(
        x, estimate_of([1.0], 5.0), np.array([4.0, np.nan, 3.0]), StepMemory(1.0, 0)
    )
    assert chosen.value == 3.0


def test_the_penalty_decides_and_value_is_f_alone():
    """f falls by 0.1, the penalty rises by 0.5: stay; the other way round: go."""
    search = LineSearch(operator=SoftThreshold(1.0))
    x = np.array([1.0])
    trials = search.trials(x, estimate_of([-2.0], 1.0), StepMemory(0.5, 0))  # 1.25, 1.5, 2.0
    assert [float(trial[0]) for trial in trials] == [1.25, 1.5, 2.0]
    chosen, _ = search.choose(
        x, estimate_of([-2.0], 1.0), np.array([0.9, 0.9, 0.9]), StepMemory(0.5, 0)
    )
    assert chosen.x is x
    chosen, _ = search.choose(
        x, estimate_of([-2.0], 1.0), np.array([0.1, 0.9, 0.9]), StepMemory(0.5, 0)
    )
    assert chosen.value == 0.1
    assert chosen.x[0] == 1.25
    chosen, _ = search.choose(
        x, estimate_of([-2.0], 1.0), np.array([0.9, 0.0, 0.9]), StepMemory(0.5, 0)
    )
    assert chosen.x[0] == 1.5


def test_a_failed_search_tries_shorter_lengths_and_at_last_all_again():
    search = LineSearch(operator=Sparse(1), ratio=2.0)
    x = np.array([1.0])
    memory = StepMemory(1.0, 0)
    for step in (0.5, 0.25, 0.125, 0.0625):
        _, memory = search.choose(x, estimate_of([1.0], 0.0), np.ones(3), memory)
        assert memory.step == step
    _, memory = search.choose(x, estimate_of([1.0], 0.0), np.ones(3), memory)
    assert np.isnan(memory.step)
    assert memory.failures == 0


def test_equal_values_do_not_move():
    search = LineSearch(operator=Sparse(1))
    x = np.array([1.0])
    chosen, _ = search.choose(x, estimate_of([1.0], 1.0), np.ones(3), StepMemory(1.0, 0))
    assert chosen.x is x


def test_the_winning_length_is_remembered():
    search = LineSearch(operator=Sparse(1), ratio=2.0)
    x, estimate = np.array([1.0]), estimate_of([1.0], 9.0)
    _, memory = search.choose(x, estimate, np.array([3.0, 2, 1]), StepMemory(1.0, 3))
    assert memory == StepMemory(2.0, 0)
    _, memory = search.choose(x, estimate, np.array([1.0, 2, 3]), StepMemory(1.0, 3))
    assert memory == StepMemory(0.5, 0)


def test_the_first_ladder_is_centred_on_the_size_of_x():
    search = LineSearch(operator=Sparse(1), ratio=2.0, reach=1)
    trials = search.trials(np.array([8.0]), estimate_of([2.0]), StepMemory(float("nan"), 0))
    assert [float(trial[0]) for trial in trials] == [4.0, 0.0, -8.0]


def test_staying_keeps_an_inferred_value_inferred():
    search = LineSearch(operator=Sparse(1))
    estimate = estimate_of([1.0], 1.0, measured=False)
    chosen, _ = search.choose(np.array([1.0]), estimate, np.full(3, 2.0), StepMemory(1.0, 0))
    assert not chosen.exact


def test_line_search_takes_the_best_rung():
    search = LineSearch(operator=Sparse(K), ratio=3.0, reach=4)
    algorithm = Composite(estimator=Sphere(q=9, mu=1e-4), update=search)
    asked = AskTell(np.zeros(D), method=algorithm, max_iterations=8, rng=0)
    lengths = None
    while not asked.done:
        plan = asked.ask()
        values = [problem(point) for point in plan.points()]
        before = asked.state
        asked.tell(values)
        if plan.stage is Stage.SEARCH:
            assert len(values) == (9 if lengths is None else 3)
            best = min(values)
            if best < before.estimate.value:
                assert asked.state.measured.value == best == problem(asked.state.x)
                lengths = asked.state.update_memory
            else:
                assert np.array_equal(asked.state.x, before.x)
                assert asked.state.update_memory < before.update_memory
    assert lengths is not None


def test_line_search_counts_a_penalty():
    """With a huge penalty, moving away from zero never pays, although f itself falls."""
    search = LineSearch(operator=SoftThreshold(1.0))
    algorithm = Composite(estimator=Coordinate(mu=1e-6), update=search)

    def f(x):
        return float(((x - 0.3) ** 2).sum())

    asked = AskTell(np.zeros(3), method=algorithm, max_iterations=3, rng=0)
    while not asked.done:
        asked.tell([f(point) for point in asked.ask().points()])
    assert np.array_equal(asked.state.x, np.zeros(3))


@pytest.mark.parametrize(("support_size", "scale"), [(1, 1e6), (1, 1.0), (10, 1.0), (100, 1.0)])
@most_seeds
def test_line_search_survives_estimates_that_miss_every_relevant_coordinate(
    seed, support_size, scale
):
    def fun(x):
        return scale * ((x[3] - 1) ** 2 + (x[700] + 1) ** 2)

    result = minimize(
        fun,
        np.zeros(1000),
        k=2,
        options={"q": 50, "support_size": support_size},
        target=0.1 * fun(np.zeros(1000)),
        max_queries=20_000,
        rng=seed,
        method="szoht",
    )
    assert result.status is Status.TARGET


@pytest.mark.parametrize(
    "make",
    [
        lambda: LineSearch(operator=Sparse(1), ratio=1.0),
        lambda: LineSearch(operator=Sparse(1), reach=0),
    ],
)
def test_bad_parameters_name_the_rule(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()
