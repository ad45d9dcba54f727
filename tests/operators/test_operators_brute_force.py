"""Operators against brute force over all supports, ties, extremes, and expansivity."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference.hard_thresholding import hard_threshold, project_l1_ball, project_sparse_box
from szoht.errors import NonFiniteError, ParameterError, ParameterTypeError
from szoht.operators import Box, GroupSparse, Identity, L1Ball, SoftThreshold, Sparse, SparseBox

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
# few distinct values, so that ties are the rule
tied = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
vectors = st.integers(1, 8).flatmap(lambda d: arrays(np.float64, d, elements=finite | tied))


@given(vectors, st.integers(1, 8))
def test_sparse_equals_sorting(y, k):
    assert np.array_equal(Sparse(k).prox(y, 1.0), hard_threshold(y, k))


@given(vectors, st.integers(1, 8), st.floats(0, 3), st.floats(0, 3))
@settings(deadline=None)
def test_sparse_box_is_the_nearest_point(y, k, low, high):
    d = len(y)
    ours = SparseBox(k, low=-low, high=high).prox(y, 1.0)
    best = project_sparse_box(y, k, np.full(d, -low), np.full(d, high))
    assert np.count_nonzero(ours) <= k
    distance, least = ((ours - y) ** 2).sum(), ((best - y) ** 2).sum()
    assert distance <= least * (1 + 1e-12)


@given(vectors, st.integers(1, 4), st.floats(0, 3), st.booleans(), st.data())
@settings(deadline=None)
def test_group_sparse_is_the_nearest_point(y, k, high, bounded, data):
    d = len(y)
    labels = data.draw(arrays(np.intp, d, elements=st.integers(0, 3)))
    groups = np.unique(labels, return_inverse=True)[1]
    count = int(groups.max()) + 1
    k = min(k, count)
    weights = data.draw(arrays(np.float64, d, elements=st.floats(0.1, 10)))
    low, high = (-0.7, high) if bounded else (-np.inf, np.inf)
    operator = GroupSparse(k=k, groups=groups, low=low, high=high)
    operator.check(d)
    for ours, w in (
        (operator.prox(y, 1.0), np.ones(d)),
        (operator.weighted_prox(y, 1.0, weights), weights),
    ):
        assert operator.contains(ours)
        least = min(
            (w * (np.where(np.isin(groups, kept), np.clip(y, low, high), 0.0) - y) ** 2).sum()
            for kept in combinations(range(count), k)
        )
        assert (w * (ours - y) ** 2).sum() <= least * (1 + 1e-12)


def test_groups_of_a_size_are_runs_of_neighbours():
    y = np.random.default_rng(0).standard_normal(12)
    labelled = GroupSparse(k=2, groups=np.repeat(np.arange(4), 3))
    assert np.array_equal(GroupSparse(k=2, size=3).prox(y, 1.0), labelled.prox(y, 1.0))
    single = GroupSparse(k=3, size=1, low=-1.0, high=0.5)
    assert np.array_equal(single.prox(y, 1.0), SparseBox(3, low=-1.0, high=0.5).prox(y, 1.0))
    assert labelled.touched(np.eye(12)[0] + np.eye(12)[5] + np.eye(12)[4]) == 2


def test_groups_contain_what_touches_few_of_them_within_the_bounds():
    operator = GroupSparse(k=1, size=2, low=-1.0, high=2.0)
    assert operator.contains(np.array([-1.0, 2.0, 0.0, 0.0]))
    assert not operator.contains(np.array([-1.0, 0.0, 0.5, 0.0]))
    assert not operator.contains(np.array([-1.1, 0.0, 0.0, 0.0]))
    assert not operator.contains(np.array([2.1, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_groups_of_any_scale_are_compared(scale):
    """Squares of the entries would all be zero, or infinite."""
    y = scale * np.array([1.0, 1.0, 2.0, 0.0])
    assert np.array_equal(GroupSparse(k=1, size=2).prox(y, 1.0), [0.0, 0.0, 2 * scale, 0.0])
    assert not GroupSparse(k=1, size=2).prox(np.zeros(4), 1.0).any()


def test_groups_are_a_copy_that_nobody_can_change():
    given = np.array([0, 0, 1])
    operator = GroupSparse(k=1, groups=given)
    given[0] = 1
    assert operator.members(3).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        operator.members(3)[0] = 1


def test_equal_groups_go_to_the_lowest_number():
    y = np.array([1.0, 2.0, 2.0, 1.0, 1.0, 2.0])
    assert np.array_equal(
        GroupSparse(k=1, groups=[1, 1, 0, 0, 2, 2]).prox(y, 1.0) != 0, [0, 0, 1, 1, 0, 0]
    )


@pytest.mark.parametrize(
    ("settings", "d", "complaint"),
    [
        ({}, 6, "exactly one of `groups` and `size`"),
        ({"groups": [0, 1], "size": 2}, 6, "exactly one of `groups` and `size`"),
        ({"size": 0}, 6, "`size` must be an integer"),
        ({"size": 4}, 6, "`size` must divide d; got size=4 with d=6"),
        ({"size": 3, "k": 3}, 6, "got k=3 with number of groups=2"),
        ({"groups": [0, 0, 2]}, 3, "without a gap"),
        ({"groups": [0, -1]}, 2, "without a gap"),
        ({"groups": [0.0, 1.0]}, 2, "must hold integers"),
        ({"groups": [[0, 1]]}, 2, "must be 1-d"),
        ({"groups": [0, 1]}, 3, r"`groups` must have shape \(d,\)"),
        ({"size": 2, "low": 0.5}, 4, "low <= 0 <= high"),
        ({"size": 2, "low": [-1.0, -1.0]}, 4, "`low` must be a number or have shape"),
    ],
)
def test_groups_that_make_no_sense(settings, d, complaint):
    with pytest.raises((ParameterError, ParameterTypeError), match=complaint):
        GroupSparse(**{"k": 1} | settings).check(d)


@given(vectors, st.floats(0.01, 10))
def test_l1_ball_equals_bisection(y, radius):
    ours = L1Ball(radius).prox(y, 1.0)
    assert np.allclose(ours, project_l1_ball(y, radius), rtol=0, atol=1e-9 * (1 + np.abs(y).max()))


@given(vectors, st.integers(1, 8), st.data())
@settings(deadline=None)
def test_weighted_projections_are_nearest_in_the_weighted_norm(y, k, data):
    weights = data.draw(arrays(np.float64, len(y), elements=st.floats(0.1, 10)))

    def distance(x):
        return (weights * (x - y) ** 2).sum()

    for operator in (Sparse(k), SparseBox(k, low=-1.5, high=0.5)):
        ours = operator.weighted_prox(y, 1.0, weights)
        assert operator.contains(ours)
        low, high = (-np.inf, np.inf) if isinstance(operator, Sparse) else (-1.5, 0.5)
        clipped = np.clip(y, low, high)
        supports = combinations(range(len(y)), min(k, len(y)))
        least = min(
            distance(np.where(np.isin(np.arange(len(y)), support), clipped, 0.0))
            for support in supports
        )
        assert distance(ours) <= least * (1 + 1e-12)


def test_weighted_soft_threshold_minimises_its_objective():
    y, weights = np.array([1.0, -2.0, 0.1]), np.array([0.5, 4.0, 1.0])
    ours = SoftThreshold(0.3).weighted_prox(y, 2.0, weights)
    grid = np.linspace(-3, 3, 60_001)
    for i in range(3):
        total = 0.5 * weights[i] * (grid - y[i]) ** 2 + 0.6 * np.abs(grid)
        assert ours[i] == pytest.approx(grid[np.argmin(total)], abs=1e-4)
    for operator in (Box(low=-1.0, high=0.5), Identity()):
        assert np.array_equal(operator.weighted_prox(y, 1.0, weights), operator.prox(y, 1.0))


def test_threshold_then_clip_is_not_the_projection():
    y = np.array([5.0, 0.7])
    box = SparseBox(1, low=[0.0, 0.0], high=[0.01, 1.0])
    assert np.array_equal(box.prox(y, 1.0), [0.0, 0.7])


@pytest.mark.parametrize("k", [1, 10, 2_500, 4_999])
def test_large_vectors_are_selected_exactly(k):
    """Small arrays come back sorted from a partition, so only large ones test the selection."""
    y = np.random.default_rng(k).standard_normal(5_000).round(2)
    assert np.array_equal(Sparse(k).prox(y, 1.0), hard_threshold(y, k))


def test_ties_go_to_the_lowest_index():
    assert np.array_equal(Sparse(2).prox(np.array([1.0, -2, 2, -2, 2]), 1.0), [0, -2, 2, 0, 0])


@pytest.mark.parametrize("d", [1, 5])
def test_k_equal_to_d_changes_nothing(d):
    y = np.arange(1.0, d + 1)
    assert np.array_equal(Sparse(d).prox(y, 1.0), y)


def test_l1_ball_survives_entries_that_dwarf_its_radius():
    x = L1Ball(1.0).prox(np.array([1e30, -1.0, 0.0]), 1.0)
    assert np.isfinite(x).all()
    assert np.abs(x).sum() <= 1.0


def test_soft_threshold_scales_with_the_step():
    y = np.array([1.0, -1.0])
    assert np.allclose(SoftThreshold(0.5).prox(y, 0.4), [0.8, -0.8])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_entries_are_refused_by_index(bad):
    with pytest.raises(NonFiniteError, match=r"y\[1\]"):
        Sparse(1).prox(np.array([0.0, bad]), 1.0)


def test_infinite_boxes_have_no_vertex():
    with pytest.raises(ParameterError, match="finite bounds"):
        Box(low=-np.inf, high=1.0).lmo(np.array([1.0, -1.0]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Sparse(0), ParameterError, r"`k` must be an integer in \[1, d\]; got k=0"),
        (lambda: Sparse(3).check(2), ParameterError, "got k=3 with d=2"),
        (lambda: Sparse(1.0), ParameterTypeError, "of type float"),
        (lambda: Sparse(np.True_), ParameterTypeError, "of type bool"),
        (lambda: SparseBox(2, low=0.1, high=1.0), ParameterError, "low <= 0 <= high"),
        (lambda: SparseBox(2, low=[0.0, 0.0], high=1.0).check(3), ParameterError, r"got \(2,\)"),
        (lambda: Box(low=1.0, high=0.0), ParameterError, "must not exceed"),
        (lambda: Box(low=np.nan, high=0.0), ParameterError, "not NaN"),
        (lambda: Box(low="a", high=0.0), ParameterTypeError, "`low`"),
        (lambda: Box(low=[0.0], high=[1.0, 2.0]), ParameterError, "same shape"),
        (lambda: L1Ball(0.0), ParameterError, "`radius` must be a finite number > 0"),
        (lambda: SoftThreshold(-1.0), ParameterError, "`penalty` must be a finite number >= 0"),
    ],
)
def test_bad_parameters_name_the_rule(make, error, message):
    with pytest.raises(error, match=message):
        make()


def gamma(k, k_star, d):
    """Lemma A.4: the expansivity of H_k towards k_star-sparse points."""
    overlap = min(k_star, d - k)
    beta = overlap / (k - k_star + overlap)
    return np.sqrt(1 + (beta + np.sqrt((4 + beta) * beta)) / 2)


@given(st.data())
@settings(deadline=None)
def test_expansivity_never_exceeds_gamma(data):
    d = data.draw(st.integers(2, 12))
    k = data.draw(st.integers(1, d - 1))
    k_star = data.draw(st.integers(1, k))
    b = data.draw(arrays(np.float64, d, elements=st.floats(-10, 10)))
    a = np.zeros(d)
    support = data.draw(st.permutations(range(d)))[:k_star]
    a[list(support)] = data.draw(arrays(np.float64, k_star, elements=st.floats(-10, 10)))
    left = np.linalg.norm(Sparse(k).prox(b, 1.0) - a)
    assert left <= gamma(k, k_star, d) * np.linalg.norm(b - a) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("d", "k", "k_star"), [(10, 4, 2), (10, 2, 1), (20, 8, 8), (6, 5, 2)])
def test_expansivity_is_nearly_attained_by_the_worst_vector(d, k, k_star):
    """b ties k entries off the support of a with those on it, so H_k drops the wrong ones."""
    worst = 0.0
    overlap = min(k_star, d - k)
    for height in np.linspace(0.01, 3, 600):
        a = np.zeros(d)
        a[-overlap:] = height
        b = np.zeros(d)
        b[: k - k_star + overlap] = 1.0
        b[-overlap:] = 1.0
        # entries of b on the rest of a's support are exact and survive
        rest = slice(k - k_star + overlap, k)
        a[rest] = b[rest] = 10.0
        ratio = np.linalg.norm(Sparse(k).prox(b, 1.0) - a) / np.linalg.norm(b - a)
        worst = max(worst, ratio)
    bound = gamma(k, k_star, d)
    assert worst <= bound * (1 + 1e-12)
    assert worst >= 0.99 * bound
