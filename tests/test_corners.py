"""Corners that a wrong line would slip through: each test has seen the fault it is for."""

import numpy as np
import pytest
from scipy import optimize

import szoht
from szoht import AskTell, Composite, SoftThreshold, Sparse, Status, errors, minimize
from szoht.core import clock
from szoht.core.algorithm import Measured, State
from szoht.core.directions import SampledDirections
from szoht.core.distributions import OrthogonalDistribution
from szoht.core.query import Answer, Estimate
from szoht.core.random import Key, as_seed
from szoht.estimators import Coordinate, Gaussian, Sphere
from szoht.evaluation.chunks import CHUNK_VALUES
from szoht.result import Counts, Progress
from szoht.run.callbacks import Recorder
from szoht.run.rounding import RoundingGuard
from szoht.schedules import Constant, Geometric
from szoht.stopping import Iterations, Queries, Stalled, Target, join_limits
from szoht.updates import ForwardBackward, FrankWolfe, LineSearch
from szoht.updates.line_search import Length


def dense(dr):
    out = []
    for i, v in dr.slices(0, dr.count):
        b = np.zeros((len(v), dr.d))
        if i is None:
            b[:] = v
        else:
            np.put_along_axis(b, i, v, axis=1)
        out.append(b)
    return np.concatenate(out)


def test_entropy_is_128_bits():
    assert max(as_seed(np.random.SeedSequence(i)) for i in range(20)) >= 2**64


@pytest.mark.parametrize("size", [6, 20])
def test_directions_have_mean_zero(size):
    rows = np.array(
        [
            dense(
                SampledDirections(
                    distribution=OrthogonalDistribution(support_size=size),
                    key=Key(seed=0, iteration=t),
                    d=20,
                    count=3,
                )
            )[0]
            for t in range(3000)
        ]
    )
    assert (np.abs(rows.mean(0)) <= 5 * rows.std(0) / np.sqrt(3000)).all()


def test_every_direction_of_a_group_has_a_uniform_support():
    hits = np.mean(
        [
            dense(
                SampledDirections(
                    distribution=OrthogonalDistribution(support_size=6),
                    key=Key(seed=0, iteration=t),
                    d=20,
                    count=3,
                )
            )[0]
            != 0
            for t in range(3000)
        ],
        axis=0,
    )
    assert np.abs(hits - 0.3).max() <= 5 * np.sqrt(0.21 / 3000)


def test_central_value_is_the_mean_over_pairs():
    e = Sphere(q=3, mu=0.1, central=True)
    p = e.plan(np.zeros(4), None, None, Key(seed=0))
    est, _ = e.combine(p, [Answer(values=np.array([1.0, 2, 3, 5, 7, 9]))], None)
    assert est.value == pytest.approx(4.5)
    assert not est.measured


def test_slope_is_the_median():
    e = Sphere(q=5, mu=1.0, support_size=1)
    p = e.plan(np.zeros(9), None, None, Key(seed=0))
    est, _ = e.combine(p, [Answer(values=np.array([0.0, 1, -2, 3, -50, 100]))], None)
    assert est.slope == 3.0
    assert est.rounding == 0.0


def test_negligible_radius_is_relative_to_x():
    e = Sphere(q=5, mu=1e-6)
    x = np.full(4, 1e12)
    p = e.plan(x, None, None, Key(seed=0))
    est, _ = e.combine(p, [Answer(values=np.ones(6))], None)
    assert est.rounding > 0


@pytest.mark.parametrize(
    "e",
    [
        Sphere(q=2, mu=Geometric(start=1e-1, ratio=0.5)),
        Gaussian(q=2, mu=Geometric(start=1e-1, ratio=0.5)),
        Coordinate(mu=Geometric(start=1e-1, ratio=0.5)),
    ],
)
def test_radius_follows_the_iteration(e):
    assert e.plan(np.zeros(4), None, None, Key(seed=0, iteration=2)).queries[
        0
    ].radius == pytest.approx(0.025)


def test_gaussian_count_follows_the_iteration():
    assert (
        Gaussian(q=Geometric(start=2, ratio=2), mu=1e-3)
        .plan(np.zeros(4), None, None, Key(seed=0, iteration=2))
        .n_points
        == 9
    )


def test_failed_coordinate_leaves_the_others_alone():
    e = Coordinate(mu=1.0)
    p = e.plan(np.zeros(4), None, None, Key(seed=0))
    est, _ = e.combine(p, [Answer(values=np.array([0.0, 1, 2, np.nan, 4]))], None)
    assert np.array_equal(est.gradient, [1, 2, 0, 4])


