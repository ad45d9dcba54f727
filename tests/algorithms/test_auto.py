"""The solver that needs no tuning: its parts, its decisions, and what it reaches."""

from dataclasses import replace

import numpy as np
import pytest

from szoht import AskTell, L1Ball, Sparse, SparseBox, Status, algorithms, minimize
from szoht.algorithms.automatic import Auto
from szoht.algorithms.automatic.candidates import find_candidates
from szoht.algorithms.automatic.exchange import kick, splice, swap
from szoht.algorithms.automatic.gauge import finer
from szoht.algorithms.automatic.measure import Gauge, Measurements, Point, axis_slopes, signs
from szoht.algorithms.automatic.recover import gather, recover
from szoht.algorithms.automatic.restricted import Problem, conditional, exchanged, minimise_on
from szoht.algorithms.automatic.restricted import free_slopes as resting
from szoht.algorithms.automatic.search import Candidates, Search
from szoht.algorithms.automatic.solver import _cut_down, _leap
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.directions import SampledDirections
from szoht.core.distributions import RademacherDistribution
from szoht.core.query import Answer, Plan
from szoht.core.random import Key


def sparse_quadratic(d, k=5):
    """Problem (a) of the literature: y = 1/k .. 1 on the last k coordinates."""
    y = np.zeros(d)
    y[-k:] = np.arange(1, k + 1) / k
    return (lambda points: 0.5 * ((points - y) ** 2).sum(axis=-1)), y


