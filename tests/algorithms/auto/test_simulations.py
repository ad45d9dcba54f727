"""Simulations with few episodes: common seeds, plateaus, failures, races, and what is answered."""

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import SparseBox, minimize
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.simulations.paired_race import PairedRace
from szoht.algorithms.auto.simulations.removal import remove_by_trial
from szoht.algorithms.auto.simulations.sparse_changes import SparseChanges
from szoht.algorithms.auto.simulations.strategy import Strategy
from szoht.algorithms.auto.simulations.trials import Trials
from szoht.algorithms.auto.structures.coordinates import Coordinates

D, K, EPISODES = 30, 12, 250


def regulator(x, sample):
    """Return the cost of steering a noisy linear system of six states by five inputs."""
    rng = np.random.default_rng(sample)
    gain, state, cost = np.reshape(x, (5, 6)), rng.standard_normal(6), 0.0
    for _ in range(15):
        force = np.append(np.clip(gain @ state, -5, 5), 0.0)
        cost += float(state @ state) + 0.1 * float(force @ force)
        state = 1.02 * state + 0.1 * np.roll(state, 1) + force + 0.2 * rng.standard_normal(6)
    return cost


def mean(fun, x):
    return np.mean([fun(x, np.array([seed])) for seed in range(10**6, 10**6 + 60)])


def solve(fun, **settings):
    settings = {"k": K, "max_queries": EPISODES, "rng": 0} | settings
    return minimize(fun, np.zeros(D), stochastic=True, **settings)


def test_a_regulator_learns_from_few_episodes():
    costs = [mean(regulator, solve(regulator, rng=seed).x) for seed in range(5)]
    assert np.median(costs) < 0.55 * mean(regulator, np.zeros(D))


@most_seeds
def test_what_is_answered(seed):
    result = solve(regulator, rng=seed)
    always(result.nfev == EPISODES)
    always(result.support.size <= K)
    always(not result.success)
    assert abs(result.fun - mean(regulator, result.x)) < 5 * result.fun_error
    assert any("common seeds" in line for line in result.explain)


@most_seeds
def test_points_that_are_compared_share_a_seed(seed):
    seeds = []

    def noisy(x, sample):
        seeds.append(int(sample[0]))
        return regulator(x, sample)

    solve(noisy, rng=seed)
    changes = np.count_nonzero(np.diff(seeds))
    assert changes < EPISODES / 4


@most_seeds
def test_a_start_on_a_plateau_where_all_seeds_agree(seed):
    def fun(x, sample):
        rng = np.random.default_rng(sample)
        return -float(np.sum(rng.standard_normal((10, D)) @ x > 1.0))

    result = solve(fun, rng=seed)
    assert mean(fun, np.zeros(D)) == 0
    assert mean(fun, result.x) < -2


@most_seeds
def test_points_that_fail_are_the_worst(seed):
    def fun(x, sample):
        return np.nan if x.sum() > 2 else regulator(x, sample)

    result = solve(fun, on_error="skip", rng=seed)
    always(np.isfinite(result.fun))
    assert mean(regulator, result.x) < 0.8 * mean(regulator, np.zeros(D))


@most_seeds
def test_no_episode_outside_of_bounds(seed):
    low, high = np.full(D, -0.5), np.full(D, 0.25)

    def fun(x, sample):
        always((low <= x).all())
        always((x <= high).all())
        return regulator(x, sample)

    result = minimize(
        fun,
        np.zeros(D),
        constraint=SparseBox(K, low, high),
        stochastic=True,
        max_queries=EPISODES,
        rng=seed,
    )
    assert mean(regulator, result.x) < 0.9 * mean(regulator, np.zeros(D))


@most_seeds
def test_nothing_is_better_than_the_start(seed):
    def fun(x, sample):
        return float(np.abs(x).sum()) + np.random.default_rng(sample).standard_normal()

    result = solve(fun, rng=seed)
    assert not result.x.any()


@most_seeds
def test_many_values_per_non_zero_are_for_quadratic_models(seed):
    def fun(x, sample):
        return float(((x - 1) ** 2).sum()) + 0.1 * np.random.default_rng(sample).standard_normal()

    assert not any("common seeds" in line for line in solve(fun, k=2, rng=seed).explain)


