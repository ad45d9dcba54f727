"""The default solver: what it reaches, what it decides, and how its parts work."""

import numpy as np
import pytest

from outcomes import most_seeds
from szoht import AskTell, L1Ball, SparseBox, Status, algorithms, minimize
from szoht.algorithms.auto import Auto
from szoht.algorithms.auto.records import Curvature, schur_complement
from szoht.algorithms.auto.structures.importance import importance
from szoht.core.random import Key
from szoht.estimators.sensing import (
    FourierRows,
    HadamardRows,
    Measurements,
    RowSlice,
    matching_pursuit,
    prony,
)


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
    assert np.isfinite(spent).sum() >= 9


@pytest.mark.parametrize("condition", [1, 10, 100])
@most_seeds
def test_ill_conditioned_quadratics(seed, condition):
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
        rng=seed,
    )
    assert np.array_equal(result.support, np.flatnonzero(y))
    assert np.allclose(result.x, y, atol=1e-4)


@most_seeds
def test_bounds_are_kept_and_used(seed):
    y = np.zeros(200)
    y[[3, 50, 120]] = [2.0, -3.0, 0.4]
    result = minimize(
        lambda x: float(((x - y) ** 2).sum()),
        np.zeros(200),
        method="auto",
        constraint=SparseBox(3, low=-1.0, high=1.0),
        max_queries=2_000,
        rng=seed,
    )
    assert np.allclose(result.x[[3, 50, 120]], [1.0, -1.0, 0.4], atol=1e-4)


@most_seeds
def test_noise_is_measured_and_respected(seed):
    y = np.zeros(500)
    y[[3, 50, 120]] = [1.0, -1.0, 0.8]
    rng = np.random.default_rng([seed, 1])
    result = minimize(
        lambda x: float(((x - y) ** 2).sum()) + 1e-4 * rng.standard_normal(),
        np.zeros(500),
        k=3,
        method="auto",
        max_queries=3_000,
        rng=seed,
    )
    assert np.array_equal(result.support, [3, 50, 120])
    assert ((result.x - y) ** 2).sum() < 5e-3
    assert "values differ by" in result.explain[0]


@most_seeds
def test_functions_that_are_undefined_somewhere(seed):
    y = np.zeros(100)
    y[[3, 50]] = [1.0, 0.5]

    def f(x):
        return float(((x - y) ** 2).sum()) if x.min() > -0.2 and np.abs(x).max() < 3 else np.nan

    result = minimize(
        f, np.zeros(100), k=2, method="auto", max_queries=1_000, rng=seed, on_error="skip"
    )
    assert np.allclose(result.x, y, atol=1e-3)


@pytest.mark.parametrize(("d", "reached"), [(12, 0.01), (150, 0.01)])
@most_seeds
def test_step_functions_have_no_slopes_but_values(seed, d, reached):
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
    result = minimize(
        errors, start, k=2, method="auto", target=reached, max_queries=3_000, rng=seed
    )
    assert errors(start) > 0.46
    assert result.status is Status.TARGET


@most_seeds
def test_exchanges_free_a_support_that_slopes_leave_frozen(seed):
    """The deepest well has the smallest slope at its edge, so no round would ever try it."""

    def f(x):
        well = -(0.05 * x[1] + x[1] ** 3) / (1 + (x[1] / 2) ** 4)
        return float((x[0] - 1) ** 2 + well + (x[2:] ** 2 - 0.5 * x[2:]).sum())

    result = minimize(f, np.zeros(12), k=1, method="auto", target=-3.0, max_queries=5_000, rng=seed)
    assert result.support.tolist() == [1]


def test_the_start_counts():
    f, _ = sparse_quadratic(50, k=2)
    result = minimize(f, np.zeros(50), k=2, method="auto", max_queries=2, rng=0, vectorized=True)
    assert result.fun == f(np.zeros(50))


@most_seeds
def test_it_ends_by_itself_and_says_so(seed):
    f, y = sparse_quadratic(50, k=2)
    result = minimize(
        f, np.zeros(50), k=2, method="auto", max_queries=100_000, rng=seed, vectorized=True
    )
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.nfev < 5_000
    assert "done" in result.explain[-1]
    assert np.allclose(result.x, y, atol=1e-5)


@pytest.mark.parametrize("d", [12, 400])
@most_seeds
def test_nothing_is_spent_on_a_minimum_that_is_zero(seed, d):
    """Slopes of 1e-6 are left by the length of differences; relative to f = 0 they look large."""
    y = np.zeros(d)
    y[[3, 7]] = 1.0
    result = minimize(lambda x: float(((x - y) ** 2).sum()), np.zeros(d), k=2, rng=seed)
    assert result.status is Status.CONVERGED
    assert result.fun < 1e-10
    assert result.nfev < 600


