import numpy as np

from szoht.core.random import Key
from szoht.estimators.sensing import (
    BalancedRows,
    Measurements,
    PermutedRows,
    RowSlice,
    group_pursuit,
    matching_pursuit,
)


def measured(rows, gradient, count, common=0.0):
    slopes = rows.block(0, count) @ gradient + common
    return Measurements(((RowSlice(rows=rows, start=0, count=count), slopes),))


def test_group_pursuit_finds_unequal_groups():
    sizes = np.array([1, 8, 3, 20, 5, 5, 12, 2] * 5)
    groups = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
    d = int(sizes.sum())
    for seed in range(10):
        rng = np.random.default_rng(seed)
        gradient = np.zeros(d)
        chosen = rng.choice(sizes.size, 3, replace=False)
        for g in chosen:
            gradient[groups[g]] = rng.standard_normal(groups[g].size) + 2
        rows = PermutedRows(key=Key(seed=seed), d=d, free=np.arange(d))
        found = group_pursuit(measured(rows, gradient, 120, common=5.0), groups, 6, held_out=4)
        assert found.error < 1e-8
        values = np.zeros(d)
        values[found.support] = found.slopes
        assert np.allclose(values, gradient, atol=1e-8)


def test_groups_are_found_where_a_greedy_choice_fails():
    groups = np.split(np.arange(600), 60)
    for seed in range(4):
        rng, gradient = np.random.default_rng(seed), np.zeros(600)
        chosen = rng.choice(60, 3, replace=False)
        for g in chosen:
            gradient[groups[g]] = rng.choice([-1.0, 1.0], 10) * rng.uniform(0.5, 1.5, 10)
        rows = PermutedRows(key=Key(seed=seed), d=600, free=np.arange(600))
        found = group_pursuit(measured(rows, gradient, 41), groups, 6, held_out=4, noise=1e-9)
        assert set(found.support // 10) == set(chosen)
        assert found.error < 1e-8


def test_groups_larger_than_the_measurements_are_left_out():
    groups = [np.arange(30), np.arange(30, 33)]
    gradient = np.zeros(33)
    gradient[30:] = 1.0
    rows = PermutedRows(key=Key(seed=0), d=33, free=np.arange(33))
    found = group_pursuit(measured(rows, gradient, 14), groups, 2, held_out=2)
    assert sorted(found.support.tolist()) == [30, 31, 32]


def test_pursuit_ends_where_columns_depend_on_each_other():
    # rows that sum to zero: the last column is minus the sum of the others
    rows = BalancedRows(inner=PermutedRows(key=Key(seed=0), d=4, free=np.arange(4)))
    noise = np.random.default_rng(0).standard_normal(12)
    batches = ((RowSlice(rows=rows, start=0, count=12), noise),)
    found = matching_pursuit(Measurements(batches), 8, held_out=2)
    assert found.support.size <= 3


def test_pursuit_begins_with_what_it_is_told():
    rows = PermutedRows(key=Key(seed=0), d=50, free=np.arange(50))
    gradient = np.zeros(50)
    gradient[[4, 30]] = 1.0, -2.0
    found = matching_pursuit(measured(rows, gradient, 25), 5, held_out=3, start=np.array([7, 9]))
    assert found.support[:2].tolist() == [7, 9]
    assert {4, 30} <= set(found.support.tolist())
    assert found.error < 1e-8