def regression(seed, n=200, d=1000, k=10):
    """Problem (b): Gaussian design, non-zeros of magnitude 0.5 to 1.5, noise 0.01."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, d))
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    b = a @ w + 0.01 * rng.standard_normal(n)
    return (lambda points: 0.5 * ((points @ a.T - b) ** 2).mean(axis=-1)), w


def queries_to_target(f, w, k, seed):
    """Return the queries until f <= 1e-3 f(0) with the exact support."""
    goal = 1e-3 * f(np.zeros(w.size))

    def reached(progress):
        exact = np.array_equal(np.flatnonzero(progress.best_x), np.flatnonzero(w))
        return bool(progress.best_value <= goal) and exact

    result = minimize(
        f,
        np.zeros(w.size),
        k=k,
        method="auto",
        max_queries=20_000,
        rng=seed,
        vectorized=True,
        callback=reached,
    )
    return result.nfev if result.status is Status.CALLBACK else np.inf


@pytest.mark.parametrize(("d", "limit"), [(1_000, 120), (100_000, 250)])
def test_sparse_quadratic(d, limit):
    f, y = sparse_quadratic(d)
    assert np.median([queries_to_target(f, y, 5, seed) for seed in range(5)]) <= limit


def test_sparse_regression():
    spent = [queries_to_target(*regression(seed), 10, seed) for seed in range(100, 111)]
    assert np.median(spent) <= 1_500
    assert np.isfinite(spent).all()


@pytest.mark.parametrize("condition", [1, 10, 100])
def test_ill_conditioned_quadratics(condition):
    rng = np.random.default_rng(condition)
    d, k = 300, 6
    scales = rng.permutation(np.logspace(0, np.log10(condition), d))
    y = np.zeros(d)
    y[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    result = minimize(
        lambda x: 0.5 * float((scales * (x - y) ** 2).sum()),
        np.zeros(d),
        k=k,
        method="auto",
        max_queries=2_000,
        rng=0,
    )
    assert np.array_equal(result.support, np.flatnonzero(y))
    assert np.allclose(result.x, y, atol=1e-4)


def test_bounds_are_kept_and_used():
    y = np.zeros(200)
    y[[3, 50, 120]] = [2.0, -3.0, 0.4]
    result = minimize(
        lambda x: float(((x - y) ** 2).sum()),
        np.zeros(200),
        method="auto",
        constraint=SparseBox(3, low=-1.0, high=1.0),
        max_queries=2_000,
        rng=0,
    )
    assert np.allclose(result.x[[3, 50, 120]], [1.0, -1.0, 0.4], atol=1e-4)


def test_noise_is_measured_and_respected():
    y = np.zeros(500)
    y[[3, 50, 120]] = [1.0, -1.0, 0.8]
    rng = np.random.default_rng(0)
    result = minimize(
        lambda x: float(((x - y) ** 2).sum()) + 1e-4 * rng.standard_normal(),
        np.zeros(500),
        k=3,
        method="auto",
        max_queries=3_000,
        rng=0,
    )
    assert np.array_equal(result.support, [3, 50, 120])
    assert ((result.x - y) ** 2).sum() < 5e-3
    assert "values differ by" in result.explain[0]


def test_functions_that_are_undefined_somewhere():
    y = np.zeros(100)
    y[[3, 50]] = [1.0, 0.5]

    def f(x):
        return float(((x - y) ** 2).sum()) if x.min() > -0.2 and np.abs(x).max() < 3 else np.nan

    result = minimize(
        f, np.zeros(100), k=2, method="auto", max_queries=1_000, rng=0, on_error="skip"
    )
    assert np.allclose(result.x, y, atol=1e-3)


@pytest.mark.parametrize(("d", "reached"), [(12, 0.01), (150, 0.01)])
def test_step_functions_have_no_slopes_but_values(d, reached):
    """The share of wrong signs: flat almost everywhere, so the radius must grow until it is not."""
    rng = np.random.default_rng(d)
    a = rng.standard_normal((300, d))
    w = np.zeros(d)
    w[[2, 7]] = [1.0, -1.0]
    labels = np.sign(a @ w)

    def errors(x):
        return float((np.where(a @ x > 0, 1, -1) != labels).mean())

    start = np.zeros(d)
    start[5] = 1.0
    result = minimize(errors, start, k=2, method="auto", max_queries=3_000, rng=0)
    assert "values do not change over" in result.explain[0]
    assert errors(start) > 0.46
    assert result.fun < reached


def test_exchanges_free_a_support_that_slopes_leave_frozen():
    """The deepest well has the smallest slope at its edge, so no round would ever try it."""

    def f(x):
        well = -(0.05 * x[1] + x[1] ** 3) / (1 + (x[1] / 2) ** 4)
        return float((x[0] - 1) ** 2 + well + (x[2:] ** 2 - 0.5 * x[2:]).sum())

    result = minimize(f, np.zeros(12), k=1, method="auto", max_queries=5_000, rng=0)
    assert result.support.tolist() == [1]
    assert any("exchanged for [1]" in line for line in result.explain)


def test_the_start_counts():
    f, _ = sparse_quadratic(50, k=2)
    result = minimize(f, np.zeros(50), k=2, method="auto", max_queries=2, rng=0, vectorized=True)
    assert result.fun == f(np.zeros(50))


def drive(talk, f):
    """Answer a piece of a conversation with a function; return its result and the points asked."""
    points = []
    answers = None
    while True:
        try:
            plan = talk.send(answers)
        except StopIteration as end:
            return end.value, points
        points += list(plan.points())
        answers = [
            Answer(values=np.array([f(x) for x in query.points()])) for query in plan.queries
        ]


def context(d):
    return SolverContext(seed=0, x=np.zeros(d), sample=None)


def test_signs_are_asked_at_the_radius_and_give_slopes():
    g = np.arange(1.0, 26.0)
    gauge = Gauge(radius=1e-6, span=1e-3)
    talk = signs(context(25), Point(np.zeros(25), 0.0), gauge, 7)
    measured, points = drive(talk, lambda x: g @ x)
    assert np.allclose(np.linalg.norm(points, axis=1), 1e-3)
    rows = measured.columns(np.arange(25))
    assert np.allclose(measured.slopes, rows @ g)
    assert np.allclose(measured.correlate(np.ones(7)), rows.sum(axis=0))


def test_long_differences_do_not_see_curvature():
    """Along signs and axes alike: a quadratic's slopes are exact over any length."""
    g = np.arange(1.0, 26.0)

    def f(x):
        return float(g @ x) + 3.0 * float(x @ x)

    gauge = Gauge(radius=0.5, span=2.0, rough=True)
    point = Point(np.zeros(25), f(np.zeros(25)))
    measured, _ = drive(signs(context(25), point, gauge, 40), f)
    rows = measured.columns(np.arange(25))
    assert np.allclose(measured.centred, rows @ g - (rows @ g).mean())
    slopes, points = drive(axis_slopes(context(25), point, gauge, np.array([3, 4])), f)
    assert np.allclose(slopes, g[[3, 4]])
    assert len(points) == 4
    scanned, points = drive(axis_slopes(context(25), point, gauge, np.arange(25), scan=True), f)
    assert np.allclose(scanned, g - np.median(g))
    assert len(points) == 25


