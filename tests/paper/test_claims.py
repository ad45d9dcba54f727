"""Claims: the rules by which they are checked, and what they are computed from."""

import sys

import numpy as np
import pytest
from scipy import stats

from paper.fakes import make, run
from szoht.errors import ParameterError
from szoht.paper import (
    Claim,
    Curve,
    Job,
    NotRunError,
    Results,
    Scale,
    Verdict,
    evaluate_claim,
    experiment_names,
    get_experiment,
    portfolio_runs,
    read_claims,
)
from szoht.paper.claims import KnownDeviation, Whose, count_verdicts, parse_claims
from szoht.paper.experiment_result import summary
from szoht.paper.methods import PAPER_METHODS

CASE = {
    "id": "a",
    "experiment": "fake",
    "statement": "s",
    "where": "w",
    "whose": "paper",
    "measure": "value",
}


def results():
    return Results(
        [
            Curve(
                job=Job(experiment="fake", curve="low", settings={"offset": 0}, seed=seed),
                table=run({"offset": 0}, seed),
                seconds=0.0,
            )
            for seed in (2, 0, 1)
        ]
    )


def verdict(kind, target, *, quick=False, place=1.5, curve="low", **more):
    claim = Claim(
        **CASE, kind=kind, target=target, arguments={"curve": curve, "place": place}, **more
    )
    return evaluate_claim(claim, make(), results(), quick=quick)


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        ("band", 4.05, "holds"),
        ("band", 4.11, "fails"),
        ("at most", 4.0, "holds"),
        ("at most", 3.9, "fails"),
        ("at least", 4.0, "holds"),
        ("at least", 4.1, "fails"),
        ("equal", 4.0, "holds"),
        ("equal", 5.0, "fails"),
        ("contains", 3.5, "holds"),
        ("contains", 5.5, "fails"),
        ("excludes", 5.5, "holds"),
        ("excludes", 3.5, "fails"),
    ],
)
def test_rules(kind, target, expected):
    """The value at 1.5 is 3, 4 and 5 over the seeds."""
    assert verdict(kind, target, tolerance=0.1).verdict == expected


def test_a_known_reason_explains_only_its_own_values():
    best_known = KnownDeviation(reason="because", low=3.9, high=4.1)
    explained = verdict("band", 9.0, known_deviation=best_known)
    assert (explained.verdict, explained.reason) == (Verdict.DIFFERS, "because")
    other = KnownDeviation(reason="because", low=7.0, high=8.0)
    assert verdict("band", 9.0, known_deviation=other).verdict is Verdict.FAILS
    assert (
        verdict("equal", 9.0, known_deviation=KnownDeviation(reason="r", value=4.0)).verdict
        == "differs"
    )
    assert verdict("band", 4.0, known_deviation=best_known).verdict is Verdict.HOLDS


def test_a_claim_that_could_not_fail_is_refused():
    with pytest.raises(ParameterError, match="could never fail"):
        verdict("equal", 9.0, known_deviation=KnownDeviation(reason="r", value=False))


def test_a_note_is_shown_whether_a_claim_holds_or_fails():
    deviation = KnownDeviation(reason="because", low=3.9, high=4.1)
    shown = "Think of this."
    assert verdict("band", 9.0, note="think of this").remarks == shown
    assert verdict("band", 4.0, note="think of this").remarks == shown
    differs = verdict("band", 9.0, note="think of this", known_deviation=deviation)
    assert differs.remarks == f"Because. {shown}"
    assert verdict("band", 4.0).remarks == ""


def test_verdicts_are_counted_in_three_lists():
    def made(whose, target):
        case = CASE | {"whose": whose}
        claim = Claim(**case, kind="equal", target=target, arguments={"curve": "low", "place": 1.5})
        return evaluate_claim(claim, make(), results(), quick=False)

    several = [made("paper", 4.0), made("paper", 5.0), made("check", 4.0), made("check", 4.0)]
    assert count_verdicts(several) == {
        Whose.PAPER: {Verdict.HOLDS: 1, Verdict.FAILS: 1},
        Whose.CHECK: {Verdict.HOLDS: 2},
    }
    assert summary(several) == [
        "The paper's claims (2): 1 hold, 0 differ, 1 fail, 0 skipped.",
        "Checks (2): 2 hold, 0 differ, 0 fail, 0 skipped.",
    ]