def test_nonfinite_gradient_is_skipped():
    n = [0]

    def g(x):
        n[0] += 1
        return np.full(3, np.nan) if n[0] == 2 else x - 1

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.5},
        max_iterations=6,
        on_error="skip",
        rng=0,
    )
    assert r.status is Status.ITERATIONS
    assert r.fun < 0.1


def test_forward_backward_hands_the_step_to_the_prox():
    u = ForwardBackward(operator=SoftThreshold(1.0), step_size=0.25)
    x, _ = u.step(
        np.array([1.0, 0]), Estimate(gradient=np.zeros(2), value=0.0, measured=True), 0, None
    )
    assert np.array_equal(x, [0.75, 0])


def est(g, v=0.0, measured=True):
    return Estimate(gradient=np.array(g, float), value=v, measured=measured)


def test_a_failed_candidate_does_not_win():
    s = LineSearch(operator=Sparse(1))
    x = np.zeros(1)
    chosen, _ = s.choose(x, est([1.0], 5.0), np.array([4.0, np.nan, 3.0]), Length(1.0, 0))
    assert chosen.value == 3.0


def test_the_penalty_decides_and_value_is_f_alone():
    """f falls by 0.1, the penalty rises by 0.5: stay; the other way round: go."""
    s = LineSearch(operator=SoftThreshold(1.0))
    x = np.array([1.0])
    trials = s.trials(x, est([-2.0], 1.0), Length(0.5, 0))  # 1.25, 1.5, 2.0
    assert [float(t[0]) for t in trials] == [1.25, 1.5, 2.0]
    chosen, _ = s.choose(x, est([-2.0], 1.0), np.array([0.9, 0.9, 0.9]), Length(0.5, 0))
    assert chosen.x is x
    chosen, _ = s.choose(x, est([-2.0], 1.0), np.array([0.1, 0.9, 0.9]), Length(0.5, 0))
    assert chosen.value == 0.1
    assert chosen.x[0] == 1.25
    chosen, _ = s.choose(x, est([-2.0], 1.0), np.array([0.9, 0.0, 0.9]), Length(0.5, 0))
    assert chosen.x[0] == 1.5


def test_a_failed_search_tries_shorter_lengths_and_at_last_all_again():
    s = LineSearch(operator=Sparse(1), ratio=2.0)
    x = np.array([1.0])
    memory = Length(1.0, 0)
    for step in (0.5, 0.25, 0.125, 0.0625):
        _, memory = s.choose(x, est([1.0], 0.0), np.ones(3), memory)
        assert memory.step == step
    _, memory = s.choose(x, est([1.0], 0.0), np.ones(3), memory)
    assert np.isnan(memory.step)
    assert memory.failures == 0


def test_equal_values_do_not_move():
    s = LineSearch(operator=Sparse(1))
    x = np.array([1.0])
    chosen, _ = s.choose(x, est([1.0], 1.0), np.ones(3), Length(1.0, 0))
    assert chosen.x is x


def test_the_winning_length_is_remembered():
    s = LineSearch(operator=Sparse(1), ratio=2.0)
    x = np.array([1.0])
    assert s.choose(x, est([1.0], 9.0), np.array([3.0, 2, 1]), Length(1.0, 3))[1] == Length(2.0, 0)
    assert s.choose(x, est([1.0], 9.0), np.array([1.0, 2, 3]), Length(1.0, 3))[1] == Length(0.5, 0)


def test_the_first_ladder_is_centred_on_the_size_of_x():
    s = LineSearch(operator=Sparse(1), ratio=2.0, reach=1)
    x = np.array([8.0])
    assert [float(t[0]) for t in s.trials(x, est([2.0]), Length(float("nan"), 0))] == [
        4.0,
        0.0,
        -8.0,
    ]


def test_staying_keeps_an_inferred_value_inferred():
    s = LineSearch(operator=Sparse(1))
    x = np.array([1.0])
    assert not s.choose(x, est([1.0], 1.0, measured=False), np.full(3, 2.0), Length(1.0, 0))[
        0
    ].exact


def test_a_constant_function():
    with pytest.warns(errors.RoundingWarning):
        r = minimize(lambda x: 3.0, np.zeros(5), k=2, max_queries=100, rng=0, method="szoht")
    assert r.status is Status.QUERIES
    assert r.fun == 3.0


