"""Problems of which half of the variables are integers."""

import numpy as np
import pytest

import szoht
from outcomes import always, most_seeds
from szoht.algorithms.auto.integers import AutoInteger
from szoht.algorithms.auto.restricted.grid_model import GridModel
from szoht.errors import CapabilityError
from szoht.testing import check_algorithm


class Mixed:
    """Half of d variables are integers, k are off their best values by a quarter of their range."""

    def __init__(self, d, k, seed):
        rng = np.random.default_rng(seed)
        self.integer = np.zeros(d, dtype=bool)
        self.integer[rng.permutation(d)[: d // 2]] = True
        self.width = np.where(
            self.integer, rng.choice([1, 4, 10, 50], d), 10 ** rng.uniform(-3, 3, d)
        )
        self.low = np.where(self.integer, 0.0, rng.uniform(-1, 1, d) * self.width)
        place = self.low + rng.uniform(0.2, 0.8, d) * self.width
        self.nominal = np.where(self.integer, np.rint(place), place)
        order = rng.permutation(d)
        whole, others = order[self.integer[order]], order[~self.integer[order]]
        self.support = np.sort(np.concatenate([whole[: (k + 1) // 2], others[: k // 2]]))
        self.best = self.nominal.copy()
        for i in self.support:
            ends = self.low[i], self.low[i] + self.width[i]
            far = max(ends, key=lambda end, i=i: abs(end - self.nominal[i]))
            step = rng.uniform(0.5, 1.0) * (far - self.nominal[i])
            step = np.sign(step) * max(1, np.rint(abs(step))) if self.integer[i] else step
            self.best[i] = self.nominal[i] + step
        rows = rng.standard_normal((max(40, d // 2), d))
        self.rows = rows / np.sqrt(len(rows))

    def variables(self):
        high = self.low + self.width
        return szoht.Variables(self.nominal, low=self.low, high=high, integer=self.integer)

    def apart(self, x):
        return (x - self.best) / self.width

    def quadratic(self, x):
        return float((self.apart(x) ** 2).sum())

    def regression(self, x):
        return float(((self.rows @ self.apart(x)) ** 2).sum())

    def saturated(self, x):
        return 1 - float(np.exp(-(self.apart(x) ** 2).sum()))

    def distance(self, x):
        return float(np.abs(self.apart(x)).sum())


@pytest.mark.parametrize("kind", ["quadratic", "regression", "saturated", "distance"])
@pytest.mark.parametrize(("d", "k"), [(50, 3), (100, 4)])
@most_seeds
def test_half_of_the_variables_are_integers(seed, kind, d, k):
    mixed = Mixed(d, k, seed)
    fun = getattr(mixed, kind)
    points = []

    def counted(x):
        points.append(x)
        return fun(x)

    result = szoht.minimize(counted, mixed.variables(), k=k, max_queries=1_000, rng=seed)
    stack = np.array(points)[:, mixed.integer]
    always(np.array_equal(stack, np.rint(stack)))
    assert result.fun <= 1e-3 * fun(mixed.nominal)
    assert result.support.tolist() == mixed.support.tolist()


def production_line(seed, machines=30, jobs=60):
    """Machines in series behind buffers: the time per job, and what speed costs."""
    rng = np.random.default_rng(seed)
    shape = rng.choice([0.3, 4.0], machines)
    work = rng.gamma(shape, rng.uniform(0.6, 1.4, machines) / shape, (jobs, machines))

    def cost(x):
        speeds, sizes = x[:machines], x[machines:].astype(int).tolist()
        times = (work / speeds).tolist()
        starts = [[0.0] * machines for _ in range(jobs)]
        leaves = [0.0] * (machines + 1)
        for j in range(jobs):
            before, leaves = leaves, [0.0] * (machines + 1)
            for i in range(machines + 1):
                end = starts[j][i - 1] + times[j][i - 1] if i else before[0]
                if i < machines:
                    if j >= sizes[i]:
                        end = max(end, starts[j - sizes[i]][i])
                    starts[j][i] = max(end, before[i + 1])
                leaves[i] = end
        return leaves[-1] / jobs + 0.1 * float((speeds**2).sum())

    return cost


@pytest.mark.parametrize(("line", "good"), [(1, 6.74), (3, 6.1)])
@most_seeds
def test_changes_that_do_not_add_up_are_exchanged(seed, line, good):
    n = 30
    knobs = szoht.Variables(
        np.ones(2 * n),
        low=np.repeat([0.5, 1.0], n),
        high=np.repeat([1.5, 12.0], n),
        integer=np.arange(2 * n) >= n,
    )
    result = szoht.minimize(production_line(line), knobs, k=4, max_queries=500, rng=seed)
    assert result.fun < good  # by models alone 6.752 and 6.131


@most_seeds
def test_a_list_of_values_and_switches(seed):
    def fun(x):
        return abs(np.log2(x[0]) - 4) + 3 * (1 - x[1]) + (x[2] - 5) ** 2

    knobs = szoht.Variables(
        {"threads": 1, "cache": 0, "depth": 5, "other": 0},
        low={"cache": 0, "depth": 0, "other": 0},
        high={"cache": 1, "depth": 9, "other": 1},
        integer=["cache", "depth", "other"],
        values={"threads": [1, 2, 4, 8, 16, 32]},
    )
    result = szoht.minimize(fun, knobs, k=2, max_queries=100, rng=seed)
    assert result.x.tolist() == [16, 1, 5, 0]
    assert result.status is szoht.Status.CONVERGED


@most_seeds
def test_integers_without_bounds(seed):
    def fun(x):
        return float(((x - [40, 3, -7, 5]) ** 2).sum())

    knobs = szoht.Variables([4.0, 3.0, 2.0, 5.0], integer=True)
    result = szoht.minimize(fun, knobs, k=2, max_queries=300, rng=seed)
    assert result.x.tolist() == [40, 3, -7, 5]


@most_seeds
def test_more_variables_than_queries(seed):
    """No scan of all axes can be paid for; the run ends with its limit and says so."""
    target = np.full(500, 2.0)
    target[::7] = 5.0
    knobs = szoht.Variables(np.full(500, 2.0), low=0, high=9, integer=True)
    result = szoht.minimize(
        lambda x: float(((x - target) ** 2).sum()), knobs, k=5, max_queries=200, rng=seed
    )
    always(result.status is szoht.Status.QUERIES)
    always(result.nfev <= 200)
    assert result.nfev >= 190
    assert result.fun <= 9 * (72 - 2)


@most_seeds
def test_failed_points_are_left_out(seed):
    def fun(x):
        if x[1] > 6:
            raise ValueError("it does not fit")
        return float(((x - [4, 9, 2]) ** 2).sum())

    knobs = szoht.Variables([4.0, 1.0, 2.0], low=0, high=9, integer=True)
    result = szoht.minimize(fun, knobs, k=1, max_queries=200, rng=seed, on_error="skip")
    assert result.x.tolist() == [4, 6, 2]


def test_nothing_to_gain_is_no_success():
    knobs = szoht.Variables([4.0, 1.0, 2.0], low=0, high=9, integer=True)
    result = szoht.minimize(lambda x: 1.0, knobs, k=1, max_queries=500, rng=0)
    assert result.status is szoht.Status.NO_PROGRESS
    assert not result.success


def test_what_was_not_tried_is_no_evidence():
    knobs = szoht.Variables(np.full(500, 2.0), low=0, high=9, integer=True)
    result = szoht.minimize(lambda x: 1.0, knobs, k=5, max_queries=200, rng=0)
    assert result.status is szoht.Status.QUERIES


def test_a_path_over_k_needs_slopes():
    knobs = szoht.Variables([4.0, 1.0, 2.0], low=0, high=9, integer=True)
    with pytest.raises(CapabilityError, match="`k` must be given"):
        szoht.minimize(lambda x: 0.0, knobs)


def test_it_is_an_algorithm_like_others():
    grid = np.where(np.arange(30) % 2, 0.25, 0.0)
    check_algorithm(AutoInteger(operator=szoht.SparseBox(2, low=-1.0, high=1.0), grid=grid))


def test_the_model_chooses_the_best_subset():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.standard_normal((8, 5))
        hessian = rows.T @ rows / 8 + 3 * np.eye(5)
        model = GridModel(
            here=np.zeros(5),
            slope=rng.standard_normal(5),
            hessian=hessian,
            low=np.full(5, -2.0),
            high=np.full(5, 2.0),
            grid=np.array([0.5, 0.0, 1.0, 0.0, 0.25]),
        )
        t = model.best_subset(2)
        assert np.count_nonzero(t) <= 2
        assert np.array_equal(t[[0, 2, 4]] / [0.5, 1, 0.25], np.rint(t[[0, 2, 4]] / [0.5, 1, 0.25]))
        every = [
            model.change(model.descend(np.zeros(5), [i, j])) for i in range(5) for j in range(i)
        ]
        assert model.change(t) == pytest.approx(min(every))


@most_seeds
def test_a_step_that_fails_is_tried_at_a_shorter_length_at_once(seed):
    best = np.zeros(40)
    best[[3, 8, 21]] = 2.0, -1.0, 1.0
    weights = np.where(np.arange(40) == 3, 100.0, 1.0)  # the largest effect is that of x[3]

    def fun(x):
        if abs(x[3]) > 2:
            raise RuntimeError("no convergence")
        return float((weights * (x - best) ** 2).sum())

    knobs = szoht.Variables(np.zeros(40), low=-20, high=20, integer=True)
    result = szoht.minimize(fun, knobs, k=3, rng=seed, max_queries=700, on_error="skip")
    assert np.array_equal(result.x, best)


def test_where_nothing_gains_no_axis_is_called_best():
    knobs = szoht.Variables(np.zeros(6), low=-3, high=3, integer=True)
    result = szoht.minimize(lambda x: float((x**2).sum()), knobs, k=2, rng=0, max_queries=200)
    assert not any("best are" in line for line in result.explain)
    assert any("none gains" in line for line in result.explain)


@most_seeds
def test_noise_is_told_and_the_answer_is_measured(seed):
    """A noisy value is no proof: the best of many looks better than it is."""
    draws = np.random.default_rng(seed)
    target = np.zeros(12)
    target[[2, 7]] = 4.0, -3.0

    def fun(x):
        return float(((x - target) ** 2).sum()) + 2 * draws.standard_normal()

    for budget in (150, 2000):
        result = szoht.minimize(
            fun, np.zeros(12), k=2, bounds=(-9, 9), integer=True, max_queries=budget, rng=seed
        )
        always(not result.success)
        assert 0.2 < result.fun_error < 2
        assert abs(result.fun - ((result.x - target) ** 2).sum()) < 4 * result.fun_error
