"""The OR-Library's files: facts about the real ones, and every way in which one can be broken."""

import hashlib

import numpy as np
import pytest
from scipy.optimize import minimize

from reference.orlib_files import ORLIB, integers, lines_of, market, needs_orlib
from szoht.errors import DataError, DataNotFoundError
from szoht.problems import data, load_frontier, load_market, orlib, portfolio, read_market
from szoht.problems.exact_weights import optimal_weights

SIZES = {"port1": 31, "port2": 85, "port3": 89, "port4": 98, "port5": 225}


@pytest.fixture
def offline(monkeypatch):
    """Leave nothing but the package: no folder of data, no cache, no download."""
    monkeypatch.delenv("SZOHT_DATA", raising=False)
    monkeypatch.setattr(data, "fetch", None)
    monkeypatch.setattr(data, "_download", None)


def test_the_packed_file_is_the_one_that_was_compared_with_the_originals():
    digest = hashlib.sha256(orlib.BUNDLED_FILE.read_bytes()).hexdigest()
    assert digest == "d90d68c0d024f666e1b40069b882006afddff690dd5623262e47a43028cf3503"
    assert "J E Beasley" in orlib.BUNDLED_FILE.with_suffix(".LICENSE").read_text()


@needs_orlib
def test_every_printed_digit_is_packed():
    expected = integers(ORLIB)
    with np.load(orlib.BUNDLED_FILE) as packed:
        assert set(packed) == set(expected)
        for name, numbers in expected.items():
            assert np.array_equal(packed[name], numbers), name


@needs_orlib
@pytest.mark.parametrize("name", SIZES)
def test_the_package_and_the_originals_give_the_same_bits(name, offline):
    packed, original = load_market(name), load_market(name, ORLIB)
    assert packed.names == original.names
    assert np.array_equal(packed.mean, original.mean)
    assert np.array_equal(packed.covariance, original.covariance)
    assert not packed.covariance.flags.writeable
    frontier = load_frontier(name)
    assert np.array_equal(frontier, load_frontier(name, ORLIB))
    assert not frontier.flags.writeable


def test_numbers_of_the_files_as_they_are_printed(offline):
    """The first and last of port1.txt and portef1.txt; they hold where the originals are not."""
    assets = load_market("port1")
    assert assets.mean[0] == 0.001309
    assert assets.deviation[0] == pytest.approx(0.043208, rel=1e-15)
    correlation = assets.covariance / np.outer(assets.deviation, assets.deviation)
    assert correlation[0, 1] == correlation[1, 0] == pytest.approx(0.562289, rel=1e-15)
    assert load_frontier("port1")[0].tolist() == [0.010865, 0.004775501]


def test_a_path_comes_before_the_variable_and_that_before_the_package(tmp_path, monkeypatch):
    for folder, n in (("path", 3), ("variable", 4)):
        (tmp_path / folder / "orlib").mkdir(parents=True)
        (tmp_path / folder / "orlib" / "port1.txt").write_text("\n".join(lines_of(*market(n))))
        (tmp_path / folder / "orlib" / "portef1.txt").write_text(".01 .02\n" * n)
    monkeypatch.setenv("SZOHT_DATA", str(tmp_path / "variable"))
    for path, n in ((tmp_path / "path", 3), (None, 4)):
        assert load_market("port1", path).mean.size == n
        assert len(load_frontier("port1", path)) == n
    assert load_market("port2").mean.size == SIZES["port2"]  # which the folder does not have
    with pytest.raises(DataNotFoundError, match="a folder without it"):
        load_market("port2", tmp_path / "path")


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_counts(name, size):
    assets = load_market(name)
    assert assets.mean.shape == (size,)
    assert assets.covariance.shape == (size, size)
    assert np.linalg.eigvalsh(assets.covariance)[0] > 0
    assert assets.returns is None
    assert load_frontier(name).shape == (2000, 2)


