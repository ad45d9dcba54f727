"""Calls with sound arguments have an answer, whatever happens inside the solver."""

import math

import numpy as np
import pytest

import szoht
from szoht import Status

pytestmark = pytest.mark.filterwarnings("ignore::szoht.errors.SzohtWarning")

START = np.random.default_rng(0).standard_normal(33)


def bowl(x):
    return float(((x - 1.0) ** 2).sum())


def mean_bowl(x, sample):
    return bowl(x)


def ripples(x):
    return float(np.sin(3 * x).sum())


def saturating(scale):
    return lambda x: scale * math.tanh(float(((x - 1.5) ** 2).sum()))


def seeded(x, sample):
    noise = np.random.default_rng(int(sample[0])).standard_normal()
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2) + 0.01 * noise


def known(points):
    return points, [bowl(x) for x in points]


NEAR = np.array([[0, 0, 1.3], [-0.07, 0, 0], [0, 0.1, 0], [0, 0, 0.8], [0.1, 0, 0]])
BOTH = szoht.TwoStep(sparse=szoht.Sparse(3), convex=szoht.L1Ball(2.0))
SUM = {"n_samples": 5}

CALLS = {
    "a basis, three queries": (bowl, START[:20], {"constraint": szoht.SparseIn("dct", 6)}, [3]),
    "a basis, seven queries": (bowl, START, {"constraint": szoht.SparseIn("dct", 2)}, [7]),
    "a simplex of one variable": (
        mean_bowl,
        np.zeros(1),
        SUM | {"constraint": szoht.SparseSimplex(1, at_least=0.5, at_most=1.0)},
        [17],
    ),
    "limits that leave one point": (
        mean_bowl,
        np.zeros(3),
        SUM | {"constraint": szoht.SparseSimplex(3, at_most=1 / 3)},
        [60],
    ),
    "known points and a sum": (
        bowl,
        np.zeros(12),
        {"constraint": szoht.SparseSum(9), "known": known(np.eye(12)[:5])},
        [100],
    ),
    "known points and two steps": (
        bowl,
        np.zeros(3),
        {"constraint": BOTH, "known": known(NEAR), "maximize": True},
        [17],
    ),
    **{
        f"{k} and always one of {d}": (
            ripples,
            np.zeros(d),
            {"k": k, "always": [d - 1]},
            [5, 17, 60],
        )
        for d, k in ((1, 1), (2, 1), (2, 2), (3, 2), (5, 1), (5, 4))
    },
    **{
        f"values of {scale:g}, d = {d}": (saturating(scale), np.zeros(d), {"k": 1}, [150])
        for scale in (1e-320, 1e-300, 1e300)
        for d in (1, 2, 4)
    },
    "values of 1e300 in a box": (
        saturating(1e300),
        np.zeros(3),
        {"constraint": szoht.SparseBox(2, -3.0, 3.0)},
        [150],
    ),
    "values of 1e300 without k": (saturating(1e300), np.zeros(3), {}, [150]),
    "a tree, seeds and wide plans": (
        seeded,
        np.zeros(2),
        {
            "constraint": szoht.TreeSparse(2, np.array([-1, 0])),
            "stochastic": True,
            "plan_width": 7,
            "maximize": True,
        },
        [300],
    ),
    **{
        f"generous bounds of {high:g}": (
            ripples,
            np.zeros(2),
            {"constraint": szoht.SparseBox(1, -high, high), "maximize": True},
            [25, 60],
        )
        for high in (4.0, 100.0, 1e9)
    },
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", range(3))
def test_there_is_an_answer(name, seed):
    """An error of the solver is a status for now, and none once the solver is built anew."""
    fun, x0, settings, budgets = CALLS[name]
    values = []

    def watched(x, *sample):
        values.append(fun(x, *sample))
        return values[-1]

    for budget in budgets:
        values.clear()
        result = szoht.minimize(watched, x0, max_queries=budget, rng=seed, **settings)
        assert math.isfinite(result.fun)
        assert np.isfinite(result.x).all()
        assert result.nfev <= budget
        if result.status is Status.INTERNAL_ERROR:
            assert result.error
        if not {"n_samples", "stochastic"} & settings.keys() and "known" not in settings:
            assert result.fun in values


@pytest.mark.parametrize("budget", [30, 40, 50, 55, 58, 60, 62, 70, 80])
def test_without_k_a_spent_budget_says_so_and_a_higher_one_goes_on(tmp_path, budget):
    best = np.zeros(30)
    best[[4, 20]] = [1.0, 2.0]

    def fun(x):
        return float(((x - best) ** 2).sum())

    first = szoht.minimize(fun, np.zeros(30), max_queries=budget, rng=0, store=tmp_path / "runs.db")
    assert first.status is Status.QUERIES
    more = szoht.resume(tmp_path / "runs.db", fun, run=first.run, max_queries=400)
    assert more.nfev > first.nfev
    assert more.fun < 1e-9


class Constant:
    """A function that has one value wherever it is asked, and fails at some points."""

    def __init__(self, fails=lambda _: False):
        self.fails, self.points = fails, []

    def __call__(self, x):
        self.points.append(x.copy())
        if self.fails(x):
            raise ValueError("out of the domain")
        return 7.0


@pytest.mark.parametrize(
    "settings",
    [{"k": 3}, {}, {"constraint": szoht.SparseBox(3, -2.0, 5.0)}, {"k": 2, "always": [0]}],
    ids=["k", "no k", "box", "always"],
)
def test_a_constant_function_ends_early_and_says_so(settings):
    for d in (3, 25, 60):
        fun = Constant()
        if "k" in settings and settings["k"] > d:
            continue
        result = szoht.minimize(fun, np.zeros(d), rng=0, **settings)
        assert result.status is Status.CONSTANT
        assert "same value at every point" in result.message
        assert not result.success
        assert len(fun.points) <= max(200, 5 * d) + 17 + 5 * d + 60
        moved = np.array([np.abs(x).max() for x in fun.points])
        widest = 3.5 if "constraint" in settings else 1e7
        assert moved[moved > 0].min() <= 1e-7
        assert moved.max() >= widest
        if "constraint" in settings:
            assert all(((x >= -2) & (x <= 5)).all() for x in fun.points)


def test_what_changes_far_away_is_not_called_constant():
    def far(x):
        return 7.0 if np.abs(x).max() < 1e4 else 6.0

    result = szoht.minimize(far, np.zeros(20), k=2, max_queries=2_000, rng=0)
    assert result.status is not Status.CONSTANT


def test_integers_that_change_nothing():
    knobs = szoht.Variables(np.zeros(20), low=0, high=5, integer=True)
    result = szoht.minimize(Constant(), knobs, k=2, max_queries=5_000, rng=0)
    assert result.status in (Status.CONSTANT, Status.NO_PROGRESS, Status.EXHAUSTED)
    assert result.nfev < 2_000


def test_a_function_that_fails_nearly_everywhere_ends_early_and_says_so():
    fun = Constant(fails=lambda x: x.any())
    result = szoht.minimize(fun, np.zeros(30), k=3, rng=0)
    assert result.status is Status.MOSTLY_FAILED
    assert "could not be evaluated" in result.message
    assert result.nfev <= 300
    assert result.fun == 7.0
