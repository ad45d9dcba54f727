"""Table 1, and the numbers behind its last two rows."""

import dataclasses
import math

import pytest

import szoht.algorithms
from szoht.theory import complexity_table, query_complexity, smooth_query_complexity, sufficient_k

CASE = {"k": 1560, "k_star": 5, "kappa": 1.0, "distance": 10.0, "accuracy": 0.01}


def test_the_rows_in_the_order_of_the_paper():
    table = complexity_table()
    assert [row.method for row in table] == ["StoIHT", "RSPGF", "ZSCG", "ZORO", "SZOHT", "SZOHT"]
    assert len(table) == 6
    assert {row.kind for row in table} == {"FO/l0", "ZO/l1", "ZO/l0"}
    assert [bool(row.thresholdings) for row in table] == [row.kind[3:] == "l0" for row in table]


def test_each_row_names_a_method_of_the_library_and_says_what_it_measures():
    for row in complexity_table():
        assert callable(getattr(szoht.algorithms, row.algorithm))
        assert row.assumptions
        assert row.precision
    assert len({row.precision for row in complexity_table()}) == 4


def test_the_rows_are_not_to_be_ranked():
    text = str(complexity_table())
    assert "not to be ranked" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80


def test_rows_are_records():
    with pytest.raises(dataclasses.FrozenInstanceError):
        complexity_table().rows[0].method = "other"


def test_the_last_rows_are_counted_by_the_corollaries():
    *_, restricted, smooth = complexity_table()
    steps = {name: CASE[name] for name in ("kappa", "distance", "accuracy")}
    iterations = restricted.count_iterations(**steps)
    assert iterations == math.ceil(104 * math.log(1000))
    s = 2 * 1560 + 5
    assert smooth.count_queries(**CASE) == (2 * (s + 2) + 1) * iterations
    found = restricted.count_queries(**CASE, d=50_000, support_size=50)
    assert found == (2 * s + 6000 + 1) * iterations


@pytest.mark.parametrize("version", ["corrected", "paper"])
def test_full_supports_need_no_dimension(version):
    k = sufficient_k(k_star=5, kappa=1.2)
    case = CASE | {"k": k, "kappa": 1.2, "version": version}
    expected = smooth_query_complexity(**case)
    for d in (20_000, 10**6):
        assert query_complexity(d=d, support_size=d, **case) == expected