def test_what_was_read_off_is_the_papers():
    """A target that we computed ourselves is a check, however near to the plot it is."""
    for claim in read_claims():
        if "read off" in claim.where:
            assert claim.whose == Whose.PAPER, claim.id
    computed = {claim.id for claim in read_claims() if claim.target in (0.01631, 2.2352, 0.231)}
    assert len(computed) == 7
    assert {claim.whose for claim in read_claims() if claim.id in computed} == {Whose.CHECK}


def test_quick_runs_say_so():
    assert verdict("band", 4.3, quick=True, quick_tolerance=0.5).verdict is Verdict.HOLDS
    assert verdict("band", 4.3, quick=False, quick_tolerance=0.5).verdict is Verdict.FAILS
    skipped = verdict("band", 4.0, quick=True, tolerance=1.0)
    assert skipped.quick
    unsuited = evaluate_claim(
        Claim(**CASE, kind="band", target=4.0, quick=False), make(), results(), quick=True
    )
    assert (unsuited.verdict, unsuited.reason) == (Verdict.SKIPPED, "needs the full run")


def test_what_was_not_run_is_skipped():
    missing = verdict("band", 4.0, curve="high")
    assert missing.verdict is Verdict.SKIPPED
    assert "high" in missing.reason
    beyond = verdict("band", 4.0, place=99.0)
    assert beyond.verdict is Verdict.SKIPPED
    assert "ends at 4" in beyond.reason


def test_results_are_in_order_of_seeds():
    np.testing.assert_array_equal(results().at("low", "y", 1.5), [3.0, 4.0, 5.0])
    assert "low" in results()
    assert "high" not in results()
    with pytest.raises(NotRunError):
        results().runs("high")


def test_every_claim_of_the_paper_can_be_computed():
    claims = read_claims()
    assert {claim.experiment for claim in claims} == set(experiment_names())
    for claim in claims:
        assert claim.measure in get_experiment(claim.experiment).measures, claim.id
        assert claim.statement
        assert claim.where


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "nearly"', "`kind` must be one of"),
        ('kind = "band"\nmeasured = 3.0', "unknown entries: \\['measured'\\]"),
        ('kind = "band"\nexperiment = "assets"', "unknown entries: \\['experiment'\\]"),
        ('kind = "band"\ncolumn = "best"', "`column` must be one of as in the paper, tuned fairly"),
    ],
)
def test_bad_claims_are_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_claims({"fake": f"{entry()}{text}\n"})


def test_everybody_knows_whose_a_claim_is():
    with pytest.raises(ParameterError, match="`whose` must be one of paper, library, check"):
        parse_claims({"fake": entry(whose="nobody") + 'kind = "equal"\n'})


def test_ids_are_unique():
    one = entry() + 'kind = "equal"\n'
    with pytest.raises(ParameterError, match="duplicates"):
        parse_claims({"fake": one, "other": one})


def entry(**changes):
    parts = {name: value for name, value in (CASE | changes).items() if name != "experiment"}
    lines = "\n".join(f'{name} = "{value}"' for name, value in parts.items())
    return f"[[claim]]\n{lines}\ntarget = 1\n"


def test_intervals_need_one():
    with pytest.raises(ParameterError, match="needs an interval"):
        evaluate_claim(
            Claim(**CASE, kind="contains", target=1.0),
            make(
                measures={
                    "value": lambda results: get_experiment("rho-gamma").measures["lowest"](
                        rho(), q=200
                    )
                }
            ),
            results(),
            quick=False,
        )


def rho():
    experiment = get_experiment("rho-gamma")
    job = Job(
        experiment="rho-gamma",
        curve="corrected q=200",
        settings={"d": 100, "k_max": 40, "q": 200, "version": "corrected"},
        seed=0,
    )
    table = experiment.run(job.settings, 0)
    return Results([Curve(job=job, table=table, seconds=0.0)])


