"""Groups that overlap against brute force over all choices of groups."""

from itertools import combinations

import numpy as np
import pytest

from szoht.errors import CapabilityError, ParameterError
from szoht.operators import GroupSparse


def random_groups(rng, kind):
    """Return lists of coordinates that overlap in one way."""
    if kind == "chain":  # each shares one coordinate with an earlier one, which no other has
        groups, d = [[0, 1, 2]], 3
        for _ in range(4):
            single = [i for i in range(d) if sum(i in group for group in groups) == 1]
            size = int(rng.integers(1, 3))
            groups.append([int(rng.choice(single)), *range(d, d + size)])
            d += size
        return groups, d
    if kind == "nested":
        return [[0, 1, 2, 3, 4, 5], [0, 1, 2], [0], [0], [4, 5], [6, 7], [7]], 8
    d = 8
    groups = [rng.choice(d, int(rng.integers(1, 5)), replace=False).tolist() for _ in range(5)]
    return [*groups, list(range(d))[::2], list(range(d))[1::2]], d


def allowed(groups, d, chosen, overlap):
    enough = any if overlap == "latent" else all
    return [
        i for i in range(d) if enough(g in chosen for g, group in enumerate(groups) if i in group)
    ]


def best_gain(groups, d, k, overlap, y):
    return max(
        (y[allowed(groups, d, chosen, overlap)] ** 2).sum()
        for chosen in combinations(range(len(groups)), k)
    )


@pytest.mark.parametrize("overlap", ["latent", "explicit"])
@pytest.mark.parametrize("kind", ["chain", "nested"])
def test_overlaps_like_trees_are_exact(kind, overlap):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        groups, d = random_groups(rng, kind)
        y = rng.standard_normal(d) * rng.choice([0.3, 1.0, 3.0], d)
        for k in range(1, len(groups) + 1):
            operator = GroupSparse(k=k, groups=groups, overlap=overlap)
            operator.check(d)
            assert operator.overlaps.is_exact
            x = operator.prox(y, 1.0)
            assert operator.contains(x)
            assert x @ x == pytest.approx(best_gain(groups, d, k, overlap, y), rel=1e-12)


def test_greedy_keeps_its_part():
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        groups, d = random_groups(rng, "any")
        y = rng.standard_normal(d)
        operator = GroupSparse(k=3, groups=groups)
        x = operator.prox(y, 1.0)
        assert operator.contains(x)
        ratios.append(x @ x / best_gain(groups, d, 3, "latent", y))
    assert 1 - 1 / np.e <= min(ratios) < 1 - 1e-3
    assert max(ratios) <= 1 + 1e-12


def test_two_meanings():
    groups = [[0, 1], [1, 2], [2, 3]]
    middle = np.array([0.0, 1.0, 0.0, 0.0])
    assert GroupSparse(k=1, groups=groups).contains(middle)
    assert not GroupSparse(k=1, groups=groups, overlap="explicit").contains(middle)
    assert GroupSparse(k=2, groups=groups, overlap="explicit").contains(middle)
    both = np.array([1.0, 0.0, 0.0, 1.0])
    assert not GroupSparse(k=1, groups=groups).contains(both)
    assert GroupSparse(k=2, groups=groups).contains(both)


def test_a_cover_is_found_where_greedy_fails():
    """The largest group covers most, and none of the two that would do."""
    groups = [[1, 2, 3, 4], [0, 1, 2], [3, 4, 5]]
    assert GroupSparse(k=2, groups=groups).contains(np.ones(6))
    assert not GroupSparse(k=1, groups=groups).contains(np.ones(6))


def test_explicit_groups_in_a_circle_name_the_remedy():
    with pytest.raises(CapabilityError, match='Use overlap="latent", or merge groups'):
        GroupSparse(k=1, groups=[[0, 1], [1, 2], [2, 0]], overlap="explicit")
    with pytest.raises(ParameterError, match="`overlap` must be one of"):
        GroupSparse(k=1, size=2, overlap="both")


def test_overlapping_groups_do_not_number_coordinates():
    with pytest.raises(CapabilityError, match="do not number"):
        GroupSparse(k=1, groups=[[0, 1], [1, 2]]).members(3)