def free(count):
    return np.full(count, -np.inf), np.full(count, np.inf)


def test_quasi_newton_learns_the_curvature():
    """Condition 10,000: a first-order method would need thousands of gradients."""
    h = np.array([1.0, 1e4])
    support = np.array([1, 3])

    def f(x):
        return 0.5 * float((h * (x[support] - 1) ** 2).sum())

    start = Point(np.zeros(5), f(np.zeros(5)))
    solved, points = drive(
        minimise_on(
            context(5),
            start,
            support,
            gauge=Gauge(radius=1e-7, span=1e-7),
            steps=30,
            accuracy=1e-6,
            bounds=free(2),
        ),
        f,
    )
    assert np.allclose(solved.point.x, [0, 1, 0, 1, 0], atol=1e-3)
    assert len(points) < 80
    # the inverse Hessian was learnt along with the solution
    assert np.allclose(np.diag(solved.inverse), 1 / h, rtol=0.2)


def test_a_hopeless_solve_is_given_up():
    def f(x):
        return 5 + 0.5 * float(((x - 1) ** 2).sum())

    start = Point(np.zeros(4), f(np.zeros(4)))
    settings = {
        "gauge": Gauge(radius=1e-6, span=1e-6),
        "steps": 20,
        "accuracy": 1e-6,
        "bounds": free(4),
    }
    guess = np.eye(4)
    given_up, few = drive(
        minimise_on(context(4), start, np.arange(4), inverse=guess, goal=-9.0, **settings), f
    )
    assert np.array_equal(given_up.point.x, np.zeros(4))
    assert len(few) == 4
    patient = minimise_on(
        context(4), start, np.arange(4), inverse=1e-3 * guess, goal=5.5, patient=True, **settings
    )
    assert np.allclose(drive(patient, f)[0].point.x, 1, atol=1e-4)
    reached, _ = drive(
        minimise_on(context(4), start, np.arange(4), inverse=guess, goal=5.5, **settings), f
    )
    assert np.allclose(reached.point.x, 1, atol=1e-4)


def test_coordinates_at_a_bound_rest():
    problem = Problem(context(3), np.arange(3), np.zeros(3), np.ones(3))
    x = np.array([0.0, 1.0, 0.5])
    assert np.array_equal(resting(problem, x, np.array([1.0, -1.0, 1.0])), [0, 0, 1])
    assert np.array_equal(resting(problem, x, np.array([-1.0, 1.0, -1.0])), [-1, 1, -1])


def test_an_inverse_hessian_is_carried_over():
    inverse = np.array([[2.0, 1.0], [1.0, 4.0]])
    after = exchanged(inverse, np.array([3, 8]), np.array([1, 8]))
    assert np.array_equal(after, [[3.0, 0.0], [0.0, 4.0]])


def test_an_inverse_hessian_of_part_with_the_rest_fixed():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    hessian = root @ root.T + np.eye(5)
    keep = np.array([0, 2, 3])
    part = conditional(np.linalg.inv(hessian), keep)
    assert np.allclose(part, np.linalg.inv(hessian[np.ix_(keep, keep)]))


