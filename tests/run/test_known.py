"""Known evaluations: how they are read, which of them begins a run, and what contradicts."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from interrupts import interrupted
from outcomes import always, most_seeds
from szoht.cli.app import app
from szoht.errors import (
    BudgetError,
    CapabilityError,
    KnownPointWarning,
    ParameterError,
    ParameterTypeError,
)
from szoht.operators import SparseBox
from szoht.run.config import RunConfig
from szoht.run.known_sources import read_known

D = 30
TARGET = np.zeros(D)
TARGET[[3, 7, 20]] = 1.0, -2.0, 0.5
NEAR = np.zeros(D)
NEAR[[3, 7]] = 0.9, -1.8
NAMES = tuple(f"knob{i}" for i in range(D))


def misfit(x):
    return float(((np.asarray(x) - TARGET) ** 2).sum())


def sparse_points(n, seed=0):
    rng = np.random.default_rng(seed)
    points = np.zeros((n, D))
    for point in points:
        point[rng.choice(D, 3, replace=False)] = rng.normal(size=3)
    return points


def pairs(points=None):
    points = np.vstack([sparse_points(20), NEAR]) if points is None else np.asarray(points)
    return points, np.array([misfit(x) for x in points])


def around_x0(n, length=1e-3, seed=1):
    """Return pairs at random changes of all signs."""
    return pairs(length * np.random.default_rng(seed).choice([-1.0, 1.0], (n, D)))


def run(known, fun=misfit, x0=None, **options):
    settings = {"k": 3, "max_queries": 500, "rng": 0} | options
    return szoht.minimize(fun, np.zeros(D) if x0 is None else x0, known=known, **settings)


def asked_first(known, **options):
    """Return the points of the first plan of a run."""
    settings = {"k": 3} | options
    return szoht.AskTell(np.zeros(D), known=known, **settings).ask().points()


@most_seeds
def test_the_best_known_point_is_measured_beside_x0_and_begins_the_run(seed):
    seen = []

    def fun(x):
        seen.append(x.copy())
        return misfit(x)

    result = run(pairs(), fun, rng=seed)
    always(np.array_equal(seen[0], np.zeros(D)))
    always(np.array_equal(seen[1], NEAR))
    always(result.history["queries"][0] == 2)
    always(result.history["best"][0] == misfit(NEAR))
    assert result.support.tolist() == [3, 7, 20]
    assert "the best known point is the start" in result.explain[0]


@pytest.mark.parametrize("method", ["auto", "szoht", "sparse_rs"])
@pytest.mark.parametrize("budget", [60, 61])
def test_the_budget_is_kept(method, budget):
    calls = []
    constraint = {"constraint": SparseBox(3, -2.0, 2.0), "k": None}

    def fun(x):
        calls.append(1)
        return misfit(x)

    result = run(pairs([NEAR]), fun, method=method, max_queries=budget, **constraint)
    assert len(calls) == result.nfev <= budget
    if method != "sparse_rs":  # which begins at random vertices
        assert result.fun <= misfit(NEAR)


def test_a_solver_that_plans_ahead_knows_what_the_check_costs():
    assert szoht.AskTell(np.zeros(D), k=3, max_queries=60).algorithm.max_queries == 60
    warm = szoht.AskTell(np.zeros(D), k=3, max_queries=60, known=pairs())
    assert warm.algorithm.max_queries == 58


def test_the_budget_must_pay_for_the_check():
    with pytest.raises(BudgetError, match="3 queries"):
        run(pairs(), max_queries=2)


def test_a_point_outside_the_constraint_is_not_a_start():
    full = pairs(np.vstack([TARGET + 1e-3, NEAR]))
    assert np.array_equal(asked_first(full)[1], NEAR)
    with pytest.warns(KnownPointWarning, match=r"None of the 1 `known` points satisfies Sparse"):
        points = asked_first(pairs([TARGET + 1e-3]), method="szoht")
    assert np.array_equal(points[0], np.zeros(D))


def test_nothing_is_measured_twice_if_x0_is_known_to_be_best():
    points = np.vstack([sparse_points(5) * 10, np.zeros(D)])
    assert len(asked_first(pairs(points))) == 1


def test_a_known_point_that_is_worse_than_x0_is_not_a_start():
    result = run(pairs(sparse_points(5) * 10))
    assert "x0 is the start" in result.explain[0]
    assert result.history["best"][0] == misfit(np.zeros(D))


@most_seeds
def test_a_contradiction_is_found_by_one_measurement(seed):
    points = sparse_points(5) * 10
    with pytest.warns(KnownPointWarning, match=r"the value -7, and .* The run starts from `x0`"):
        result = run((points, np.full(5, -7.0)), rng=seed)
    assert result.support.tolist() == [3, 7, 20]
    with pytest.warns(KnownPointWarning, match="The run starts from it"):
        run(([NEAR], [-7.0]), rng=seed)


def test_the_value_of_x0_is_compared_without_a_query():
    points, values = pairs(np.vstack([np.zeros(D), 10 * sparse_points(5)]))
    cold = run(None)
    with pytest.warns(KnownPointWarning, match=r"value 4\.25, and 5\.25 was .*all 6 `known`"):
        warm = run((points, values - 1.0))
    assert warm.nfev == cold.nfev


def test_where_k_is_not_given_a_dense_point_is_no_start():
    assert len(asked_first(pairs([TARGET + 1e-3, NEAR]), k=None)) == 2
    assert len(asked_first(pairs([TARGET + 1e-3]), k=None)) == 1


@pytest.mark.filterwarnings("error")
def test_rounding_is_no_contradiction():
    run(([NEAR], [misfit(NEAR) * (1 + 1e-10)]))


@most_seeds
def test_a_known_point_that_fails_is_no_start(seed):
    def fun(x):
        return np.nan if np.array_equal(x, NEAR) else misfit(x)

    with pytest.warns(szoht.errors.SzohtWarning):
        result = run(pairs(), fun, rng=seed)
    always(result.counts.failures == 1)
    assert result.support.tolist() == [3, 7, 20]


def test_of_a_function_that_is_maximized_the_highest_is_best():
    points, values = pairs()
    result = run((points, -values), lambda x: -misfit(x), maximize=True)
    assert result.history["best"][0] == -misfit(NEAR)
    assert result.explain[0].startswith("the best known point is the start: f = -")


def test_known_points_are_in_the_users_numbers():
    nominal = np.arange(1.0, D + 1)
    knobs = szoht.Variables(nominal, low=nominal - 5, high=nominal + 5, names=NAMES)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([nominal + NEAR, nominal], columns=NAMES)[[*NAMES[::-1]]]
    seen = []

    def fun(x):
        seen.append(x.copy())
        return misfit(x - nominal)

    with pytest.warns(KnownPointWarning, match=r"1 of 2 `known` points are left out \(rows 1,"):
        run((frame, [misfit(NEAR), np.inf]), fun, knobs)
    assert np.allclose(seen[1], nominal + NEAR, rtol=1e-12)


def test_a_number_between_integers_is_left_out():
    knobs = szoht.Variables(np.zeros(D), low=-5, high=5, integer=True)
    near, between = np.zeros((2, D))
    near[7], between[7] = -2.0, -1.9
    known = pairs([near, between])
    with pytest.warns(KnownPointWarning, match=r"1 of 2 .*between integers"):
        plan = szoht.AskTell(knobs, k=3, known=known).ask()
    assert np.array_equal(plan.points()[1], near)


@pytest.mark.filterwarnings("error::szoht.errors.KnownPointWarning")
def test_values_on_samples_are_not_compared_with_stated_ones():
    result = szoht.minimize(
        lambda x, sample: misfit(x) + 0.1 * float(np.mean(sample % 7)),
        np.zeros(D),
        k=3,
        stochastic=True,
        max_queries=300,
        rng=0,
        known=([NEAR], [misfit(NEAR) + 100]),
    )
    assert "the best known point is the start" in result.explain[0]


def test_a_csv_file_has_columns_by_name_in_any_order(tmp_path):
    path = tmp_path / "known.csv"
    points, values = pairs()
    lines = [";".join(("value", *NAMES[::-1]))]
    lines += [
        ";".join(map(repr, [float(value), *point[::-1].tolist()]))
        for value, point in zip(values, points, strict=True)
    ]
    lines.append(";".join(["", *["0"] * D]))
    path.write_text("\n".join(lines))
    with pytest.warns(KnownPointWarning, match=r"1 of 22 .*not finite"):
        by_name = asked_first(path, names=NAMES)
    assert np.array_equal(by_name[1], NEAR)


def write_csv(path, header, *rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in (header, *rows)) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "row", "names", "message"),
    [
        (("a", "b"), (1, 2), None, "one column 'value'.* has a, b"),
        (("a", "b", "value"), (1, 2), None, r"3 cells in each line.*line 2 of .* has 2"),
        (("a", "c", "value"), (1, 2, 3), ("a", "b"), "lacks 'b'"),
        (("a", "b", "c", "value"), (1, 2, 3, 4), ("a", "b"), "has 'c' besides"),
        (("a", "b", "c", "value"), (1, 2, 3, 4), None, r"shape \(n, 2\)"),
        (("a", "b", "value"), ("x", 2, 3), None, "must be numbers"),
        (("a", "b", "value"), ("nan", 2, 3), None, "finite; got nan in row 0, column 0"),
    ],
)
def test_a_csv_file_that_cannot_be_read(tmp_path, header, row, names, message):
    path = write_csv(tmp_path / "known.csv", header, row)
    with pytest.raises(ParameterError, match=message):
        szoht.AskTell(np.zeros(2), k=1, known=path, names=names)


@pytest.mark.parametrize("known", [3, np.zeros(3), (1, 2, 3)])
def test_other_things_are_not_known_evaluations(known):
    with pytest.raises(ParameterTypeError, match="a pair"):
        run(known)


@pytest.mark.parametrize("known", [(np.zeros((2, 3)), [1, 2]), (np.zeros((2, D)), [1])])
def test_shapes_are_checked(known):
    with pytest.raises(ParameterError, match=r"points of shape \(n, 30\)"):
        run(known)


def test_sparse_starts_take_no_known_points():
    start = szoht.SparseVector(10**6, [], [])
    with pytest.raises(CapabilityError, match="`known`"):
        szoht.AskTell(start, k=3, method="szoht", options={"support_size": 50}, known=pairs())


def test_the_evaluations_of_the_runs_of_a_store_are_known(tmp_path):
    store = tmp_path / "runs.db"
    seen = []

    def fun(x):
        seen.append(x.copy())
        return misfit(x)

    first = run(None, fun, max_queries=40, store=store, k=2)
    szoht.minimize(lambda x: -9.0, np.zeros(4), k=2, max_queries=20, rng=0, store=store)
    with szoht.Store(store) as opened:
        for known in (store, str(store), opened):
            warm = szoht.AskTell(np.zeros(D), k=2, known=known)
            assert np.array_equal(warm.ask().points()[1], first.x)
            assert np.array_equal(warm.algorithm.known.points, seen)
            assert np.array_equal(warm.algorithm.known.values, [misfit(x) for x in seen])


def test_evaluations_of_a_store_are_in_the_users_numbers(tmp_path):
    store = tmp_path / "runs.db"
    knobs = szoht.Variables(np.full(D, 5.0), low=0, high=9, names=NAMES)
    first = szoht.maximize(lambda x: -misfit(x - 5), knobs, k=3, max_queries=30, rng=0, store=store)
    points, values = read_known(store, D, knobs)
    assert len(points) == first.nfev
    assert np.array_equal(values, [-misfit(x - 5) for x in points])


def test_the_evaluations_of_a_store_are_read_and_not_replayed(tmp_path, monkeypatch):
    store = tmp_path / "runs.db"
    first = run(None, max_queries=40, store=store)
    monkeypatch.setattr(szoht.store.replay.ReplayOracle, "__call__", None)
    points, values = read_known(store, D, None)
    assert len(points) == first.nfev
    assert values.tolist() == [misfit(x) for x in points]


def test_a_stored_run_is_resumed_from_its_known_start(tmp_path):
    store = tmp_path / "runs.db"
    whole = run(pairs(), method="szoht", max_queries=600)
    first = run(pairs(), method="szoht", max_queries=300, store=store)
    again = szoht.resume(store, misfit, run=first.run, max_queries=600)
    assert again.nfev == whole.nfev
    assert np.array_equal(again.x, whole.x)
    assert again.explain[0] == whole.explain[0]


class Interrupted:
    """Counts its calls, and is interrupted after some of them."""

    def __init__(self, after):
        self.after, self.seen = after, []

    def __call__(self, x):
        if len(self.seen) == self.after:
            self.after = None
            raise KeyboardInterrupt
        self.seen.append(x.copy())
        return misfit(x)


def test_known_evaluations_are_part_of_a_stored_run(tmp_path):
    store, known = tmp_path / "runs.db", around_x0(40)
    whole, parts = Interrupted(None), Interrupted(14)
    result = run(known, whole, max_queries=60)
    first = interrupted(run, known, parts, max_queries=60, store=store)
    resumed = szoht.resume(store, parts, run=first.run)
    assert any("known rows" in line for line in result.explain)
    assert resumed.explain == result.explain
    assert np.array_equal(parts.seen, whole.seen)


@pytest.mark.parametrize("where", ["variables", "constraint"])
def test_a_known_point_outside_the_bounds_is_refused_before_a_query(where):
    calls = []
    points, values = pairs([NEAR, 9 * NEAR])
    if where == "variables":
        x0, limits = szoht.Variables(np.zeros(D), low=-5, high=5, names=NAMES), {}
        name = "knob3"
    else:
        x0, limits = np.zeros(D), {"constraint": SparseBox(3, -5.0, 5.0), "k": None}
        name = r"x\[3\]"
    message = rf"got 8\.1 for {name} in row 1 .*bounds are -5 and 5\. Leave that point out"
    with pytest.raises(ParameterError, match=message):
        run((points, values), calls.append, x0, **limits)
    assert not calls


def test_points_stated_twice_with_different_values_are_no_measurements():
    points, values = around_x0(10)
    known = np.vstack([points, points[:2]]), np.append(values, [values[0], values[1] + 1e-4])
    with pytest.warns(KnownPointWarning, match="1 `known` points are stated more than once"):
        warm = szoht.AskTell(np.zeros(D), k=3, known=known)
    kept = warm.algorithm.known.points
    assert len(kept) == 10  # the one with equal values twice
    assert not (kept == points[1]).all(axis=1).any()


def test_of_random_points_the_best_is_no_start_by_luck_alone():
    points = sparse_points(200, seed=5)
    values = np.array([misfit(x) for x in points])
    lucky = points[np.argsort(values)[:1]] * 0.98
    gain = misfit(np.zeros(D)) - misfit(lucky[0])
    assert gain > 0
    slightly = np.vstack([points[values > misfit(np.zeros(D))], 0.05 * lucky])
    result = run(pairs(slightly), max_queries=30)
    assert result.explain[0].startswith("x0 is the start: f = 5.25")
    assert result.history["best"][0] == misfit(0.05 * lucky[0])  # and is not forgotten


def test_what_a_file_says_is_known_must_be_a_point():
    config = szoht.AskTell(np.zeros(D), k=3, known=pairs()).config
    spec = config.spec()
    bad = spec.known._replace(x=np.zeros(D + 1))
    with pytest.raises(ParameterError, match="`known`"):
        RunConfig.from_spec(szoht.store.RunSpec(**vars(spec) | {"known": bad}))


def test_the_command_line_reads_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known_model.py").write_text(
        "def fun(x):\n    return float(((x - [0, 2, 0]) ** 2).sum())\n"
    )
    path = write_csv(tmp_path / "known.csv", ("x", "y", "z", "value"), (0, 1.5, 0, 0.25))
    outcome = CliRunner().invoke(
        app,
        ["solve", "known_model:fun", "--dim", "3", "-k", "1", "--known", str(path)],
    )
    assert outcome.exit_code == 0, outcome.output
    assert "best 0.25 after 2 queries" in outcome.output


def test_points_are_asked_for_with_what_is_known(tmp_path):
    path = write_csv(tmp_path / "known.csv", ("x", "y", "z", "value"), (0, 1.5, 0, 0.25))
    store = tmp_path / "runs.db"
    arguments = ["ask", str(store), "--new", "--dim", "3", "-k", "1", "--known", str(path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    asked = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [point["x"] for point in asked] == [[0.0, 0.0, 0.0], [0.0, 1.5, 0.0]]
