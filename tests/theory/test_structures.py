"""Factors of structured projections, on random and on worst cases."""

import numpy as np
import pytest

from szoht import theory
from szoht.errors import ParameterError
from szoht.operators import GroupSparse, LowRank, Sparse, TreeSparse


@pytest.mark.parametrize(
    "operator",
    [
        TreeSparse(4, [-1, 0, 0, 1, 1, 2, 2, 3, 3, 3, -1, 10]),
        GroupSparse(k=2, size=3),
        GroupSparse(k=2, size=4, per_group=2),
        Sparse(3),
    ],
    ids=str,
)
def test_no_projection_leads_further_away(operator):
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(2000):
        a = operator.prox(rng.standard_normal(12), 1.0)
        b = a + rng.standard_normal(12) * rng.choice([0.1, 0.5, 1.0, 2.0])
        ratios.append(np.linalg.norm(operator.prox(b, 1.0) - a) / np.linalg.norm(b - a))
    assert 1 < max(ratios) <= theory.union_expansivity()


def test_the_golden_ratio_is_attained():
    ratio = theory.union_expansivity()
    # S \ A and A \ S are one coordinate each: the eigenvector of v^2 + (u + v)^2
    e = np.array([-1.0, ratio])
    a = np.array([1.0 + ratio, 0.0])
    x = Sparse(1).prox(a + e * (1 + 1e-12), 1.0)
    assert np.linalg.norm(x - a) / np.linalg.norm(e) == pytest.approx(ratio)
    assert ratio == pytest.approx(theory.expansivity(d=2, k=1, k_star=1))


def test_low_rank_stays_within_twice_the_distance():
    rng = np.random.default_rng(0)
    operator = LowRank(2, shape=(5, 6))
    ratios = []
    for _ in range(500):
        a = operator.prox(rng.standard_normal(30), 1.0)
        b = a + rng.standard_normal(30)
        ratios.append(np.linalg.norm(operator.prox(b, 1.0) - a) / np.linalg.norm(b - a))
    assert max(ratios) <= theory.tail_expansivity()
    with pytest.raises(ParameterError, match="tail_factor"):
        theory.tail_expansivity(tail_factor=0.5)


@pytest.mark.parametrize("k", range(2, 40))
def test_a_sixth_is_kept_of_what_the_search_asks_for(k):
    kept = [theory.graph_head_factor(k=k, nodes=m) for m in range((k + 2) // 2, 2 * k)]
    assert min(kept) >= 1 / 6
    assert theory.graph_head_factor(k=k, nodes=k) == pytest.approx(0.5)
    assert theory.graph_head_factor(k=1, nodes=k) == 1.0


@pytest.mark.parametrize("k", [80, 81, 200, 5000])
def test_shares_and_sparsities_are_inverse(k):
    share = theory.two_step_share(k=k, k_star=5, kappa=2.0)
    assert theory.two_step_sparsity(k_star=5, kappa=2.0, share=min(0.5, share * (1 + 1e-12))) <= k
    assert theory.two_step_sparsity(k_star=5, kappa=2.0, share=share * 0.999) > k - 1