@pytest.mark.parametrize("d", [60, 1_000])
@pytest.mark.parametrize("constant", [-1e3, 1e6])
@most_seeds
def test_a_constant_changes_nothing(seed, d, constant):
    y = np.zeros(d)
    y[[3, 40, 50]] = [1.0, -1.0, 2.0]
    result = minimize(
        lambda x: constant + float(((x - y) ** 2).sum()),
        np.zeros(d),
        k=3,
        max_queries=900,
        rng=seed,
    )
    assert np.allclose(result.x, y, atol=1e-3)
    assert result.status is Status.CONVERGED


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
    assert np.median(spent_to_mislead(4.0, 60, 8, seeds=5)) < 55


def test_a_large_move_is_not_misled_by_what_all_directions_share():
    assert np.median(spent_to_mislead(2.5, 100, 4, seeds=15, penalty=0.3)) < 60


@most_seeds
def test_one_dimension_is_asked_about_as_well(seed):
    run = AskTell(np.zeros(1), k=1, max_queries=60, rng=seed)
    while not run.done:
        points = run.ask().points()
        assert len(points) > 0
        run.tell(((points - 1.5) ** 2).sum(axis=1))
    assert np.allclose(run.result.x, 1.5)


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


@most_seeds
def test_a_penalty_with_a_kink_at_the_start_costs_nothing(seed):
    target = np.zeros(1000)
    target[[4, 99, 300]] = [1.0, -2.0, 1.5]
    result = minimize(
        lambda x: 0.5 * float(((x - target) ** 2).sum()) + 0.05 * float(np.abs(x).sum()),
        np.zeros(1000),
        k=3,
        target=0.3,
        rng=seed,
    )
    assert result.support.tolist() == [4, 99, 300]
    assert result.nfev < 100


def measured(g, rows, count):
    return Measurements(((RowSlice(rows=rows, start=0, count=count), rows.block(0, count) @ g),))


@pytest.mark.parametrize("kind", ["signs", "waves"])
def test_rows_as_a_whole_and_by_parts_are_the_same_matrix(kind):
    free = np.delete(np.arange(37), [4, 20])
    key = Key(seed=1)
    rows = (HadamardRows if kind == "signs" else FourierRows)(key=key, d=37, free=free)
    matrix = rows.block(0, 15)
    weights = np.random.default_rng(0).standard_normal(15)
    some = np.array([0, 5, 30])
    assert not matrix[:, [4, 20]].any()
    assert np.abs(matrix).max() <= 1 + 1e-12
    assert np.allclose(rows.block(6, 11), matrix[6:11])
    assert np.allclose(rows.columns(3, 15, some), matrix[3:15][:, some])
    assert np.allclose(rows.correlate(0, weights), weights @ matrix)
    assert np.allclose(rows.correlate(5, weights[5:]), weights[5:] @ matrix[5:])


def test_waves_locate_a_sparse_gradient_whatever_the_dimension():
    for d in (100, 10_000):
        g = np.zeros(d)
        g[[3, 40, 77, 98]] = [1.0, -2.0, 0.5, 3.0]
        waves = FourierRows(key=Key(seed=d), d=d, free=np.arange(d))
        found = prony(waves, waves.block(0, 11) @ g, 4, noise=1e-10)
        assert sorted(found.support) == [3, 40, 77, 98]
        assert found.rest < 1e-8


def test_signs_tell_every_coordinate_from_what_all_have_in_common():
    rows = RowSlice(rows=HadamardRows(key=Key(seed=0), d=63), start=0, count=40)
    for i in (0, 1, 62):
        y = rows.columns(np.array([i]))[:, 0] + 0.5
        found = matching_pursuit(Measurements().more(rows, y), 3, held_out=8)
        assert found.support.tolist() == [i]
        assert np.allclose(found.slopes, 1.0)


def test_waves_of_a_dense_gradient_leave_a_large_rest():
    g = np.random.default_rng(0).standard_normal(200)
    waves = FourierRows(key=Key(seed=0), d=200, free=np.arange(200))
    assert prony(waves, waves.block(0, 11) @ g, 4, noise=1e-10).rest > 0.1


@pytest.mark.parametrize("per_pass", [1, 3])
def test_pursuit_is_exact_on_sparse_and_honest_on_dense_gradients(per_pass):
    sparse = np.zeros(300)
    sparse[[3, 70, 150, 299]] = [1.0, -2.0, 0.5, 3.0]
    rows = HadamardRows(key=Key(seed=0), d=300)
    found = matching_pursuit(measured(sparse, rows, 60), 8, held_out=10, per_pass=per_pass)
    assert set(found.support[np.abs(found.slopes) > 1e-9]) == {3, 70, 150, 299}
    assert found.error < 1e-9
    dense = np.random.default_rng(0).standard_normal(300)
    assert matching_pursuit(measured(dense, rows, 60), 8, held_out=10).error > 0.5


def test_measurements_that_failed_are_left_out():
    g = np.zeros(200)
    g[[3, 70]] = [1.0, -2.0]
    rows = HadamardRows(key=Key(seed=0), d=200)
    y = rows.block(0, 50) @ g
    y[[4, 30, 45]] = np.nan
    some = Measurements(((RowSlice(rows=rows, start=0, count=50), y),))
    found = matching_pursuit(some, 4, held_out=8)
    assert set(found.support[np.abs(found.slopes) > 1e-9]) == {3, 70}