class Context:
    """Values that a seed moves far more than the points differ."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def values_on_one_seed(self, points):
        yield from ()
        seed = 100 * self.rng.standard_normal()
        return np.array([seed + point.sum() + 0.1 * self.rng.standard_normal() for point in points])


def finish(steps):
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def test_a_race_on_common_seeds_sees_small_differences():
    points = [np.array([1.0, place]) for place in (0.3, 0.0, 0.6)]
    race = PairedRace(Context(), points)
    assert finish(race.run(60)) is points[1]
    assert len(race.taken[2]) < 6
    location = finish(race.measure(points[1], 100))
    assert isinstance(location, Location)
    assert 5 < location.error < 20
    assert len(race.taken[1]) < 60  # what is measured is apart


# --- where only the direction of x counts ---------------------------------------------------------

USEFUL = (3, 17)


def balanced(x, sample):
    """Return minus how long a push by the sign of x @ sensors keeps an unstable system in place.

    Position and speed are shown in small units, among sensors that show nothing but noise.
    """
    rng = np.random.default_rng(sample)
    position, speed = rng.uniform(-0.05, 0.05, 2)
    for time in range(80):
        sensors = rng.standard_normal(D)
        sensors[list(USEFUL)] = 0.1 * position, 0.1 * speed
        speed += 0.1 * (2 * position + (1.0 if x @ sensors > 0 else -1.0)) + 0.02 * sensors[0]
        position += 0.1 * speed
        if abs(position) > 0.3:
            return -float(time)
    return -80.0


def test_sensors_that_show_noise_do_not_drown_the_others():
    results = [solve(balanced, rng=seed) for seed in range(5)]
    told = ["the length of x means nothing" in " ".join(r.explain) for r in results]
    assert np.median(told) == 1
    assert np.median([mean(balanced, r.x) for r in results]) < -70
    assert all(r.support.size <= K for r in results)


@most_seeds
def test_changes_stay_within_bounds_on_one_side(seed):
    def fun(x, sample):
        always(x.max() <= 0)
        always(x.min() >= -2)
        return balanced(x, sample)

    box = SparseBox(K, np.full(D, -2.0), np.zeros(D))
    result = minimize(
        fun, np.zeros(D), constraint=box, stochastic=True, max_queries=EPISODES, rng=seed
    )
    assert mean(balanced, result.x) < 1.5 * mean(balanced, np.zeros(D))


def test_a_value_that_is_missing_never_leads():
    def fun(x, sample):
        return np.nan if x[USEFUL[0]] < 0 else balanced(x, sample)

    result = solve(fun, on_error="skip")
    assert np.isfinite(result.fun)
    assert result.x[USEFUL[0]] >= 0


class Seeds:
    """A context whose values depend on the number of the seed."""

    def __init__(self, fun, k, d):
        self.fun, self.spent, self.asked, self.outer = fun, 0, [], self
        self.structure = Coordinates(d=d, size=k)

    def next_sample(self):
        return np.array([len(self.asked)])

    def values(self, points, sample):
        yield from ()
        self.spent += len(points)
        self.asked += [(point, int(sample[0])) for point in points]
        return np.array([self.fun(point, int(sample[0])) for point in points])

    def values_on_one_seed(self, points):
        return self.values(points, self.next_sample())


def test_small_entries_that_matter_are_kept():
    z = np.where(np.arange(20) < 4, 0.7, 1.0)
    context = Seeds(lambda point, _: -np.count_nonzero(point[:4]), k=4, d=20)
    kept = [finish(remove_by_trial(context, z, 40, np.random.default_rng(s))) for s in range(20)]
    assert all(np.count_nonzero(point) == 4 for point in kept)
    assert all(np.array_equal(point[point != 0], z[point != 0]) for point in kept)
    # the largest are none of these, and random ones less than one
    assert np.mean([np.count_nonzero(point[:4]) for point in kept]) > 1.8


def test_nothing_is_removed_from_few():
    z = np.array([0.0, 1.0, 2.0])
    context = Seeds(lambda point, _: 0.0, k=2, d=3)
    assert finish(remove_by_trial(context, z, 40, np.random.default_rng(0))) is z
    assert context.spent == 0


def test_changes_are_tried_where_the_leader_does_badly():
    context = Seeds(lambda point, seed: float(seed % 3) - 0.1 * point[0], k=2, d=6)
    leader = Trials(np.eye(6)[5], [np.array([i]) for i in range(6)], [0.0, 1.0, 2.0] * 2)
    changes = SparseChanges(
        context, leader, np.ones(6), np.full(6, 1 / 6), np.random.default_rng(0)
    )
    finish(changes.run(300))
    generations = [seed for _, seed in context.asked[:8]]
    assert set(generations) <= {2, 5}
    assert changes.leader.z[0] > 0
    assert all(np.count_nonzero(point) <= 2 for point, _ in context.asked)


def test_what_is_better_on_one_seed_only_does_not_lead():
    context = Seeds(
        lambda point, seed: float(point[0] != 0) if seed else 1.0 - 2.0 * (point[0] != 0), 2, 6
    )
    leader = Trials(np.eye(6)[5], [np.array([i]) for i in range(6)], [1.0, 0, 0, 0, 0, 0])
    changes = SparseChanges(
        context, leader, np.ones(6), np.full(6, 1 / 6), np.random.default_rng(0)
    )
    for _ in range(12):
        finish(changes.run(17))
        assert changes.leader.z[0] == 0


@pytest.mark.parametrize(("values", "grows"), [((-1.0, -1.0), False), ((-1.0, 0.0), True)])
def test_steps_grow_on_a_plateau_unless_it_is_the_best(values, grows):
    best, plateau = values
    context = Seeds(lambda point, seed: best if seed == 0 and point[0] > 0 else plateau, 2, 6)
    if not grows:
        context.fun = lambda point, seed: best if seed or point[0] > 0 else 0.0
    strategy = Strategy(
        context, np.zeros(6), np.arange(6), np.ones(6), np.random.default_rng(0), 1.0
    )
    finish(strategy.run(8))
    step = strategy.step
    finish(strategy.run(24))
    assert (strategy.step > step) == grows