def measured(name, measure, curves, **arguments):
    """Measure on curves written by hand: a list of tables, one per seed, for each curve."""
    made = [
        Curve(
            job=Job(experiment=name, curve=curve, settings={}, seed=seed),
            table={column: np.array(values, dtype=float) for column, values in table.items()},
            seconds=0.0,
        )
        for curve, tables in curves.items()
        for seed, table in enumerate(tables)
    ]
    return get_experiment(name).measures[measure](Results(made), **arguments)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("band", "4 ± 0.5"),
        ("at most", "≤ 4"),
        ("at least", "≥ 4"),
        ("contains", "interval contains 4"),
        ("excludes", "interval excludes 4"),
        ("equal", "4"),
    ],
)
def test_targets_in_words(kind, words):
    claim = Claim(**CASE, kind=kind, target=4.0, tolerance=0.5, quick_tolerance=2.0)
    assert claim.format_target(quick=False) == words
    assert claim.format_target(quick=True) == words.replace("0.5", "2")


def test_a_band_has_two_sides_and_is_absolute():
    assert verdict("band", 4.2, tolerance=0.1).verdict is Verdict.FAILS
    assert verdict("band", 3.8, tolerance=0.1).verdict is Verdict.FAILS
    assert verdict("band", 4.2, tolerance=0.21).verdict is Verdict.HOLDS


def test_an_interval_ends_at_the_extreme_seeds():
    assert verdict("contains", 2.9).verdict is Verdict.FAILS
    assert verdict("contains", 3.0).verdict is Verdict.HOLDS
    assert verdict("contains", 5.0).verdict is Verdict.HOLDS
    assert verdict("contains", 5.1).verdict is Verdict.FAILS


def test_a_known_reason_explains_no_lower_values_either():
    too_high = KnownDeviation(reason="because", low=4.5, high=8.0)
    assert verdict("band", 9.0, known_deviation=too_high).verdict is Verdict.FAILS
    assert (
        verdict("equal", 9.0, known_deviation=KnownDeviation(reason="r", value=3.0)).verdict
        == "fails"
    )


def assets(*, f=None, **columns):
    """Return straight curves of the asset task: from twice a value to that value."""
    given = {
        "directions": [0, 90_000],
        "queries": [0, 100_000],
        "f": None if f is None else [2 * f, f],
    }
    return [{name: column for name, column in (given | columns).items() if column is not None}]


def test_asset_curves_are_compared_with_the_paper_at_its_own_count():
    """Half way by directions, f is 1.5e-3; the paper has 2.70e-4 at 10,000."""
    curves = {"port5 stated szoht": assets(f=1e-3, best_f=[2e-3, 0], directions=[0, 20_000])}
    point = {"portfolio": "port5", "tuning": "stated", "place": 10_000}
    assert measured("assets", "relative", curves, **point).value == pytest.approx(1.5e-3 / 2.7e-4)
    lowest = measured("assets", "relative", curves, column="best_f", **point)
    assert lowest.value == pytest.approx(1e-3 / 2.7e-4)


def test_what_the_paper_does_not_state_is_said():
    with pytest.raises(NotRunError, match="states neither radius nor step for port3"):
        measured("assets", "relative", {}, portfolio="port3", tuning="stated", place=20_000)


def test_runs_are_told_apart_by_their_largest_step():
    """One slow run, one mild, two thrown out; sum x changes its sign in two."""
    kinds = [(1.1, 0), (2.0, 3), (5.0, 0), (700.0, 1)]
    ends = [assets(f=0.1, growth=[1, by], sign_changes=[0, n])[0] for by, n in kinds]
    curves = {"port4 stated szoht": ends}
    counted = measured("assets", "large_steps", curves, portfolio="port4")
    assert counted.value == 2
    assert counted.text == (
        "of 4 runs 1 are slow, 2 are thrown out by one large step (|x| x 5 to 700), 1 by a milder "
        "one; sum x changes its sign in 2"
    )
    last = measured("assets", "unlike_drawn", curves, portfolio="port4", place=19_500)
    assert last.value == pytest.approx((0.2 - 0.1 * 19.5 / 90) / 0.0335)
    assert counted.text in last.text


