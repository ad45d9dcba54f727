"""``szoht portfolio``, and the files that it reads."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from szoht import minimize
from szoht.cli.app import app
from szoht.errors import DataError, DataWarning, ParameterError
from szoht.problems import read_prices, read_returns

D, T = 6, 120
NAMES = [f"asset {letter}" for letter in "ABCDEF"]


def returns():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((T, 1)) @ rng.uniform(0.5, 1.5, (1, D))
    return 0.01 * (0.5 * common + rng.standard_normal((T, D)) * rng.uniform(0.5, 1.5, D)) + 5e-4


def write(path, table, names=NAMES):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["date", *names])
        writer.writerows([f"day {t}", *map(repr, row)] for t, row in enumerate(table.tolist()))
    return path


@pytest.fixture
def prices(tmp_path):
    growth = np.vstack([np.ones(D), 1 + returns()])
    return write(tmp_path / "prices.csv", 100 * np.cumprod(growth, axis=0))


def run(*arguments):
    return CliRunner().invoke(app, ["portfolio", *map(str, arguments)])


def test_prices_become_returns(prices, tmp_path):
    assets = read_prices(prices)
    assert assets.names == tuple(NAMES)
    assert np.allclose(assets.returns, returns(), atol=1e-12)
    same = read_returns(write(tmp_path / "returns.csv", returns()))
    assert np.allclose(same.covariance, assets.covariance, rtol=1e-9)


def test_weights_risk_return_and_frontier(prices, tmp_path):
    out = tmp_path / "out"
    done = run(prices, "-k", 3, "--long-only", "--out", out, "--budget", 500)
    assert done.exit_code == 0, done.output
    for word in ("asset", "volatility", "per year", "return", "Sharpe"):
        assert word in done.output
    assert (out / "frontier.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((out / "weights.csv").read_text().splitlines()))
    weights = np.array([float(row["weight"]) for row in rows])
    assert 1 <= len(rows) <= 3
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()


def test_json_is_annualised_as_stated(prices):
    done = run(prices, "-k", 2, "--json", "--periods", 12, "--budget", 500)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    w = np.array([report["weights"].get(name, 0.0) for name in NAMES])
    assert np.count_nonzero(w) == 2
    sample = returns() @ w
    volatility = sample.std(ddof=1)
    assert report["risk_per_period"] == pytest.approx(volatility, rel=1e-9)
    assert report["risk"] == pytest.approx(volatility * np.sqrt(12), rel=1e-9)
    assert report["return"] == pytest.approx(12 * sample.mean(), rel=1e-9)
    assert report["sharpe"] == pytest.approx(report["return"] / report["risk"], rel=1e-9)
    risks = [point["risk"] for point in report["risk_against_k"]]
    assert [point["k"] for point in report["risk_against_k"]] == [1, 2, 3, 4, 5, 6][: len(risks)]
    assert risks == sorted(risks, reverse=True)
    frontier = report["risk_against_return"]
    assert len(frontier) == 9
    assert frontier[0]["risk"] <= frontier[-1]["risk"]


@pytest.mark.parametrize("objective", ["mean_variance", "cvar", "tracking_error", "paper"])
def test_every_objective(prices, objective):
    options = ("--no-frontier", "--json", "--risk-aversion", 50, "--budget", 1000)
    done = run(prices, "-k", 2, "--objective", objective, *options)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert sum(report["weights"].values()) == pytest.approx(1)
    assert len(report["weights"]) <= 2


def test_a_column_can_be_tracked(prices):
    options = ("--objective", "tracking_error", "--benchmark", "asset A", "--no-frontier", "--json")
    done = run(prices, "-k", 5, *options, "--budget", 1000)
    assert done.exit_code == 0, done.output
    assert "asset A" not in json.loads(done.stdout)["weights"]


def test_the_same_seed_gives_the_same_portfolio(prices):
    options = ("-k", 2, "--no-frontier", "--json", "--seed", 3, "--budget", 500)
    assert run(prices, *options).stdout == run(prices, *options).stdout


def test_files_as_spreadsheets_write_them(tmp_path):
    """A mark of the byte order, blank lines, and spaces around names and numbers."""
    file = tmp_path / "table.csv"
    file.write_text("\ufeffdate, A ,B\n\n1, 2 ,4\n,,\n2,3,4.5\n3,6,3\n", encoding="utf-8")
    assets = read_prices(file)
    assert assets.names == ("A", "B")
    assert np.allclose(assets.returns, [[0.5, 0.125], [1.0, -1 / 3]])
    file.write_text('\ufeff"A, quoted",B,C\n1,2,3\n2,3,5\n', encoding="utf-8")
    assert read_returns(file).names == ("B", "C")


DATES = ["2024-01-31", "2024-02-29", "2024-03-28", "2024-04-30"]


def dated(path, dates, values=(1, 2, 3, 5), separator=","):
    """Write prices of two assets, one of which falls while the other rises."""
    rows = [[date, str(value), str(30 - value)] for date, value in zip(dates, values, strict=True)]
    path.write_text("\n".join(separator.join(row) for row in [["date", "A", "B"], *rows]))
    return path


@pytest.mark.parametrize(
    "dates",
    [
        DATES,
        ["31.01.2024", "29.02.2024", "28.03.2024", "30.04.2024"],
        ["1/31/24", "2/29/24", "3/28/24", "4/30/24"],
        ["31-Jan-2024", "29-Feb-2024", "28-Mar-2024", "30-Apr-2024"],
        ["2024-01-31 09:00:00+01:00", "2024-02-29 09:00:00+01:00", "2024-03-28", "2024-04-30"],
        ["01/02/2024", "01/03/2024", "01/04/2024", "01/05/2024"],
        ["Jan 2024", "Feb 2024", "Mar 2024", "Apr 2024"],
        ["7", "8", "9", "10"],
    ],
)
@pytest.mark.parametrize("order", [(3, 2, 1, 0), (2, 0, 3, 1)])
def test_rows_are_sorted_by_date_and_that_is_said(tmp_path, dates, order):
    ascending = read_prices(dated(tmp_path / "up.csv", dates))
    values = np.array([1, 2, 3, 5])[list(order)]
    file = dated(tmp_path / "other.csv", [dates[i] for i in order], values)
    with pytest.warns(DataWarning, match=r"other\.csv: the rows are .*; they were sorted") as noted:
        other = read_prices(file)
    assert ("newest first" in str(noted[0].message)) == (order == (3, 2, 1, 0))
    assert np.array_equal(other.returns, ascending.returns)
    assert (ascending.returns[:, 0] > 0).all()


def test_a_note_on_standard_error_says_that_rows_were_sorted(tmp_path):
    file = dated(tmp_path / "down.csv", DATES[::-1], (5, 3, 2, 1))
    done = run(file, "-k", 1, "--json", "--no-frontier", "--budget", 50)
    assert done.exit_code == 0, done.output
    assert "newest first; they were sorted" in done.stderr
    json.loads(done.stdout)


def test_labels_that_are_no_dates_keep_the_order_of_the_file(tmp_path):
    assets = read_prices(dated(tmp_path / "labels.csv", ["week z", "week y", "week x", "week x"]))
    assert (assets.returns[:, 0] > 0).all()


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        ([*DATES[:3], DATES[1]], "line 5: the date '2024-02-29' is also that of"),
        (["2024-01-31", "2024-02-29", "2024-03-28", "Total"], "line 5: 'Total' is not a date"),
        (["start", *DATES[1:]], "line 2: 'start' is not a date like the last"),
        (["01/02/2024", "02/01/2024", "03/03/2024", "04/04/2024"], "day/month or as month/day"),
    ],
)
def test_dates_that_make_no_order_are_refused(tmp_path, dates, message):
    with pytest.raises(DataError) as caught:
        read_prices(dated(tmp_path / "odd.csv", dates))
    assert message in str(caught.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path, separator):
    plain = read_prices(dated(tmp_path / "a.csv", DATES))
    assert np.array_equal(
        read_prices(dated(tmp_path / "b.csv", DATES, separator=separator)).returns, plain.returns
    )


def test_a_decimal_comma_comes_with_semicolons(tmp_path):
    plain = read_prices(dated(tmp_path / "a.csv", DATES, (1, 1.5, 2, 2.5)))
    text = dated(tmp_path / "b.csv", DATES, (1, 1.5, 2, 2.5), ";").read_text().replace(".", ",")
    (tmp_path / "b.csv").write_text(text)
    assert np.array_equal(read_prices(tmp_path / "b.csv").returns, plain.returns)


def test_names_may_contain_anything(tmp_path):
    names = ['A "class" fund, Ltd', "[/x]", "\x1b[31mred", "D", "E", "F"]
    file = write(tmp_path / "returns.csv", returns(), names)
    done = run(
        file, "--returns", "-k", 6, "--no-frontier", "--budget", 500, "--out", tmp_path / "out"
    )
    assert done.exit_code == 0, done.output
    assert "[/x]" in done.output
    assert r"\x1b[31mred" in done.output
    rows = list(csv.reader((tmp_path / "out" / "weights.csv").read_text().splitlines()))
    assert rows[0] == ["asset", "weight"]
    assert sorted(name for name, _ in rows[1:]) == sorted(names)
    assert sum(float(weight) for _, weight in rows[1:]) == pytest.approx(1)


def test_all_queries_are_counted_and_the_budget_is_that_of_the_command(prices, monkeypatch):
    spent = []

    def counting(*arguments, **settings):
        result = minimize(*arguments, **settings)
        spent.append(result.nfev)
        return result

    monkeypatch.setattr("szoht.applications.portfolio.frontier.minimize", counting)
    done = run(prices, "-k", 2, "--json", "--budget", 3000)
    report = json.loads(done.stdout)
    assert report["total_queries"] == sum(spent) <= 3000
    del spent[:]
    shown = run(prices, "-k", 2, "--no-frontier", "--budget", 300, "--out", prices.parent / "out")
    assert len(spent) == 3
    assert max(spent) <= 100
    assert f"{sum(spent):,} queries for this portfolio" in shown.output


def test_a_budget_must_pay_for_a_query_of_each_run(prices):
    done = run(prices, "-k", 2, "--json", "--budget", 5)
    assert done.exit_code == 2
    assert "`budget` must be an integer in [27, inf); got budget=5" in done.output


GAPS = "date,A,B,C\n2024-01-04,4,5,7\n2024-01-03,,4,6\n2024-01-02,3,3.5,5\n2024-01-01,2,3,n/a\n"


@pytest.mark.parametrize(
    ("missing", "same", "told"),
    [
        (
            "drop-assets",
            "date,B\n1,3\n2,3.5\n3,4\n4,5\n",
            "assets that lack a number are left out, 2 of 3: A, C.",
        ),
        ("drop-days", None, "rows that lack a number are left out, 2 of 4."),
        (
            "forward-fill",
            "date,A,B\n1,2,3\n2,3,3.5\n3,3,4\n4,4,5\n",
            "assets that have no first price are left out, 1 of 3: C.",
        ),
    ],
)
def test_missing_values_need_a_choice(tmp_path, missing, same, told):
    file = tmp_path / "gaps.csv"
    file.write_text(GAPS)
    if same is None:
        with (
            pytest.warns(DataWarning, match="newest first"),
            pytest.warns(DataWarning, match=told),
            pytest.raises(DataError, match="at least 3 rows"),
        ):
            read_prices(file, missing=missing)
        return
    plain = tmp_path / "plain.csv"
    plain.write_text(same)
    with (
        pytest.warns(DataWarning, match="newest first"),
        pytest.warns(DataWarning, match=told),
    ):
        found = read_prices(file, missing=missing)
    assert found.names == read_prices(plain).names
    assert np.array_equal(found.returns, read_prices(plain).returns)
    left_out = tuple(name for name in "ABC" if name not in found.names)
    assert found.dropped == left_out
    solve = (file, "-k", 1, "--no-frontier", "--budget", 90, "--missing", missing)
    done = run(*solve, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["dropped"] == list(left_out)
    assert told in done.stderr
    done = run(*solve, "--out", tmp_path)
    assert f"left out, for lack of numbers: {', '.join(left_out)}" in done.stdout


def test_nothing_is_said_where_nothing_is_left_out(tmp_path):
    file = tmp_path / "whole.csv"
    file.write_text("date,A,B\n1,2,3\n2,3,3.5\n3,3,4\n4,4,5\n")
    for missing in ("drop-assets", "drop-days", "forward-fill"):
        assert read_prices(file, missing=missing).dropped == ()


@pytest.mark.parametrize(
    ("first", "step", "number", "source"),
    [
        ("2024-01-01", 1, 365, "daily dates, weekends among them"),
        ("2024-01-05", 7, 52, "weekly dates"),
        ("2024-01-31", 14, 365.25 / 14, "14 days between dates"),
    ],
)
def test_dates_say_how_many_periods_a_year_has(tmp_path, first, step, number, source):
    table = 100 * np.cumprod(1 + returns(), axis=0)
    days = np.datetime64(first) + step * np.arange(len(table))
    lines = [
        ",".join([str(day), *map(repr, row)]) for day, row in zip(days, table.tolist(), strict=True)
    ]
    file = tmp_path / "dated.csv"
    file.write_text("\n".join([",".join(["date", *NAMES]), *lines]))
    solve = (file, "-k", 2, "--no-frontier", "--budget", 90)
    report = json.loads(run(*solve, "--json").stdout)
    assert report["periods_per_year"] == number
    assert report["periods_from"] == source
    assert report["risk"] == pytest.approx(report["risk_per_period"] * np.sqrt(number))
    assert report["return"] == pytest.approx(report["return_per_period"] * number)
    shown = " ".join(run(*solve, "--out", tmp_path).output.split())
    assert f"{number:g} periods per year ({source})" in shown
    stated = json.loads(run(*solve, "--json", "--periods", 12).stdout)
    assert (stated["periods_per_year"], stated["periods_from"]) == (12, "--periods")


def test_without_dates_it_says_what_is_assumed(prices):
    solve = (prices, "-k", 2, "--no-frontier", "--budget", 90)
    report = json.loads(run(*solve, "--json").stdout)
    assert report["periods_per_year"] == 252
    assert report["periods_from"] == "assumed; --periods says otherwise"
    weekly = json.loads(run("port1", "-k", 2, "--no-frontier", "--budget", 90, "--json").stdout)
    assert (weekly["periods_per_year"], weekly["periods_from"]) == (52, "weekly prices")


def test_returns_are_not_carried_forward(tmp_path):
    file = tmp_path / "returns.csv"
    file.write_text("date,A,B\n1,0.1,0.2\n2,,0.1\n3,0.1,0.3\n4,0.2,0.1\n")
    with pytest.raises(ParameterError, match="drop-assets"):
        read_returns(file, missing="forward-fill")
    with pytest.warns(DataWarning, match="rows that lack a number are left out, 1 of 4"):
        assert len(read_returns(file, missing="drop-days").returns) == 3
    file.write_text("date,A,B\n1,0.1,\n2,,0.1\n3,0.1,0.3\n4,0.2,0.1\n")
    with pytest.raises(DataError, match="no asset is left"):
        read_returns(file, missing="drop-assets")


def test_a_bad_folder_is_named_before_anything_is_solved(prices, monkeypatch):
    monkeypatch.setattr("szoht.cli.portfolio._solve", lambda *_, **__: pytest.fail("too late"))
    done = run(prices, "-k", 2, "--out", prices / "folder")
    assert done.exit_code == 2
    assert "`out` must be in an existing folder" in " ".join(done.output.replace("│", " ").split())


BROKEN = [
    ("", "is empty"),
    ("date,A,B\n\n1,2,3\n\n2,x,4\n", "line 5, column 'A': 'x' is not a number"),
    ("date,A,B\n\n1,2,3\n\n2,-1,4\n3,4,5\n", "line 5: prices must be positive"),
    ("date\n1\n", "line 1: expected a column of dates and one per asset"),
    ("date,A,B\n1,2\n", "line 2: expected a label and 2 numbers; got a label and 1"),
    ("date,A,B\n1,2,3\n2,,4\n3,4,5\n", "line 3, column 'A': the value is missing"),
    ("date,A,B\n1,2,3\n2,nan,4\n3,4,5\n", "line 3, column 'A': the value is missing"),
    ("date,A,B\n1,2,3\n2,3,four\n", "line 3, column 'B': 'four' is not a number"),
    ("date,A,B\n1,2,3\n2,0,4\n3,4,5\n", "line 3: prices must be positive; that of 'A' is 0"),
    ("date,A,B\n1,2,3\n", "at least 2 rows"),
    ("date,A,B\n1,2,3\n2,3,4\n", "at least 3 rows of prices"),
    ("date,A,A\n1,2,3\n2,3,4\n3,4,7\n", "'A' occurs twice"),
    ("date,A,B\n1,2,3\n2,2,4\n3,2,7\n", "the asset 'A' are constant (0)"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_broken_files_are_named_with_line_and_column(tmp_path, text, message):
    file = tmp_path / "broken.csv"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_prices(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.csv",), "No such file"),
        (("-k", 7), "k=7 with assets=6"),
        (("-k", 0), "k=0"),
        (("--periods", 0), "`periods` must be"),
        (("-k", 2, "--level", 2, "--objective", "cvar"), "`level` must be"),
        (("--objective", "luck"), "luck"),
    ],
)
def test_misuse_is_told_without_a_traceback(prices, arguments, message):
    given = arguments if arguments[0].endswith(".csv") else (prices, *arguments)
    done = run(*given)
    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", " ").split())