def test_small_dimensions_are_measured_axis_by_axis():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((40, 12))
    w = np.zeros(12)
    w[[2, 7]] = [1.0, -1.0]
    result = minimize(
        lambda x: float(((a @ (x - w)) ** 2).mean()),
        np.zeros(12),
        k=2,
        method="auto",
        max_queries=500,
        rng=0,
    )
    assert "all 12 slopes measured" in result.explain[0]
    assert np.array_equal(result.support, [2, 7])


def looked_at_all(f, d, k=3):
    """Look once for candidates where the gradient is dense; return the search and the points."""
    point = Point(np.zeros(d), f(np.zeros(d)))
    search = Search(
        context=context(d), operator=Sparse(k), gauge=Gauge(radius=1e-6, span=1e-6), start=point
    )
    _, points = drive(find_candidates(search, point, np.array([7])), f)
    assert search.exact
    return search, points


def test_measurements_along_signs_save_axes():
    d, g = 80, np.random.default_rng(0).standard_normal(80)
    search, points = looked_at_all(lambda x: float(g @ x + 0.5 * x @ x), d)
    asked = np.array(points)
    axes = (asked != 0).sum(axis=1) == 1
    along_signs = ((asked != 0).all(axis=1)).sum()
    assert axes.sum() == d - int(0.8 * along_signs)
    assert asked[axes][:, 7].any()
    assert np.allclose(search.slopes, g, atol=1e-4)


def test_measurements_that_disagree_save_nothing():
    """A kink at the start: slopes along signs are no sums of slopes along axes."""
    d, g = 80, np.random.default_rng(0).standard_normal(80)
    search, points = looked_at_all(lambda x: float(np.maximum(g * x, 0.0).sum() - x.sum()), d)
    axes = (np.array(points) != 0).sum(axis=1) == 1
    assert axes.sum() == d
    assert np.allclose(search.slopes, np.maximum(g, 0.0) - 1.0)


def test_it_ends_by_itself_and_says_so():
    f, y = sparse_quadratic(50, k=2)
    result = minimize(
        f, np.zeros(50), k=2, method="auto", max_queries=100_000, rng=0, vectorized=True
    )
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.nfev < 5_000
    assert "done" in result.explain[-1]
    assert np.allclose(result.x, y, atol=1e-5)


@pytest.mark.parametrize("d", [12, 400])
def test_nothing_is_spent_on_a_minimum_that_is_zero(d):
    """Slopes of 1e-6 are left by the length of differences; relative to f = 0 they look large."""
    y = np.zeros(d)
    y[[3, 7]] = 1.0
    result = minimize(lambda x: float(((x - y) ** 2).sum()), np.zeros(d), k=2, rng=0)
    assert result.status is Status.CONVERGED
    assert result.fun < 1e-10
    assert result.nfev < 150
    assert any("vanish" in line for line in result.explain) == (d > 100)


@pytest.mark.parametrize("d", [60, 1_000])
@pytest.mark.parametrize("constant", [-1e3, 1e6])
def test_a_constant_changes_nothing(d, constant):
    y = np.zeros(d)
    y[[3, 40, 50]] = [1.0, -1.0, 2.0]
    result = minimize(
        lambda x: constant + float(((x - y) ** 2).sum()), np.zeros(d), k=3, max_queries=900, rng=0
    )
    assert np.allclose(result.x, y, atol=1e-3)
    assert result.status is Status.CONVERGED