@pytest.mark.parametrize(("portfolio", "lowest"), [("port4", 0.0542), ("port5", 2.42e-4)])
def test_szoht_as_stated_is_held_against_the_lowest_drawn_for_the_others(portfolio, lowest):
    """On port4 ZSCG's first point, at 50,000; on port5 RSPGF's at 19,500."""
    curves = {f"{portfolio} stated szoht": assets(f=1e-3, directions=[0, 19_500])}
    ratio = measured("assets", "against_drawn", curves, portfolio=portfolio, place=19_500)
    assert ratio.value == pytest.approx(1e-3 / lowest)


def test_two_methods_are_compared_at_the_same_queries():
    """Half way f is 1.5 times its end."""
    curves = {
        f"{name} tuned {method}": assets(f=f, directions=[0, 10])
        for name, ends in {"port3": (1.0, 2.0), "port4": (2.0, 1.0), "port5": (1.0, 1.1)}.items()
        for method, f in zip(("szoht", "zoro"), ends, strict=True)
    }
    lower = measured("assets", "lower", curves, first="szoht", second="zoro", place=50_000)
    assert lower.value == ["port3", "port5"]
    assert "port4: SZOHT 3 [3, 3], ZORO 1.5 [1.5, 1.5]" in lower.text


@pytest.mark.parametrize("worse", [None, "port3", "port4", "port5"])
def test_the_lowest_must_be_so_in_every_figure(worse):
    curves = {
        f"{name} tuned {method}": assets(f=1.0 if method == "szoht" and name != worse else 1.2)
        for name in portfolio_runs.PORTFOLIOS
        for method in PAPER_METHODS
    }
    curves[f"{worse or 'port3'} tuned zoro"] = assets(f=1.1)
    lowest = measured("assets", "lowest", curves, place=80_000)
    assert lowest.value is (worse is None)
    curves |= {f"{name} auto": assets(f=0.6) for name in portfolio_runs.PORTFOLIOS}
    ratio = measured("assets", "over_tuned", curves, place=80_000)
    assert ratio.value == pytest.approx(0.6)


def test_assets_are_counted_at_the_end():
    curves = {
        f"port5 tuned {method}": assets(l0=[225, 10] if method == "szoht" else [1, 11])
        for method in PAPER_METHODS
    }
    assert measured("assets", "sparse", curves).value == ["szoht"]


def test_gaps_are_taken_at_the_end_and_in_percent():
    ends = (0.0, 0.00005, 0.03)
    curves = {"port2 auto": [assets(gap=[9.0, gap])[0] for gap in ends]}
    gap = measured("assets", "gap", curves, portfolio="port2")
    assert (gap.value, gap.high) == pytest.approx((0.005, 3.0))
    assert "2 of 3 runs reach it (best known: " in gap.text
    curves["port3 tuned szoht"] = assets(gap=[-5.0, -0.01])
    assert measured("assets", "least_gap", curves).value == pytest.approx(-1.0)


def dimension(crossings, support="all"):
    """Return curves whose f falls to 0.1 between two rows: by a factor 4, and then 2."""
    return {
        f"{support} d={d}": [
            {"directions": [0, 0.8 * n, 1.1 * n], "f": [1.0, 0.4, 0.05]} for n in of_seeds
        ]
        for d, of_seeds in crossings.items()
    }


def test_queries_to_the_target_over_dimensions():
    curves = dimension({5000: [300.0, 310.0, 320.0], 50_000: [600.0, 620.0, 640.0]})
    assert measured("dimension", "spread", curves, support="all").value == pytest.approx(2.0)
    late = {"all d=5000": [{"directions": [0, 9], "f": [1.0, 0.2]}]}
    with pytest.raises(NotRunError, match="ends before f"):
        measured("dimension", "spread", late, support="all")
    with pytest.raises(NotRunError, match="two dimensions"):
        measured("dimension", "spread", dimension({5000: [300.0]}), support="all")


