"""Portfolios: the convex form against brute force, the raw form, long only, and all bad input."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import szoht
from outcomes import always, most_seeds
from reference.orlib_files import lines_of, market
from reference.portfolios import best_portfolio, cvar, smooth
from szoht.applications.portfolio.frontier import PortfolioSolver, cardinalities, target_returns
from szoht.errors import DataError, ParameterError
from szoht.problems import from_returns, portfolio, read_market
from szoht.problems.assets import Assets
from szoht.problems.cvar import NormalCVaR, SquaredCVaR
from szoht.problems.exact_weights import optimal_weights

D, K, T = 8, 3, 80


@pytest.fixture(scope="module")
def returns():
    rng = np.random.default_rng(4)
    common = rng.standard_normal((T, 2)) @ rng.uniform(0.2, 1.0, (2, D))
    own = rng.standard_normal((T, D)) * rng.uniform(0.4, 1.2, D)
    return 0.01 * (common + own) + rng.uniform(-0.001, 0.004, D)


def covariance(returns):
    return np.cov(returns, rowvar=False)


def variance(w, returns, support):
    return 1e4 * w @ covariance(returns) @ w


def utility(w, returns, support):
    return 1e4 * (50.0 * w @ covariance(returns) @ w - w @ returns.mean(axis=0))


def paper(w, returns, support):
    short = min(w @ returns.mean(axis=0) - 0.004, 0.0)
    return 1e4 * (0.5 * w @ covariance(returns) @ w + 5.0 * short**2)


def medians_of(problem, *measures, max_queries=500):
    """Return medians, over five runs, of numbers that belong to the weights found."""
    results = [
        szoht.minimize(
            problem.objective,
            problem.x0,
            constraint=problem.constraint,
            method="auto",
            rng=seed,
            max_queries=max_queries,
        )
        for seed in range(5)
    ]
    weights = [problem.weights(result.x) for result in results]
    return [np.median([measure(w) for w in weights]) for measure in measures]


SMOOTH = [
    ("minimum_variance", {}, variance),
    ("mean_variance", {"risk_aversion": 100.0}, utility),
    ("paper", {"target_return": 0.004, "return_weight": 5.0}, paper),
]


def through_the_convex_form(problem, long_only):
    """Minimise F on every support with a solver for smooth functions; return the best weights."""
    f, best, where = problem.objective, np.inf, None
    for support in map(list, combinations(range(D), K)):

        def spread(z, support=support):
            x = np.zeros(D)
            x[support] = z
            return x

        found = minimize(
            lambda z: f.value(spread(z), None),
            np.full(K, 1 / K),
            jac=lambda z: f.gradient(spread(z), None)[support],  # noqa: B023
            bounds=[(0 if long_only else None, None)] * K,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
        )
        if found.fun < best:
            best, where = found.fun, spread(found.x)
    return best, where


@pytest.mark.parametrize("long_only", [False, True])
@pytest.mark.parametrize(("objective", "options", "cost"), SMOOTH)
def test_the_convex_form_has_the_best_portfolio(returns, objective, options, cost, long_only):
    """Brute force twice: over weights that sum to 1, and over F; and the solver on F."""
    best, weights = best_portfolio(returns, K, smooth(cost), long_only=long_only)
    problem = portfolio(returns, k=K, objective=objective, long_only=long_only, **options)
    least, x = through_the_convex_form(problem, long_only)
    ours = problem.weights(x)
    assert problem.value(ours) == pytest.approx(best / 1e4, rel=1e-5)
    assert np.allclose(ours, weights, atol=5e-3)
    # the proposition: F = -G(w0) / (2 G(w)) at the best length, and sum x = G(w0) / G(w)
    squared = problem.criterion.squared_risk
    ratio = squared(problem.x0) / squared(ours)
    assert least == pytest.approx(-ratio / 2, rel=1e-6)
    assert x.sum() == pytest.approx(ratio, rel=1e-3)
    assert medians_of(problem, problem.value) == pytest.approx([best / 1e4], rel=1e-3)


@pytest.mark.parametrize("long_only", [False, True])
def test_tracking_error(returns, long_only):
    rng = np.random.default_rng(0)
    index = returns @ rng.dirichlet(np.ones(D)) + 1e-4

    def cost(w, part, support):
        return 1e4 * ((part @ w - index) ** 2).mean()

    best, weights = best_portfolio(returns, K, smooth(cost), long_only=long_only)
    problem = portfolio(
        returns, k=K, objective="tracking_error", benchmark=index, long_only=long_only
    )
    exact = problem.weights(through_the_convex_form(problem, long_only)[1])
    assert problem.value(exact) == pytest.approx(best / 1e4, rel=1e-5)
    assert np.allclose(exact, weights, atol=5e-3)
    assert medians_of(problem, problem.risk) == pytest.approx([np.sqrt(best / 1e4)], rel=1e-2)


def test_a_tracked_asset_is_taken_out_of_all_there_is(returns):
    table = pd.DataFrame(returns, columns=list("ABCDEFGH"))
    problem = portfolio(table, k=K, objective="tracking_error", benchmark="C")
    rest = from_returns(table.drop(columns="C"))
    assert problem.assets.names == rest.names
    assert np.allclose(problem.assets.mean, rest.mean, rtol=1e-12)
    assert np.allclose(problem.assets.covariance, rest.covariance, rtol=1e-12)
    assert np.array_equal(problem.assets.returns, rest.returns)


def test_tracking_by_weights_by_returns_and_by_name_agree(returns):
    weights = np.random.default_rng(0).dirichlet(np.ones(D))
    index = returns @ weights
    table = pd.DataFrame(returns, columns=list("ABCDEFGH")).assign(index=index)
    by_returns = portfolio(returns, k=K, objective="tracking_error", benchmark=index)
    by_name = portfolio(table, k=K, objective="tracking_error", benchmark="index")
    by_weights = portfolio(returns, k=K, objective="tracking_error", benchmark=weights)
    assert by_name.assets.names == tuple("ABCDEFGH")
    w = np.random.default_rng(1).dirichlet(np.ones(D))
    exact = ((returns @ w - index) ** 2).mean()
    assert by_returns.value(w) == pytest.approx(exact, rel=1e-9)
    assert by_name.value(w) == pytest.approx(exact, rel=1e-9)
    # moments know C with T - 1 in its denominator
    assert by_weights.value(w) == pytest.approx(exact, rel=2 / T)
    assert portfolio(returns, k=K, objective="tracking_error").value(np.full(D, 1 / D)) < 1e-15


@pytest.mark.parametrize("long_only", [False, True])
@pytest.mark.parametrize("level", [0.9, 0.93])  # eight losses, and five and six tenths
def test_cvar(returns, level, long_only):
    best, _ = best_portfolio(returns, K, cvar(level), long_only=long_only)
    problem = portfolio(returns, k=K, objective="cvar", level=level, long_only=long_only)
    (ours,) = medians_of(problem, problem.risk, max_queries=1_000)
    assert best <= ours * (1 + 1e-9)
    assert ours == pytest.approx(best, rel=0.02)  # kinks: descent ends nearby


@pytest.mark.parametrize("level", [0.5, 0.9, 0.93, 0.999])
def test_cvar_equals_its_linear_program(returns, level):
    problem = portfolio(returns, k=K, objective="cvar", level=level)
    for seed in range(5):
        w = np.random.default_rng(seed).dirichlet(np.ones(D))
        program, _ = cvar(level)((returns @ w)[:, None], False, None)
        assert problem.measure.cvar.value(w) == pytest.approx(program, rel=1e-9)


def test_cvar_of_moments_is_that_of_normal_returns(tmp_path):
    file = tmp_path / "moments.txt"
    file.write_text("\n".join(lines_of(*market(6))))
    problem = portfolio(file, k=2, objective="cvar", level=0.9)
    w = np.random.default_rng(0).dirichlet(np.ones(6))
    rng = np.random.default_rng(1)
    losses = -rng.multivariate_normal(problem.assets.mean, problem.assets.covariance, 400_000) @ w
    worst = np.sort(losses)[-40_000:]
    error = worst.std() / np.sqrt(worst.size)
    assert problem.risk(w) == pytest.approx(worst.mean(), abs=5 * error)


def test_slopes_of_normal_cvar(tmp_path):
    """Against differences; nothing slopes where the worst cases are gains, nor at zero."""
    file = tmp_path / "moments.txt"
    file.write_text("\n".join(lines_of(*market(6))))
    risk = portfolio(file, k=2, objective="cvar", level=0.9).measure
    rng = np.random.default_rng(0)
    h = 1e-6
    for x in rng.standard_normal((5, 6)):
        slopes = (
            (risk.squared_risk(x + h * np.eye(6)) - risk.squared_risk(x - h * np.eye(6))) / 2 / h
        )
        assert np.allclose(risk.gradient(x), slopes, rtol=1e-5, atol=1e-8)
    assert not risk.gradient(np.zeros(6)).any()
    sure = portfolio(file, k=2, objective="cvar", level=0.9).assets
    gains = Assets(names=sure.names, mean=sure.mean + 9.0, covariance=sure.covariance)
    tail = SquaredCVaR(NormalCVaR(mean=gains.mean, covariance=gains.covariance, level=0.9))
    assert tail.squared_risk(np.ones(6)) == 0
    assert not tail.gradient(np.ones(6)).any()


@pytest.mark.parametrize("objective", ["minimum_variance", "cvar"])
def test_a_target_return_is_met(returns, objective):
    free = portfolio(returns, k=K, objective=objective, long_only=True)
    target = free.assets.mean.max() - 5e-4
    problem = portfolio(returns, k=K, objective=objective, long_only=True, target_return=target)
    reached, risk = medians_of(problem, problem.expected_return, problem.risk)
    assert reached == pytest.approx(target, abs=5e-3 * np.ptp(problem.assets.mean))
    assert risk > medians_of(free, free.risk)[0]


@pytest.mark.parametrize("form", ["convex", "raw"])
@pytest.mark.parametrize("objective", ["paper", "mean_variance", "cvar", "tracking_error"])
def test_powers_agree(returns, objective, form):
    problem = portfolio(returns, k=K, objective=objective, form=form)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, D))
    f = problem.objective
    one_by_one = [f.value(x, None) for x in points]
    assert np.allclose(f.values(points, None), one_by_one, rtol=1e-9)
    if f.gradient is not None:
        for x in points:
            h = 1e-6
            slopes = (f.values(x + h * np.eye(D), None) - f.values(x - h * np.eye(D), None)) / 2 / h
            assert np.allclose(f.gradient(x, None), slopes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "objective", ["paper", "minimum_variance", "mean_variance", "cvar", "tracking_error"]
)
def test_the_convex_form_is_convex_and_has_no_forbidden_points(returns, objective):
    problem = portfolio(returns, k=K, objective=objective)
    rng = np.random.default_rng(1)
    f = problem.objective
    assert f.value(problem.x0, None) == pytest.approx(-0.5)
    a, b = rng.standard_normal((2, 500, D)) * rng.choice([0.01, 1, 100], (2, 500, 1))
    middle = f.values((a + b) / 2, None)
    ends = (f.values(a, None) + f.values(b, None)) / 2
    assert (middle <= ends + 1e-9 * np.abs(ends)).all()
    across = a - a.mean(axis=1, keepdims=True)  # sum x = 0
    assert np.isfinite(f.values(across, None)).all()
    net_short = a[a.sum(axis=1) <= 0]
    assert (f.values(net_short, None) >= 0).all()


def test_raw_form_is_constant_along_rays_and_infinite_where_undefined(returns):
    problem = portfolio(returns, k=K, form="raw")
    x = np.random.default_rng(0).standard_normal(D)
    f = problem.objective
    assert f.value(x, None) == pytest.approx(f.value(-7 * x, None), rel=1e-12)
    nowhere = np.array([1.0, -1.0] + [0.0] * (D - 2))
    assert f.value(nowhere, None) == np.inf
    assert f.values(nowhere[None], None) == [np.inf]
    with pytest.raises(ParameterError, match="must not sum to 0"):
        problem.weights(nowhere)


def test_both_forms_have_the_same_value_at_the_same_portfolio(returns):
    raw, convex = (portfolio(returns, k=K, form=form) for form in ("raw", "convex"))
    x = np.random.default_rng(0).random(D)
    assert convex.value(convex.weights(x)) == pytest.approx(raw.objective.value(x, None), rel=1e-12)


@most_seeds
def test_long_only_raw_runs_on_the_simplex(seed, returns):
    problem = portfolio(returns, k=K, objective="minimum_variance", form="raw", long_only=True)
    result = szoht.minimize(
        problem.objective,
        problem.x0,
        constraint=problem.constraint,
        method="szoht",
        max_queries=3_000,
        rng=seed,
    )
    always(problem.constraint.contains(result.x))
    best, _ = best_portfolio(returns, K, smooth(variance), long_only=True)
    assert result.fun == pytest.approx(best / 1e4, rel=0.05)


def test_exact_weights_on_supports(returns):
    """Both sides of the wanted return: it is not reached with 0.004, and exceeded with -0.01."""
    for target in (0.004, -0.01):
        problem = portfolio(returns, k=K, target_return=target, return_weight=5.0)
        supports = np.array([[0, 1, 2], [3, 5, 7]])
        values, weights = optimal_weights(problem.criterion, supports)
        for support, value, w in zip(supports, values, weights, strict=True):
            part = returns[:, support]

            def cost(v, part=part, target=target):
                short = min(v @ part.mean(axis=0) - target, 0.0)
                return 1e4 * (0.5 * v @ covariance(part) @ v + 5.0 * short**2)

            least, _ = smooth(lambda v, *_: cost(v))(part, False, support)
            assert value == pytest.approx(least / 1e4, rel=1e-6)
            assert w.sum() == pytest.approx(1.0)
            assert cost(w) == pytest.approx(1e4 * value, rel=1e-9)


def test_few_periods_and_many_assets():
    """A singular covariance: the sparse optimum is found all the same."""
    returns = 0.01 * np.random.default_rng(0).standard_normal((6, D))
    best, _ = best_portfolio(returns, 2, smooth(variance), long_only=False)
    problem = portfolio(returns, k=2, objective="minimum_variance")
    assert medians_of(problem, problem.value) == pytest.approx([best / 1e4], rel=1e-3)
    with pytest.raises(ParameterError, match=r"shrinkage=0\.1"):
        portfolio(returns, k=2, objective="mean_variance")
    portfolio(returns, k=2, objective="mean_variance", shrinkage=0.1)


def test_constants_say_what_a_shortfall_costs(returns):
    stated = portfolio(returns, k=2, target_return=0.002, return_weight=3.0)
    assert stated.constants == {"target_return": 0.002, "return_weight": 3.0}
    chosen = portfolio(returns, k=2, objective="minimum_variance", target_return=0.002)
    assert chosen.constants["return_weight"] == chosen.criterion.weight > 0
    assert portfolio(returns, k=2, objective="minimum_variance").constants == {}


def solver(returns, **settings):
    given = {"objective": "minimum_variance"} | settings.pop("options", {})
    return PortfolioSolver(assets=from_returns(returns), options=given, **settings)


def test_the_best_of_several_starts_is_kept_and_all_their_queries_counted(returns):
    """With few queries the runs end apart from each other."""
    seed, few, apart = next(
        (seed, few, apart)
        for seed in range(100)
        for few in [solver(returns, budget=20, starts=4, seed=seed)]
        for apart in [[few._run(2, None, start) for start in range(4)]]
        if min(run.value for run in apart) < min(apart[0].value, apart[-1].value)
    )  # neither the first nor the last is the best
    values = [run.value for run in apart]
    found = few.solve(2)
    assert found.value == min(values)
    assert found.queries == sum(run.queries for run in apart) <= 4 * 20
    other = solver(returns, budget=20, starts=4, seed=seed + 1)
    assert [other._run(2, None, start).value for start in (1, 2)] != [
        run.value for run in apart[1:3]
    ]
    assert few.solve(2).weights.tolist() == found.weights.tolist()
    assert other.solve(2).result.seed - found.result.seed == 1


def test_more_assets_are_never_worse(returns):
    ticks = []
    few = solver(returns, budget=12, starts=1)
    found = few.solve_cardinalities([5, 1, 3, 2, 4], lambda: ticks.append(1))
    assert [k for k, _ in found] == [1, 2, 3, 4, 5]
    values = [solution.value for _, solution in found]
    assert values == sorted(values, reverse=True)
    alone = [few.solve(k).value for k in range(1, 6)]
    assert alone != sorted(alone, reverse=True)
    assert values == np.minimum.accumulate(alone).tolist()
    assert len(ticks) == 5


def test_a_frontier_has_the_returns_that_are_wanted(returns):
    some = solver(returns, options={"long_only": True}, budget=3_000, starts=1)
    mean = some.assets.mean
    targets = target_returns(np.median(mean), some.assets, 3)
    assert targets == pytest.approx(np.linspace(np.median(mean), mean.max(), 3).tolist())
    found = some.solve_returns(K, targets[:2])
    for solution, target in zip(found, targets, strict=False):
        assert solution.expected_return > target - 5e-3 * np.ptp(mean)
    assert found[0].volatility < found[1].volatility
    sample = returns @ found[0].weights
    assert found[0].volatility == found[0].risk == pytest.approx(sample.std(ddof=1))
    stated = solver(
        returns, options={"long_only": True, "target_return": targets[1]}, budget=3_000, starts=1
    )
    assert stated.solve(K).weights == pytest.approx(found[1].weights)


def test_returns_and_sizes_to_try_stay_within_the_assets(returns):
    assets = from_returns(returns)
    beyond = target_returns(1.0, assets, 3)
    assert beyond == pytest.approx([assets.mean.max()] * 3)
    assert max(cardinalities(5, 8, 6)) == 8


def test_shrinkage_keeps_the_total_variance(returns):
    plain = from_returns(returns).covariance
    mixed = portfolio(returns, k=2, shrinkage=0.3).assets.covariance
    assert np.trace(mixed) == pytest.approx(np.trace(plain))
    assert mixed[0, 1] == pytest.approx(0.7 * plain[0, 1])


def test_starts(returns):
    spaced = portfolio(returns, k=3).x0
    assert np.flatnonzero(spaced).tolist() == [0, 3, 7]
    drawn, same, other = (portfolio(returns, k=3, rng=seed).x0 for seed in (0, 0, 1))
    assert np.array_equal(drawn, same)
    assert not np.array_equal(drawn, other)
    assert drawn.sum() == pytest.approx(1)


def test_tables_and_arrays_and_files_agree(returns, tmp_path):
    table = pd.DataFrame(returns, columns=[f"asset {i}" for i in range(D)])
    from_table, from_array = portfolio(table, k=2), portfolio(returns, k=2)
    assert from_table.assets.names[3] == "asset 3"
    assert from_array.assets.names[3] == "3"
    assert np.allclose(from_table.assets.covariance, from_array.assets.covariance, rtol=1e-12)
    assert portfolio(from_table.assets, k=2).assets is from_table.assets
    file = tmp_path / "own.txt"
    file.write_text("\n".join(lines_of(*market(6))))
    assert portfolio(str(file), k=2).dimension == 6
    assert np.array_equal(portfolio("port1", k=2, path=file).assets.mean, read_market(file).mean)


TABLE = pd.DataFrame({"A": [0.01, 0.02, -0.01], "B": [0.0, 0.01, 0.02], "C": [0.01, 0.0, 0.03]})


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (TABLE.assign(B=[0.0, np.nan, 0.1]), {}, "row '1', column 'B' is nan"),
        (TABLE.replace(0.01, np.inf).to_numpy(), {}, "row 0, column '0' is inf"),
        (TABLE.assign(B=["x", "y", "z"]), {}, "column 'B' is not numeric"),
        (TABLE.assign(B=0.01), {}, "returns of the asset 'B' are constant (0.01)"),
        (TABLE.iloc[:1], {}, "at least 2 rows and 1 column; got 1 rows"),
        (TABLE.set_axis(["A", "B", "A"], axis=1), {}, "'A' occurs twice"),
        (np.zeros(5), {}, "a row per period and a column per asset; got an array of shape (5,)"),
        (TABLE, {"k": 4}, "`k` must be an integer in [1, d]; got k=4 with d=3"),
        ("port6", {}, "`source` must be one of port1"),
        (TABLE, {"path": "somewhere"}, "`path` is only for port1"),
        (TABLE, {"objective": "sharpe"}, "`objective` must be one of"),
        (TABLE, {"form": "penalty"}, "`form` must be one of"),
        (TABLE, {"objective": "cvar", "level": 1.0}, "`level` must be"),
        (TABLE, {"objective": "minimum_variance", "return_weight": 1.0}, "needs a `target_return`"),
        (TABLE, {"benchmark": np.ones(3)}, "`benchmark` is for 'tracking_error'"),
        (
            TABLE.head(2),
            {"objective": "tracking_error", "benchmark": np.ones(3)},
            "weights with sum 1, or one return per period; got 3 numbers with sum 3",
        ),
        (
            TABLE,
            {"objective": "tracking_error", "benchmark": np.ones(4)},
            "one return per period (3) or one weight per asset (3); got 4 numbers",
        ),
        (TABLE, {"objective": "tracking_error", "benchmark": "D"}, "columns are A, B, C"),
        (TABLE, {"shrinkage": 1.5}, "`shrinkage` must be"),
        (TABLE + 0.1, {"objective": "cvar", "k": 1}, "not positive: in this sample it carries no"),
    ],
)
def test_bad_input(source, options, message):
    with pytest.raises((DataError, ParameterError)) as caught:
        portfolio(source, **{"k": 2} | options)
    assert message in str(caught.value)


def test_names_must_fit():
    with pytest.raises(DataError, match="3 columns but 2 names"):
        from_returns(TABLE.to_numpy(), names=["A", "B"])