def test_what_counts_as_a_gain():
    """Against f and what there was to gain, whichever is less; and against rounding at last."""
    search, start = searching(lambda x: 8.0, np.zeros(3), 1, np.ones(3))
    search.weigh(start, slope=2.0, step=1e-6)
    assert not search.flat
    at = [Point(np.zeros(3), 8.0 - loss) for loss in (0.0, 1e-5, 3e-5)]
    assert [search.worth(at[0], one) for one in at] == [False, False, True]
    low = [Point(np.zeros(3), value) for value in (3e-12, 2.5e-12, 1e-13)]
    search.scale = 1.0
    assert [search.worth(low[0], one) for one in low] == [False, False, True]
    search.weigh(start, slope=1e-5, step=1e-6)
    assert search.flat
    search.weigh(Point(np.zeros(3), 1e9), slope=0.1, step=1e-6)  # less than rounding
    assert search.flat


def spent_to_mislead(lead, d, k, seeds, penalty=0.0):
    """Return the queries until a linear classifier on d pixels is misled, for each seed."""
    slopes = np.random.default_rng(0).standard_normal(d)

    def f(x):
        return max(0.0, lead - float(slopes @ np.clip(x, -1, 1)) + penalty * float(np.abs(x).sum()))

    return [minimize(f, np.zeros(d), k=k, target=0.0, rng=seed).nfev for seed in range(seeds)]


def test_a_large_move_in_the_right_direction_may_be_enough():
    """As when a classifier is to be misled: no gradient of 100 entries is needed for that."""
    assert np.median(spent_to_mislead(2.5, 100, 4, seeds=15)) < 60


def test_half_of_the_axes_may_be_enough():
    assert spent_to_mislead(4.0, 60, 8, seeds=1)[0] < 40


def test_a_large_move_is_not_misled_by_what_all_directions_share():
    assert np.median(spent_to_mislead(2.5, 100, 4, seeds=15, penalty=0.3)) < 60


def test_one_dimension_is_asked_about_as_well():
    run = AskTell(np.zeros(1), k=1, max_queries=60, rng=0)
    while not run.done:
        points = run.ask().points()
        assert len(points) > 0
        run.tell(((points - 1.5) ** 2).sum(axis=1))
    assert np.allclose(run.result.x, 1.5)


def searching(f, x, k, slopes):
    start = Point(x, f(x))
    gauge = Gauge(radius=1e-6, span=1e-6)
    search = Search(
        context=context(x.size), operator=Sparse(k), gauge=gauge, start=start, slopes=slopes
    )
    return search, start


def test_a_leap_hands_on_the_curvature_that_it_learnt():
    """On all candidates first, then on the k largest, then from the old support to the new."""
    h = np.array([1.0, 100.0, 10.0, 1.0, 1.0])
    y = np.array([1.0, 1.0, 1.0, 1e-3, 1e-3])

    def f(x):
        return 0.5 * float(h @ (x - y) ** 2)

    search, start = searching(f, np.zeros(5), 3, -h * y)
    cut, inverse = drive(_cut_down(search, start, np.arange(5), search.slopes), f)[0]
    assert np.flatnonzero(cut.x).tolist() == [0, 1, 2]
    assert np.allclose(inverse[1, 1], 0.01, rtol=0.05)
    search.inverse = inverse
    assert np.array_equal(search.carried(np.arange(3), np.arange(3)), inverse)
    moved = search.carried(np.arange(3), np.array([0, 1, 4]))
    assert np.allclose(moved[:2, :2], inverse[:2, :2])
    assert np.isclose(moved[2, 2], np.diag(inverse).mean())
    assert search.carried(np.arange(2), np.arange(3)) is None


