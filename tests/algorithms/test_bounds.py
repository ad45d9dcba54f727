"""No method evaluates a point outside the bounds that its constraint declares."""

import inspect
import warnings
from functools import partial

import numpy as np
import pytest

import szoht
from szoht.algorithms.composite import Composite
from szoht.algorithms.registry import METHODS
from szoht.errors import SzohtWarning
from szoht.estimators import Coordinate, Gaussian
from szoht.updates import AcceleratedConditionalGradient, FrankWolfe, Momentum

WITH_BOX = [
    name for name, make in METHODS.items() if "constraint" in inspect.signature(make).parameters
]
VERTICES = ("corner_search", "sparse_rs")
VARIANCE_REDUCED = ("saga_szht", "sarah_szht", "vr_szht")
FINITE_SUM = (*VARIANCE_REDUCED, "stoiht")
QUERIES = 60


def random_bounds(rng, d, *, around_zero):
    """Return bounds 1e-9 to 1e9 apart, some equal, some half infinite, zero often at an end."""
    width = 10.0 ** rng.uniform(-9, 9, d)
    width[rng.random(d) < 0.1] = 0.0
    share = rng.choice([0.0, 1.0, rng.random()], d)
    low, high = -width * share, width * (1 - share)
    if not around_zero:
        shift = rng.choice([-1.0, 0.0, 1.0], d) * 10.0 ** rng.uniform(-9, 9, d)
        low, high = low + shift, high + shift
    return low, high


def with_infinite(rng, low, high):
    half = rng.random(low.size) < 0.1
    return np.where(half & (low < 0), -np.inf, low), np.where(half & (low >= 0), np.inf, high)


def random_start(rng, low, high):
    """Return a point at a corner, on faces, or inside."""
    low, high = np.maximum(low, -1e9), np.minimum(high, 1e9)
    inside = low + rng.random(low.size) * (high - low)
    at = rng.choice(3, low.size) if rng.random() < 0.5 else np.full(low.size, rng.choice(3))
    return np.clip(np.where(at == 0, low, np.where(at == 1, high, inside)), low, high)


def random_constraint(rng, name, d):
    kind = "sparse_box" if name == "auto" else rng.choice(["sparse_box", "group_sparse", "box"])
    if kind == "box" and name not in VERTICES and name != "sketch_ht":
        low, high = random_bounds(rng, d, around_zero=False)
        return szoht.Box(low, high)
    low, high = random_bounds(rng, d, around_zero=True)
    if name not in VERTICES:
        low, high = with_infinite(rng, low, high)
    k = int(rng.integers(1, 4))
    if kind == "group_sparse":
        return szoht.GroupSparse(k=k, size=2, low=low, high=high)
    return szoht.SparseBox(k, low, high)


def random_options(rng, name):
    """Return options with which every estimator is used in its variants."""
    options = {}
    if name in VARIANCE_REDUCED:
        options |= {"step_size": 10.0 ** rng.uniform(-6, 6), "q": 2}
    elif name not in (*VERTICES, "auto", "zo_adamm", "momentum_szoht") and rng.random() < 0.3:
        options["step_size"] = 10.0 ** rng.uniform(-6, 6)
    accepted = inspect.signature(METHODS[name]).parameters
    if "central" in accepted and rng.random() < 0.3:
        options["central"] = True
    if "mu" in accepted and rng.random() < 0.5:
        options["mu"] = 10.0 ** rng.uniform(-9, 0)
    if "support_size" in accepted and rng.random() < 0.3:
        options["support_size"] = int(rng.integers(1, 4))
    if "snapshot" in accepted and rng.random() < 0.3:
        options["snapshot"] = Coordinate(mu=10.0 ** rng.uniform(-9, 0))
    return options


def points_outside(name, seed):
    """Run a method on a random quadratic in a random box; return how many points were outside."""
    rng = np.random.default_rng([seed, WITH_BOX.index(name)])
    d = 2 * int(rng.integers(4, 10))
    constraint = random_constraint(rng, name, d)
    low, high = (np.broadcast_to(bound, d) for bound in (constraint.low, constraint.high))
    unit = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
    wanted, start = rng.normal(size=d), random_start(rng, low, high)
    if hasattr(constraint, "k"):
        start = constraint.prox(start, 1.0)
    n_evaluated = n_outside = 0

    def check(x):
        nonlocal n_evaluated, n_outside
        n_evaluated += 1
        n_outside += bool(((x < low) | (x > high)).any())
        return x / unit - wanted

    def value(x, *sample):
        difference = check(x)
        return float(difference @ difference) * (1 + np.sum(sample))

    def gradient(x, *sample):
        return 2 * check(x) / unit * (1 + np.sum(sample))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SzohtWarning)
        szoht.minimize(
            value,
            start,
            constraint=constraint,
            method=name,
            options=random_options(rng, name),
            max_queries=6 * QUERIES if name in FINITE_SUM else QUERIES,
            rng=seed,
            n_samples=3 if name in FINITE_SUM else None,
            gradient=gradient if name in ("iht", "stoiht") else None,
        )
    assert n_evaluated > 1
    return n_outside


@pytest.mark.parametrize("name", WITH_BOX)
def test_no_point_outside(name):
    assert sum(points_outside(name, seed) for seed in range(5)) == 0


@pytest.mark.filterwarnings("ignore::szoht.errors.RoundingWarning")
@pytest.mark.parametrize(
    "make",
    [
        FrankWolfe,
        partial(AcceleratedConditionalGradient, smoothness=1, distance=1, horizon=9, max_inner=20),
        partial(Momentum, step_size=0.1),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [Gaussian(q=5, mu=1e-3), Coordinate(mu=1e-3, count=4), Coordinate(mu=1e-3, central=True)],
    ids=repr,
)
def test_compositions_of_ones_own_stay_inside(make, estimator):
    rng = np.random.default_rng(0)
    for _ in range(5):
        low, high = random_bounds(rng, 8, around_zero=False)
        method = Composite(estimator=estimator, update=make(operator=szoht.Box(low, high)))
        run = szoht.AskTell(random_start(rng, low, high), method=method, max_iterations=9, rng=0)
        while not run.done:
            points = run.ask().points()
            assert ((points >= low) & (points <= high)).all()
            run.tell((((points - low) / (high - low + 1e-9)) ** 2).sum(axis=1))


@pytest.mark.statistical
@pytest.mark.parametrize("name", WITH_BOX)
def test_no_point_outside_in_many_boxes(name):
    assert sum(points_outside(name, seed) for seed in range(1000)) == 0