def test_a_measurement_replaces_an_inferred_value_even_if_it_is_worse():
    def g(x):
        return 5 - float((x**2).sum())

    x0 = np.full(5, 0.1)
    r = minimize(
        g,
        x0,
        k=5,
        options={"central": True, "mu": 1.0, "q": 5, "step_size": 1e-9},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert r.fun == g(r.x)


def test_a_failed_last_measurement_changes_nothing():
    n = [0]

    def fun(x):
        n[0] += 1
        return float(((x - 1) ** 2).sum()) if n[0] <= 30 else np.nan

    r = minimize(
        fun,
        np.zeros(30),
        k=2,
        options={"q": 5, "step_size": 0.02, "iterate": "last"},
        max_iterations=5,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    assert n[0] == 31
    assert np.isfinite(r.fun)
    assert r.counts.failures == 1


def test_retreats_to_the_best_point():
    run = AskTell(
        np.zeros(4),
        k=1,
        options={"q": 3, "step_size": 0.1},
        max_iterations=3,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    run.tell([1.0, 2, 3, 4])
    moved = run.state.x
    run.tell([np.nan, 2, 3, 4])
    assert not np.array_equal(moved, np.zeros(4))
    assert np.array_equal(run.state.x, np.zeros(4))


def test_a_search_sees_the_sample_of_its_estimate():
    seen = []

    def fun(x, sample):
        seen.append(tuple(sample))
        return float(((x - 1) ** 2).sum())

    minimize(
        fun,
        np.zeros(4),
        k=2,
        stochastic=True,
        options={"q": 3},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert len(seen) == 4 + 17
    assert len(set(seen)) == 1


def test_values_on_different_samples_are_not_ranked():
    assert szoht.szoht(k=1, q=1, sampler=szoht.Minibatch(size=1)).iterate == "last"
    assert szoht.szoht(k=1, q=1, sampler=szoht.Seeds()).iterate == "last"
    assert szoht.szoht(k=1, q=1).iterate == "best"


class TwoRounds:
    """Asks a first plan, then a second one."""

    requires = frozenset()

    def check(self, d):
        pass

    def init(self, x):
        return 0

    def plan(self, x, sample, memory, key):
        return Sphere(q=3, mu=1e-3).plan(x, sample, None, key)

    def combine(self, plan, answers, memory):
        if memory == 0:
            return None, 1
        return Sphere(q=3, mu=1e-3).combine(plan, answers, None)[0], 0


def test_rounds_are_addresses():

    run = AskTell(
        np.zeros(4),
        method=Composite(
            estimator=TwoRounds(), update=ForwardBackward(operator=Sparse(2), step_size=0.1)
        ),
        max_iterations=2,
        rng=0,
    )
    keys = []
    while not run.done:
        plan = run.ask()
        if plan.queries[0].directions is not None:
            keys.append(
                (plan.queries[0].directions.key.iteration, plan.queries[0].directions.key.round)
            )
        run.tell(((plan.points() - 1) ** 2).sum(1))
    assert keys == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_infinity_at_the_base_of_a_stack_is_a_failure():
    r = minimize(
        lambda p: np.full(len(p), np.inf),
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    assert r.status is Status.FAILED


@pytest.mark.parametrize("at", [3, 15, 28])
def test_the_failing_query_is_numbered_in_a_search_too(at):
    n = [0]
    points = []

    def fun(x):
        n[0] += 1
        points.append(x.copy())
        return np.nan if n[0] == at else float(((x - 1) ** 2).sum())

    r = minimize(fun, np.zeros(20), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht")
    assert r.failure.query == r.nfev == at
    assert np.array_equal(r.failure.point, points[-1])


def test_a_gradient_may_scribble():
    def g(x):
        s = x - 1.0
        x[:] = np.nan
        return s

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.5},
        max_iterations=3,
        rng=0,
    )
    assert r.status is Status.ITERATIONS


def test_dense_points_are_rationed():

    d = 1000
    sizes = []

    def fun(p):
        sizes.append(len(p))
        return (p**2).sum(1)

    minimize(
        fun,
        np.zeros(d),
        k=1,
        vectorized=True,
        options={"q": 1200, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert max(sizes) == CHUNK_VALUES // d


def test_complex_stacks_fail_at_the_first_query():
    r = minimize(
        lambda p: p.sum(axis=1) + 0j,
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        rng=0,
        method="szoht",
    )
    assert r.status is Status.FAILED
    assert r.failure.query == 1


def test_the_base_of_a_sparse_aware_query_sees_the_sample():
    seen = []

    def value(x, i):
        seen.append(tuple(i))
        return 0.0

    def along(x, indices, offsets, i):
        seen.append(tuple(i))
        return offsets.sum(1)

    minimize(
        value,
        np.zeros(5),
        k=1,
        n_samples=9,
        along=along,
        options={"q": 3, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("bad", [lambda: np.full(3, np.nan)])
def test_a_nan_gradient_ends_a_run_that_stops_on_errors(bad):
    n = [0]

    def g(x):
        n[0] += 1
        return bad() if n[0] == 3 else x - 1

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.1},
        max_iterations=9,
        rng=0,
    )
    assert r.status is Status.FAILED
    assert r.nit == 2


def test_a_sample_multiplies_what_a_failed_plan_cost():
    n = [0]

    def fun(x, i):
        n[0] += 1
        return np.nan if n[0] == 5 else 0.0

    r = minimize(
        fun,
        np.zeros(4),
        k=1,
        n_samples=10,
        options={"q": 9, "step_size": 0.1, "sampler": szoht.Minibatch(size=3)},
        max_iterations=3,
        rng=0,
        method="szoht",
    )
    assert r.nfev == 15
    r = minimize(
        lambda x, i: 0.0,
        np.zeros(4),
        k=1,
        method="stoiht",
        gradient=lambda x, i: x,
        n_samples=10,
        options={"step_size": 0.1, "sampler": szoht.Minibatch(size=3)},
        max_iterations=4,
        rng=0,
    )
    assert r.njev == 12


def quad(x):
    return float(((x - 1) ** 2).sum())


def test_a_callback_that_stops_is_named_even_at_the_target():
    r = minimize(
        quad,
        np.zeros(12),
        k=2,
        options={"q": 8, "step_size": 0.05},
        target=11.9,
        callback=lambda p: p.best_value <= 11.9,
        max_queries=5000,
        rng=0,
        method="szoht",
    )
    assert r.status is Status.CALLBACK


def test_time_stops_with_the_run_and_in_callbacks(monkeypatch):

    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def cb(p):
        now[0] += 100.0

    def fun(x):
        now[0] += 1.0
        return quad(x)

    run = AskTell(
        np.zeros(5),
        k=2,
        options={"q": 3, "step_size": 0.01},
        max_iterations=2,
        callback=cb,
        rng=0,
        method="szoht",
    )
    while not run.done:
        run.tell([fun(p) for p in run.ask().points()])
    assert run.result.seconds == 9.0
    now[0] += 50
    assert run.result.seconds == 9.0


def test_a_callback_that_stops_costs_no_further_query():
    r = minimize(
        quad,
        np.zeros(5),
        k=2,
        options={"q": 3, "step_size": 0.01},
        callback=lambda p: True,
        max_queries=100,
        rng=0,
        method="szoht",
    )
    assert r.nfev == 4


def test_the_run_starts_from_the_projection():
    with pytest.warns(errors.StartWarning):
        run = AskTell(np.array([1.0, 3, 2]), k=1, options={"q": 2}, rng=0, method="szoht")
    assert np.array_equal(run.ask().queries[0].base, [0, 3, 0])


def test_callbacks_come_once_per_iteration():
    seen = []
    minimize(
        quad,
        np.zeros(5),
        k=2,
        options={"q": 3},
        callback=lambda p: seen.append(p.iteration),
        max_iterations=4,
        rng=0,
        method="szoht",
    )
    assert seen == [1, 2, 3, 4]


def progress(iteration=0, best=1.0, value=None, queries=0):
    x = np.zeros(1)
    return Progress(
        iteration=iteration,
        counts=Counts(queries=queries),
        x=x,
        value=best if value is None else value,
        best=Measured(x, best),
        seconds=0.0,
    )


def test_target_is_reached_by_the_best_value_and_by_equality():
    check = Target(1.0).begin()
    assert check(progress(best=1.0), 0) is Status.TARGET
    assert check(progress(best=1.0, value=5.0), 0) is Status.TARGET
    assert check(progress(best=1.5, value=0.5), 0) is None


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_stalled_counts_from_the_last_real_improvement(scale):
    check = Stalled(3, rtol=1e-2).begin()
    values = [1.0, 0.5, 0.499, 0.498, 0.497, 0.497]
    assert [check(progress(t, scale * v), 0) for t, v in enumerate(values)] == [None] * 4 + [
        Status.STALLED
    ] * 2


def test_a_joined_budget_is_hard():
    for extra in ({"max_iterations": 10}, {"target": -1.0}, {"stop": Stalled(1000)}):
        r = minimize(
            quad,
            np.zeros(12),
            k=2,
            options={"q": 4, "step_size": 0.05},
            max_queries=50,
            rng=0,
            **extra,
            method="szoht",
        )
        assert r.nfev <= 50
        with pytest.raises(errors.BudgetError):
            minimize(
                quad,
                np.zeros(12),
                k=2,
                options={"q": 4},
                max_queries=4,
                rng=0,
                **extra,
                method="szoht",
            )


def test_a_target_alone_still_has_a_budget():
    rule = join_limits(
        max_queries=None, max_iterations=None, max_seconds=None, target=0.0, stop=None, default=7
    )
    assert Queries(7) in rule.rules


def test_every_joined_rule_sees_every_iteration():
    class Deaf(Iterations):
        def begin(self):
            return lambda p, c: None if p.iteration != 1 else Status.ITERATIONS

    check = (Deaf(1) | Stalled(2)).begin()
    check(progress(0, 1.0), 0)
    check(progress(1, 0.5), 0)
    assert check(progress(2, 0.5), 0) is None  # Stalled saw the improvement of iteration 1


def test_a_row_tells_of_the_newest_iterate():
    recorder = Recorder(np.array([1.0, 0.0]), monitor=lambda x: x.sum())
    recorder(
        Progress(
            iteration=1,
            counts=Counts(),
            x=np.array([0.0, 7.0]),
            value=3.0,
            best=Measured(np.zeros(2), 2.0),
            seconds=0.0,
        )
    )
    h = recorder.history
    assert h["monitor"][0] == 7.0
    assert h["value"][0] == 3.0
    assert h["best"][0] == 2.0
    assert h["entered"] == [(1,)]
    assert h["left"] == [(0,)]


def test_rounding_of_two_percent_warns():

    state = State(seed=0, n_samples=None, x=np.zeros(1), rounding=0.02, slope=1.0)
    with pytest.warns(errors.RoundingWarning):
        RoundingGuard().look(state)


def test_growth_beyond_floats():
    assert Geometric(start=1.0, ratio=10.0, high=99.0)(10**6) == 99.0


def test_a_batch_with_replacement_may_exceed_the_sum():
    assert szoht.Minibatch(size=9, replace=True).draw(Key(seed=0), 4).size == 9


def test_default_q_is_at_most_d():
    assert AskTell(np.zeros(4), k=4, rng=0, method="szoht").ask().n_points == 5


def test_defaults_and_switches():
    assert (
        AskTell(np.zeros(100_001), k=1, rng=0, method="szoht").algorithm.estimator.support_size
        == 100_000
    )
    assert szoht.truncated_zsgd(k=1, q=1).iterate == "average"
    assert szoht.stoiht(k=1).sampler == szoht.Minibatch(size=1)
    e = szoht.szoht(k=1, q=1, orthogonal=True, central=True).estimator
    assert e.orthogonal
    assert e.central


def test_none_is_no_bound():

    r = optimize.minimize(
        lambda x: float(((x + 2) ** 2).sum()),
        np.zeros(3),
        method=szoht.scipy_method(k=3),
        bounds=[(None, None)] * 3,
        options={"max_queries": 500, "rng": 0},
    )
    assert np.allclose(r.x, -2, atol=1e-2)


def test_frank_wolfe_never_leaves_the_set():

    x, _ = FrankWolfe(operator=szoht.L1Ball(1.0), step_size=Constant(5.0)).step(
        np.zeros(2), est([1.0, 0.0]), 0, None
    )
    assert np.array_equal(x, [-1.0, 0.0])


def test_scipy_conventions():

    def f(x, c):
        return float(((x - c) ** 2).sum())

    opts = {"max_queries": 300, "rng": 0}
    r = optimize.minimize(
        f,
        np.zeros(3),
        args=(9.0,),
        jac=lambda x, c: 2 * (x - c),
        method=szoht.scipy_method(k=3, method="iht"),
        bounds=[(None, None)] * 3,
        options=opts,
    )
    assert np.allclose(r.x, 9.0, atol=1e-3)

    def callback(intermediate_result):
        assert intermediate_result.fun == f(intermediate_result.x, 9.0)

    optimize.minimize(
        f,
        np.zeros(3),
        args=(9.0,),
        method=szoht.scipy_method(k=3, method="szoht"),
        callback=callback,
        options={"max_queries": 300, "rng": 0, "options": {"q": 3, "step_size": 0.1}},
    )


def test_ask_tell_numbers_failures_in_a_search():
    run = AskTell(np.zeros(20), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht")
    run.tell(((run.ask().points() - 1) ** 2).sum(1))
    values = ((run.ask().points() - 1) ** 2).sum(1)
    values[4] = np.nan
    run.tell(values)
    assert run.result.failure.query == 11 + 5


def test_best_x_belongs_to_best_value():
    y = np.ones(1)
    assert (
        Progress(
            iteration=0,
            counts=Counts(),
            x=np.zeros(1),
            value=0.0,
            best=Measured(y, 1.0),
            seconds=0.0,
        ).best_x
        is y
    )