def test_the_slope_has_its_interval_of_95_per_cent():
    crossings = {5000: [300.0, 340.0], 10_000: [310.0, 365.0], 50_000: [400.0, 390.0]}
    d = np.repeat(list(crossings), 2).astype(float)
    n = np.concatenate(list(crossings.values()))
    design = np.column_stack([np.ones(6), d])
    fit, (left,), *_ = np.linalg.lstsq(design, n)
    error = np.sqrt(left / 4 * np.linalg.inv(design.T @ design)[1, 1])
    half = stats.t.isf(0.025, 4) * error
    slope = measured("dimension", "slope", dimension(crossings), support="all")
    assert slope.value == pytest.approx(fit[1])
    assert (slope.low, slope.high) == pytest.approx((fit[1] - half, fit[1] + half))


def test_a_relative_slope_of_one_is_proportional_to_the_dimension():
    proportional = {d: [0.02 * d, 0.02 * d] for d in (5000, 10_000, 50_000)}
    for crossings, expected in ((proportional, 1.0), (dict.fromkeys(proportional, [7.0] * 2), 0.0)):
        one = measured("dimension", "relative_slope", dimension(crossings), support="all")
        assert one.value == pytest.approx(expected, abs=1e-9)


def test_the_slope_predicted_is_that_of_the_directions_asked_for():
    """Ten iterations each, of as many directions as the jobs have."""
    jobs = get_experiment("dimension").jobs(Scale())
    q = {job.settings["d"]: job.settings["q"] for job in jobs if job.curve.startswith("50 ")}
    curves = dimension({d: [10.0 * each] for d, each in q.items()}, support="50")
    one = measured("dimension", "predicted_slope", curves, support="50")
    assert one.value == pytest.approx(1.0, abs=1e-3)


def test_full_supports_have_the_directions_of_the_corollary():
    """q = 2 (2 k + k* + 2), which is the same in every dimension."""
    jobs = get_experiment("dimension").jobs(Scale())
    assert {job.settings["q"] for job in jobs if job.curve.startswith("all ")} == {2014}


def test_a_point_of_the_dimension_curves_is_the_nearest_iterate():
    curves = {"all d=5000": [{"directions": [0, 100, 200], "f": [1.0, 0.5, 0.2]}]}
    settings = {"support": "all", "d": 5000}
    assert measured("dimension", "at", curves, place=140, **settings).value == 0.5
    assert measured("dimension", "at", curves, place=160, **settings).value == 0.2
    with pytest.raises(NotRunError, match="ends before"):
        measured("dimension", "at", curves, place=300, **settings)


def test_sensitivity_orders_and_sorts_the_numbers_of_directions():
    q = (1, 20, 200, 500, 2500, 5000)
    ends = dict(zip(q, (3.0, 2.0, 0.5, 0.4, 0.2, 0.3), strict=True))
    curves = {
        f"plotted q={each}": [{"directions": [0, 100], "f": [1.0, end]}]
        for each, end in ends.items()
    }
    order = measured("sensitivity", "order", curves, place=100)
    assert order.value == [1, 20, 200, 500, 5000, 2500]
    rising = measured("sensitivity", "change", curves, objective="plotted", column="f")
    assert rising.value == [1, 20]


def test_less_descent_looks_at_the_lowest_value_on_the_way():
    q = (1, 20, 200, 500, 2500, 5000)
    lowest = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
    curves = {
        f"plotted q={each}": [{"directions": [0, 50, 100], "f": [1.0, low, 0.9]}]
        for each, low in zip(q, lowest, strict=True)
    }
    assert measured("sensitivity", "less_descent", curves, place=100).value
    with pytest.raises(NotRunError, match="ends before"):
        measured("sensitivity", "less_descent", curves, place=101)
    curves["plotted q=1"][0]["f"] = [1.0, 0.45, 0.9]
    assert not measured("sensitivity", "less_descent", curves, place=100).value


@pytest.mark.parametrize("name", ["sensitivity-outside", "dimension-start-printed"])
def test_claims_about_closed_forms_need_no_run(name):
    (claim,) = (claim for claim in read_claims() if claim.id == name)
    assert (
        evaluate_claim(claim, get_experiment(claim.experiment), Results([]), quick=False).verdict
        == "differs"
    )