@pytest.mark.parametrize(
    ("name", "ones", "dense", "sparse"),
    [
        ("port3", 0.09490, 0.013855, 0.025208),
        ("port4", 0.09444, 0.013231, 0.029265),
        ("port5", 4.710e-4, 1.7775e-5, 1.0335e-4),
    ],
)
def test_known_values_of_the_papers_objective(name, ones, dense, sparse):
    """f(ones), the dense optimum, and ten assets at least as good as greedy growth and swaps."""
    problem = portfolio(name, form="raw")
    d = problem.dimension
    assert problem.objective.value(np.ones(d), None) == pytest.approx(ones, rel=2e-4)
    assert optimal_weights(problem.criterion, np.arange(d)[None])[0][0] == pytest.approx(
        dense, rel=1e-4
    )
    assert 0.97 * sparse < problem.best <= sparse * (1 + 1e-4)
    assert problem.objective.value(problem.best_x, None) == problem.best
    assert problem.best_support.size == 10


def test_the_best_portfolio_known_is_given_in_either_form():
    """In the convex form at the length where F is least, which lies along the same ray."""
    raw, convex = (portfolio("port5", form=form) for form in ("raw", "convex"))
    f = convex.objective
    assert f.value(convex.best_x, None) == convex.best
    assert convex.weights(convex.best_x) == pytest.approx(raw.best_x)
    assert all(f.value(t * convex.best_x, None) > convex.best for t in (0.99, 1.01))
    assert convex.settings == {}
    assert raw.settings["step_size"] == 1.0


@pytest.mark.parametrize(
    "other",
    [
        {"shrinkage": 0.1},
        {"long_only": True},
        {"target_return": 0.2},
        {"return_weight": 1.0},
        {"objective": "minimum_variance"},
        {"k": 7},
    ],
    ids=str,
)
def test_the_best_portfolio_of_another_problem_is_not_known(other):
    assert portfolio("port5").best is not None
    assert portfolio("port5", **other).best is None


@pytest.mark.parametrize("name", ["port1", "port2"])
def test_long_only_minimum_variance_is_where_the_frontier_ends(name):
    """An independent program, on the same numbers, against the last line of portef."""
    assets = load_market(name)
    d = assets.mean.size
    found = minimize(
        lambda w: 1e3 * w @ assets.covariance @ w,
        np.full(d, 1 / d),
        jac=lambda w: 2e3 * assets.covariance @ w,
        bounds=[(0, None)] * d,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.fun / 1e3 == pytest.approx(load_frontier(name)[-1, 1], abs=1e-9)


def test_reads_what_was_written(tmp_path):
    mean, deviation, correlation = market()
    file = tmp_path / "small.txt"
    file.write_text("\n".join(lines_of(mean, deviation, correlation)))  # no final newline
    assets = read_market(file)
    assert np.array_equal(assets.mean, mean)
    assert np.allclose(assets.covariance, correlation * np.outer(deviation, deviation), rtol=1e-12)
    assert np.allclose(assets.deviation, deviation)
    assert not assets.covariance.flags.writeable


def test_blank_lines_count_but_do_not_matter(tmp_path):
    lines = lines_of(*market())
    file = tmp_path / "blank.txt"
    file.write_text("\n\n".join(lines))
    assert np.array_equal(read_market(file).mean, market()[0])
    file.write_text("\n\n".join([*lines[:3], "oops", *lines[4:]]))
    with pytest.raises(DataError, match="line 7: expected `mean deviation`"):
        read_market(file)


def test_correlations_may_be_impossible_by_as_much_as_they_were_rounded(tmp_path):
    """Of three assets that move as one, two pairs are written with six digits."""
    correlation = np.array([[1.0, 1.0, 0.999999], [1.0, 1.0, 1.0], [0.999999, 1.0, 1.0]])
    assert np.linalg.eigvalsh(correlation)[0] < 0
    file = tmp_path / "rounded.txt"
    file.write_text("\n".join(lines_of(np.full(3, 0.001), np.full(3, 0.02), correlation)))
    assert read_market(file).covariance == pytest.approx(4e-4 * correlation)


# line number, what stands there instead, what the message says
BROKEN = [
    (1, "four", "line 1: expected `number of assets`; got 'four'"),
    (1, "2.5", "line 1: the number of assets must be an integer >= 1"),
    (1, "0", "line 1: the number of assets must be an integer >= 1"),
    (3, "0.001", "line 3: expected `mean deviation`; got '0.001'"),
    (3, "0.001 0.02 7", "line 3: expected `mean deviation`"),
    (4, "0.001 nan", "line 4: expected `mean deviation`"),
    (4, "0.001 -0.02", "line 4: the standard deviation of asset 3 must be positive"),
    (7, "1 2 x", "line 7: expected `i j correlation`"),
    (7, "1 5 0.1", "line 7: expected integers 1 <= i <= j <= 4"),
    (7, "2 1 0.1", "line 7: expected integers 1 <= i <= j <= 4"),
    (7, "1 2 1.5", "line 7: the correlation of assets 1 and 2 must be in [-1, 1]; got 1.5"),
    (10, "2 2 0.9", "line 10: the correlation of assets 2 and 2 must be 1; got 0.9"),
    (9, "1 2 0.1", "line 9: the correlation of assets 1 and 2 is already on line 7"),
]


@pytest.mark.parametrize(("line", "text", "message"), BROKEN)
def test_a_malformed_line_is_named(tmp_path, line, text, message):
    lines = lines_of(*market())
    lines[line - 1] = text
    file = tmp_path / "broken.txt"
    file.write_text("\n".join(lines))
    with pytest.raises(DataError) as caught:
        read_market(file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (0, "is empty"),
        (3, "ends at line 3, before asset 3 of 4"),
        (12, "ends at line 12, before correlation 8 of 10"),
    ],
)
def test_a_truncated_file_is_named_with_its_last_line(tmp_path, kept, message):
    file = tmp_path / "truncated.txt"
    file.write_text("\n".join(lines_of(*market())[:kept]))
    with pytest.raises(DataError, match=message):
        read_market(file)


