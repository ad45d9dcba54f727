"""Constraints on x as constraints on z."""

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht.errors import CapabilityError, ParameterError
from szoht.run.constraints import constraint_on_z

NOMINAL = np.array([1.0, 10.0, 100.0, 1000.0])


def variables(**settings):
    return szoht.Variables(NOMINAL, **settings)


def test_counting_needs_no_bounds():
    assert constraint_on_z(2, None, variables()) == szoht.Sparse(2)
    assert constraint_on_z(None, None, variables()) is None


def test_bounds_of_the_variables_are_added():
    v = variables(low=0, high=2 * NOMINAL)
    box = constraint_on_z(2, None, v)
    assert isinstance(box, szoht.SparseBox)
    assert v.to_x(box.low).tolist() == [0, 0, 0, 0]
    assert v.to_x(box.high).tolist() == (2 * NOMINAL).tolist()


def test_bounds_of_a_set_are_on_x():
    v = variables(low=0, high=2 * NOMINAL)
    high = np.array([1.5, np.inf, 100.0, 1e9])
    for operator in (szoht.Box(low=0.5, high=high), szoht.GroupSparse(k=1, size=2)):
        box = constraint_on_z(None, operator, v)
        expected = np.minimum(getattr(operator, "high", np.inf), 2 * NOMINAL)
        assert v.to_x(box.high) == pytest.approx(expected)
        assert v.to_x(box.low) == pytest.approx(np.full(4, max(np.max(operator.low), 0)))
    whole = constraint_on_z(None, szoht.Identity(), v)
    assert isinstance(whole, szoht.Box)
    assert constraint_on_z(None, szoht.Identity(), variables()) == szoht.Identity()


def test_a_sparse_box_must_contain_the_nominal_values():
    with pytest.raises(ParameterError, match=r"x\[1\] with nominal=10 and bounds \[0, 5\]"):
        constraint_on_z(
            None, szoht.SparseBox(2, low=0, high=[5.0, 5.0, 500.0, 5000.0]), variables()
        )


@most_seeds
def test_groups_count_changed_groups(seed):
    target = np.array([1.0, 10.0, 150.0, 700.0])
    result = szoht.minimize(
        lambda x: float((((x - target) / NOMINAL) ** 2).sum()),
        variables(),
        constraint=szoht.GroupSparse(k=1, size=2),
        max_queries=2_000,
        rng=seed,
    )
    assert result.support.tolist() == [2, 3]
    assert result.x == pytest.approx(target, rel=1e-3)


@pytest.mark.parametrize(
    "operator", [szoht.SparseSimplex(2), szoht.L1Ball(1.0), szoht.SoftThreshold(0.1)]
)
def test_sums_need_zeros_and_one_unit(operator):
    with pytest.raises(CapabilityError, match="nominal values of 0"):
        constraint_on_z(None, operator, variables())
    with pytest.raises(CapabilityError, match="one unit"):
        constraint_on_z(None, operator, szoht.Variables(np.zeros(3), unit=[1.0, 1.0, 2.0]))
    with pytest.raises(CapabilityError, match="no bounds that cut it"):
        constraint_on_z(None, operator, szoht.Variables(np.zeros(3), low=-0.1, high=0.1))
    with pytest.raises(CapabilityError, match="no integers"):
        constraint_on_z(None, operator, szoht.Variables(np.zeros(3), integer=True))


def test_sums_are_converted_to_the_unit():
    v = szoht.Variables(np.zeros(3), unit=4.0)
    assert constraint_on_z(None, szoht.SparseSimplex(2, total=2.0), v).total == 0.5
    assert constraint_on_z(None, szoht.L1Ball(2.0), v).radius == 0.5
    assert constraint_on_z(None, szoht.SoftThreshold(2.0), v).penalty == 8.0


@most_seeds
def test_a_portfolio_in_percent(seed):
    mean = np.array([1.0, 3.0, 2.0, 0.5])
    result = szoht.maximize(
        lambda x: float(mean @ x - 0.01 * x @ x),
        [50.0, 50.0, 0.0, 0.0],
        unit=100.0,
        names=["a", "b", "c", "d"],
        constraint=szoht.SparseSimplex(2, total=100.0),
        max_queries=3_000,
        rng=seed,
    )
    assert result.x.sum() == pytest.approx(100.0)
    assert result.support.tolist() == [1, 2]
    assert result.x[1] == pytest.approx(75.0, abs=0.5)


def test_trees_and_graphs_count_changes_within_the_bounds():
    v = variables(low=0, high=2 * NOMINAL)
    for operator in (
        szoht.TreeSparse(2, [-1, 0, 1, 2]),
        szoht.GraphSparse(2, [[0, 1], [1, 2], [2, 3]]),
    ):
        bounded = constraint_on_z(None, operator, v)
        assert type(bounded) is type(operator)
        assert v.to_x(bounded.high).tolist() == (2 * NOMINAL).tolist()


def test_smallest_changes_are_in_the_units_of_the_variables():
    v = variables(unit=[1.0, 2.0, 5.0, 10.0])
    assert constraint_on_z(None, szoht.Semicontinuous(2, 10.0), v).at_least.tolist() == [
        10,
        5,
        2,
        1,
    ]
    with pytest.raises(CapabilityError, match="`at_least` is a change on a linear scale"):
        constraint_on_z(None, szoht.Semicontinuous(2, 10.0), variables(integer=True))


def test_limits_of_weights_are_in_the_unit():
    v = szoht.Variables(np.zeros(3), unit=4.0)
    limited = szoht.SparseSimplex(3, total=2.0, at_least=0.4, at_most=1.0)
    on_z = constraint_on_z(None, limited, v)
    assert (on_z.total, on_z.at_least, on_z.at_most) == (0.5, 0.1, 0.25)


def test_any_unit_leaves_rank_and_basis_alone():
    v = szoht.Variables(np.zeros(4), unit=4.0)
    for operator in (szoht.LowRank(1, shape=(2, 2)), szoht.SparseIn("dct", k=2)):
        assert constraint_on_z(None, operator, v) is operator
        with pytest.raises(CapabilityError, match="nominal values of 0"):
            constraint_on_z(None, operator, variables())
    both = szoht.TwoStep(sparse=szoht.Sparse(2), convex=szoht.L1Ball(1.0))
    with pytest.raises(CapabilityError, match="Pass unit=1"):
        constraint_on_z(None, both, v)