def conflict(**columns):
    """Return the curves of all q with two seeds each; a column is given for each q."""
    return {
        f"q={q}": [
            {"k": [10, 40, 160]} | {name: values[i] for name, values in columns.items()}
            for _ in range(2)
        ]
        for i, q in enumerate((20, 50, 100, 200))
    }


def test_the_product_passes_one_on_a_logarithmic_scale_of_k():
    curves = conflict(product=[[1.2, 0.9, 1.3]] * 4, product_exact=[[0.9, 1.3, 1.4]] * 4)
    crossing = measured("conflict", "crossing", curves, q=50)
    assert crossing.value == pytest.approx(40 * 4**0.25)
    assert measured("conflict", "predicted", curves, q=50).value == pytest.approx(4.0)
    assert measured("conflict", "smallest_product", curves, q=50).value == 0.9
    with pytest.raises(NotRunError, match="does not pass 1"):
        measured("conflict", "crossing", conflict(product=[[1.2, 1.1, 0.9]] * 4), q=50)


def test_a_step_chooses_where_its_error_counts():
    """On all that it keeps, has and wants: three of four coordinates, with errors 2, 2 and 10."""
    steps = sys.modules[get_experiment("conflict").run.__module__]._steps
    x, target = np.eye(4)[:2]
    ratio, error = steps(x, target, np.array([[3.0, 1.0, 10.0, 0.5]]), 1, 1.0)
    assert error == pytest.approx(2**2 + 2**2 + 10**2)
    assert ratio == pytest.approx(np.sqrt((1 + 10**2) / 2))


def test_the_error_must_fall_with_q_at_every_k():
    falls = [[4, 5, 6], [3, 4, 5], [2, 3, 4], [1, 2, 3]]
    assert measured("conflict", "falls_with_q", conflict(error=falls)).value
    falls[3] = [1, 2, 4.5]
    assert not measured("conflict", "falls_with_q", conflict(error=falls)).value


def test_a_column_must_rise_in_every_curve():
    rises = [[4, 5, 6], [3, 4, 5], [2, 3, 4], [1, 2, 3]]
    settings = {"column": "error", "rising": True}
    assert measured("conflict", "monotone", conflict(error=rises), **settings).value
    rises[3] = [1, 3, 2]
    assert not measured("conflict", "monotone", conflict(error=rises), **settings).value


def test_extremes_are_taken_over_all_curves():
    gamma = [[1.2, 1.1, 1.05], [1.2, 1.1, 1.02], [1.3, 1.1, 1.05], [1.2, 1.1, 1.05]]
    bound = [[1.25, 1.1, 1.05]] * 4
    curves = conflict(gamma=gamma, gamma_bound=bound)
    assert measured("conflict", "lemma", curves).value == pytest.approx(1.3 / 1.25)
    assert measured("conflict", "tight", curves).value == pytest.approx(1.2 / 1.25)
    assert measured("conflict", "least_expansion", curves).value == pytest.approx(1.02)
    chosen = conflict(error_chosen=[[2, 6, 4]] * 4, error_exact=[[1, 2, 4]] * 4)
    assert measured("conflict", "chosen", chosen).value == pytest.approx(3.0)


def test_projections_are_measured_with_the_most_directions():
    curves = {"estimates": [{"directions": [1, 100], "error": [9, 6], "error_on_f": [8, 2]}]}
    assert measured("projection", "last", curves, column="error").value == 6
    ratio = measured("projection", "ratio", curves, upper="error", lower="error_on_f")
    assert ratio.value == 3


def test_errors_are_relative_to_the_gradient_that_they_belong_to():
    """The gradient is 13 long, its projection 5."""
    table = get_experiment("projection").run({"gradient": [3.0, 4.0, 12.0], "counts": [10, 100]}, 0)
    assert table["relative_error"] == pytest.approx(table["error"] / 13)
    assert table["relative_error_on_f"] == pytest.approx(table["error_on_f"] / 5)


def test_over_seeds_the_median_is_taken_and_the_range_shown():
    curves = {"estimates": [{"error": [9, last]} for last in (5, 1, 2, 9, 3)]}
    one = measured("projection", "last", curves, column="error")
    assert (one.value, one.low, one.high) == (3, 1, 9)
    assert one.text == "3 (1 to 9, 5 seeds)"