def test_lines_too_many(tmp_path):
    file = tmp_path / "long.txt"
    file.write_text("\n".join([*lines_of(*market()), "1 1 1"]))
    with pytest.raises(DataError, match="line 16: expected the end of the file"):
        read_market(file)


@pytest.mark.parametrize("pair", [(0, 1), (2, 5), (4, 7)])
def test_impossible_correlations_are_named_with_the_line_that_breaks_them(tmp_path, pair):
    n = 8
    correlation = np.full((n, n), 0.8)
    np.fill_diagonal(correlation, 1.0)
    correlation[pair] = correlation[pair[::-1]] = -0.9
    file = tmp_path / "impossible.txt"
    lines = lines_of(np.full(n, 0.001), np.full(n, 0.02), correlation)
    file.write_text("\n".join(lines))
    line = 1 + next(i for i, text in enumerate(lines) if text.endswith("-0.900000"))
    with pytest.raises(DataError, match=f"line {line}: the correlations are not positive semi"):
        read_market(file)


def test_a_pair_that_may_well_be_opposed_is_not_blamed(tmp_path):
    """Assets 1 and 2 move against each other; it is 3, 4 and 5 that cannot be."""
    correlation = np.eye(5)
    for i, j, value in ((0, 1, -0.95), (2, 3, 0.9), (3, 4, 0.9), (2, 4, -0.5)):
        correlation[i, j] = correlation[j, i] = value
    file = tmp_path / "impossible.txt"
    file.write_text("\n".join(lines_of(np.full(5, 0.001), np.full(5, 0.02), correlation)))
    with pytest.raises(DataError, match=r"that of assets [345] and [345]"):
        read_market(file)


def test_bytes_that_are_no_text(tmp_path):
    file = tmp_path / "binary.txt"
    file.write_bytes(bytes(range(256)))
    with pytest.raises(DataError, match="is not UTF-8"):
        read_market(file)