@pytest.mark.parametrize(
    ("move", "k", "begun"),
    [
        (lambda s, p: _leap(s, p, Candidates(np.array([3]))), 4, [(True, True)]),
        (
            lambda s, p: _leap(s, p, Candidates(np.array([3, 4, 5]))),
            3,
            [(False, False), (True, True)],
        ),
        (swap, 3, [(True, False)]),
        (lambda s, p: swap(s, p, afresh=True), 3, [(False, False)]),
    ],
)
def test_which_solves_begin_with_known_curvature_and_with_patience(move, k, begun, monkeypatch):
    h, y = np.array([4.0, 3.0, 2.0, 5.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.01, 1.0, 0.1, 0.1])

    def f(x):
        return 0.5 * float(h @ (x - y) ** 2)

    x = np.where(np.arange(6) < 3, y, 0.0)
    search, start = searching(f, x, k, h * (x - y))
    search.scale = 1.0
    search.inverse = np.diag(1 / h[:3])
    told, solve = [], Search.solve

    def watched(self, *arguments, **options):
        told.append((options.get("inverse") is not None, options.get("patient", False)))
        return solve(self, *arguments, **options)

    monkeypatch.setattr(Search, "solve", watched)
    drive(move(search, start), f)
    assert told[: len(begun)] == begun


def test_a_splice_sees_what_the_others_can_take_over():
    """Coordinates 0 and 1 do together what 2 does alone, and better: both must join at once."""
    design = np.array([[1.0, 1.0, 1.9], [1.0, -1.0, 0.3], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0]])
    design = np.hstack([design, [[0.0], [0.0], [0.0], [1.0]]])
    seen = design @ np.array([1.0, 1.0, 0.0, 0.0])

    def f(x):
        return 0.5 * float(((design @ x - seen) ** 2).sum())

    x = np.array([0.0, 0.0, 0.9, 0.5])
    search, start = searching(f, x, 2, design.T @ (design @ x - seen))
    better, _ = drive(splice(search, start, 2), f)
    assert np.flatnonzero(better.x).tolist() == [0, 1]
    assert better.value < 1e-6


def test_a_kick_replaces_a_third_by_what_nearly_made_it():
    y = np.linspace(1.0, 2.0, 30)

    def f(x):
        return 0.5 * float(((x - y) ** 2).sum())

    x = np.where(np.arange(30) >= 24, y, 0.0)
    search, start = searching(f, x, 6, x - y)
    kicked, _ = drive(kick(search, start), f)
    support = np.flatnonzero(kicked.x)
    assert support.size == 6
    assert np.intersect1d(support, np.arange(24, 30)).size == 4


def test_steps_are_looked_at_more_and_more_finely_and_noise_is_not():
    steps = Gauge(radius=0.5, span=1.0, rough=True)
    assert finer(steps) == Gauge(radius=0.25, span=0.5, rough=True)
    noisy = Gauge(radius=0.5, span=1.0, rough=True, noise=0.1)
    assert finer(noisy) == noisy


def test_a_start_that_cannot_be_evaluated():
    result = minimize(
        lambda x: np.nan, np.zeros(9), k=2, method="auto", max_queries=100, on_error="skip"
    )
    assert result.status is Status.FAILED
    assert "cannot be evaluated at the start" in result.message


def test_every_kept_point_is_sparse_and_measured():
    f, w = regression(0)
    points = []
    result = minimize(
        f,
        np.zeros(w.size),
        k=10,
        method="auto",
        max_queries=3_000,
        rng=0,
        vectorized=True,
        callback=lambda p: points.append((p.best_x, p.best_value)),
    )
    assert all(np.count_nonzero(x) <= 10 for x, _ in points)
    assert all(value == pytest.approx(float(f(x)), rel=1e-12) for x, value in points)
    values = [value for _, value in points]
    assert values == sorted(values, reverse=True)
    assert result.fun == values[-1]


def test_other_constraints_are_handed_on():
    handed = algorithms.auto(constraint=L1Ball(1.0), d=20)
    assert not isinstance(handed, Auto)
    assert isinstance(algorithms.auto(k=2), Auto)


def measure(g, count, seed=0):
    drawn = SampledDirections(
        distribution=RademacherDistribution(), key=Key(seed=seed), d=g.size, count=count
    )
    rows = np.concatenate([values for _, values in drawn.slices(0, count)])
    return Measurements(((drawn, rows @ g),))