def test_what_measurements_have_in_common_is_no_slope():
    g = np.zeros(100)
    g[[3, 70]] = [1.0, -2.0]
    rows = HadamardRows(key=Key(seed=0), d=100)
    plain = measured(g, rows, 40)
    shifted = Measurements(((plain.batches[0][0], plain.batches[0][1] + 50.0),))
    assert np.allclose(shifted.centered, plain.centered)
    assert set(matching_pursuit(shifted, 2, held_out=6).support) == {3, 70}


def test_an_inverse_hessian_of_part_with_the_rest_fixed():
    a = np.random.default_rng(0).standard_normal((5, 5))
    hessian = a @ a.T + np.eye(5)
    keep = np.array([0, 3])
    part = schur_complement(np.linalg.inv(hessian), keep)
    assert np.allclose(np.linalg.inv(part), hessian[np.ix_(keep, keep)])


def test_curvature_is_carried_over_to_another_support():
    curvature = Curvature(np.array([2, 5, 9]), np.diag([1.0, 2.0, 3.0]))
    carried = curvature.transfer(np.array([2, 7, 9]))
    assert np.diag(carried.inverse).tolist() == [1.0, 2.0, 3.0]


def test_importance_is_what_a_loss_costs_where_units_differ():
    z = np.array([100.0, 0.0, 1e-3])
    support = np.array([0, 2])
    cheap_first = Curvature(support, np.diag([1e6, 1e-9]))
    assert importance(z, support, cheap_first)[1] > importance(z, support, cheap_first)[0]
    assert importance(z, support, None)[0] > importance(z, support, None)[1]


@pytest.mark.parametrize("scale", [1e-7, 1e-4, 1.0, 1e5, 1e8])
@most_seeds
def test_units_are_found_out(seed, scale):
    y = np.zeros(150)
    y[[3, 40, 90]] = [1.0, -1.5, 0.7]
    result = minimize(
        lambda x: float((np.sqrt(1 + (x / scale - y) ** 2) - 1).sum()),
        np.zeros(150),
        k=3,
        max_queries=200,
        target=1e-6,
        rng=seed,
    )
    assert result.status is Status.TARGET
    assert np.allclose(result.x / scale, y, atol=1e-2)


@pytest.mark.parametrize("decades", [1, 2, 3])
@most_seeds
def test_mixed_units_are_no_obstacle(seed, decades):
    rng = np.random.default_rng(decades)
    y = np.zeros(150)
    y[[3, 40, 90]] = [1.0, -1.5, 0.7]
    units = 10 ** rng.uniform(-decades, decades, 150)
    result = minimize(
        lambda x: float(((x / units - y) ** 2).sum()),
        np.zeros(150),
        k=3,
        max_queries=400,
        target=1e-6,
        rng=seed,
    )
    assert result.support.tolist() == [3, 40, 90]


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@most_seeds
def test_the_size_of_f_does_not_matter(seed, factor):
    f, _ = sparse_quadratic(300)
    plain, scaled = (
        minimize(lambda x, c=c: c * float(f(x)), np.zeros(300), k=5, target=1e-6 * c, rng=seed)
        for c in (1.0, factor)
    )
    assert scaled.status is Status.TARGET
    assert scaled.nfev <= 1.3 * plain.nfev


def test_small_budgets_find_a_hidden_minimum_in_a_box():
    """At 40 evaluations ahead of dense random search, which may move all 400 coordinates."""
    gaps = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        at, chosen = rng.uniform(0.2, 0.8, 400), rng.choice(400, 4, replace=False)

        def fun(x, at=at, chosen=chosen):
            return float(((x[chosen] + at[chosen] - 0.4) ** 2).sum())

        result = minimize(
            fun, np.zeros(400), constraint=SparseBox(4, -at, 1 - at), max_queries=40, rng=seed
        )
        others = min(fun(rng.uniform(-at, 1 - at)) for _ in range(40))
        gaps.append(result.fun < others)
    assert sum(gaps) >= 4


def test_a_small_budget_in_a_box_tries_long_steps_among_several_minima():
    """At 30 evaluations ahead of dense random search on Ackley's function of 5 of 300 inputs."""
    ours, random = [], []
    for seed in range(7):
        rng = np.random.default_rng(seed)
        at, chosen = rng.random(300), rng.choice(300, 5, replace=False)

        def fun(x, at=at, chosen=chosen):
            y = 15 * (x + at)[chosen] - 5
            waves = np.exp(np.cos(2 * np.pi * y).mean())
            return float(20 + np.e - 20 * np.exp(-0.2 * np.sqrt((y**2).mean())) - waves)

        result = minimize(
            fun, np.zeros(300), constraint=SparseBox(5, -at, 1 - at), max_queries=30, rng=seed
        )
        ours.append(result.fun)
        random.append(min(fun(rng.uniform(-at, 1 - at)) for _ in range(30)))
    assert np.median(ours) < np.median(random)