def test_recovery_is_exact_on_sparse_and_honest_on_dense_gradients():
    rng = np.random.default_rng(0)
    sparse = np.zeros(500)
    sparse[[4, 99, 300]] = [1.0, -2.0, 0.5]
    found = recover(measure(sparse, 40), 6)
    order = np.argsort(found.support)
    assert np.array_equal(found.support[order], [4, 99, 300])
    assert np.allclose(found.slopes[order], [1.0, -2.0, 0.5])
    assert found.error < 1e-10
    assert found.believed
    dense = recover(measure(rng.standard_normal(500), 40), 6)
    assert dense.error > 0.5
    assert not dense.believed


def test_what_measurements_have_in_common_is_no_slope():
    """As the curvature of long differences, or the kink of ||x||_1 at the start."""
    sparse = np.zeros(500)
    sparse[[4, 99, 300]] = [1.0, -2.0, 0.5]
    ((drawn, y),) = measure(sparse, 40).batches
    shifted = Measurements(((drawn, y + 70.0),))
    found = recover(shifted, 6)
    assert found.believed
    assert np.allclose(found.slopes[np.argsort(found.support)], [1.0, -2.0, 0.5])
    nothing = np.empty(0, dtype=int)
    seen = [gather(m, nothing, np.empty(0), None).slopes for m in (measure(sparse, 40), shifted)]
    assert np.allclose(*seen)


def test_a_penalty_with_a_kink_at_the_start_costs_nothing():
    target = np.zeros(1000)
    target[[4, 99, 300]] = [1.0, -2.0, 1.5]
    result = minimize(
        lambda x: 0.5 * float(((x - target) ** 2).sum()) + 0.05 * float(np.abs(x).sum()),
        np.zeros(1000),
        k=3,
        target=0.3,
        rng=0,
    )
    assert result.support.tolist() == [4, 99, 300]
    assert result.nfev < 100


def test_recovery_allows_for_noise_and_for_no_more():
    rng = np.random.default_rng(2)
    sparse = np.zeros(500)
    sparse[[4, 99, 300]] = [1.0, -2.0, 1.5]
    exact = measure(sparse, 80)
    ((drawn, y),) = exact.batches
    noisy = Measurements(((drawn, y + 0.5 * rng.standard_normal(80)),))
    assert not recover(noisy, 6).believed
    found = recover(noisy, 6, noise=0.5)
    assert found.believed
    assert set(found.support) == {4, 99, 300}
    assert not recover(measure(rng.standard_normal(500), 80), 6, noise=0.5).believed


def test_recovery_of_nothing():
    found = recover(measure(np.zeros(50), 20), 4)
    assert found.error == 0.0
    assert np.allclose(found.slopes, 0)


def test_evidence_adds_up_with_the_right_scale():
    rng = np.random.default_rng(1)
    g = rng.standard_normal(60)
    known = np.array([3, 8])
    evidence = None
    for seed in range(40):
        evidence = gather(measure(g, 200, seed), known, g[known], evidence)
    rest = np.setdiff1d(np.arange(60), known)
    noise = np.linalg.norm(g[rest]) / np.sqrt(200) * np.sqrt(0.3 / 1.7)
    assert np.abs(evidence.slopes - g)[rest].max() < 5 * noise
    assert np.abs(evidence.slopes - g)[known].max() < 5 * noise


class Counter(GeneratorAlgorithm):
    """A script that asks three times, so that its state can be looked at."""

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


def test_a_script_can_be_taken_up_from_any_state():
    """States are told in a row, and again from a copy that no conversation is attached to."""
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


def test_a_finished_script_ends_the_run():
    asked = AskTell(np.zeros(1), method=Counter(operator=Sparse(1)), max_queries=50, rng=0)
    while not asked.done:
        asked.tell(asked.ask().points()[:, 0] - 1)
    assert asked.result.status is Status.CONVERGED
    assert asked.result.nfev == 3
    assert asked.result.explain == ("asked 0", "asked 1", "asked 2")
