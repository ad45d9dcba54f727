"""What is said to help does help, and a little less does not."""

import re
import warnings

import pytest

from szoht.theory import Regularity, TheoryWarning, recommend, regularized, smallest_q
from szoht.theory.advice import advise_on_budget, advise_on_conditions


def advice(d, k_star, regularity):
    return " ".join(advise_on_conditions(d=d, k_star=k_star, regularity=regularity))


def number(pattern, text):
    return float(re.search(pattern, text)[1].replace(",", ""))


def works(d, k_star, kappa):
    return smallest_q(d=d, k_star=k_star, kappa=kappa, support_size=d) is not None


@pytest.mark.parametrize(
    ("d", "k_star", "kappa"), [(5000, 5, 1.7), (2000, 3, 2.0), (900, 1, 1.9), (100, 5, 1.2)]
)
def test_the_dimension_and_the_sparsity_named_are_the_least(d, k_star, kappa):
    assert not works(d, k_star, kappa)
    text = advice(d, k_star, Regularity.from_kappa(kappa))
    least = int(number(r"from d = ([\d,]+) on", text))
    assert works(least, k_star, kappa)
    assert not works(least - 1, k_star, kappa)
    if "covers k_star <=" in text:
        fewer = int(number(r"covers k_star <= (\d+)", text))
        assert works(d, fewer, kappa)
        assert not works(d, fewer + 1, kappa)
    else:
        assert not works(d, 1, kappa)


@pytest.mark.parametrize("smoothness", [1.0, 30.0])
def test_the_weight_named_is_enough(smoothness):
    objective = Regularity.from_kappa(1.7, smoothness=smoothness)
    text = advice(5000, 5, objective)
    most = number(r"covers kappa < ([\d.]+)\.", text)
    assert works(5000, 5, most - 1e-3)
    assert not works(5000, 5, most + 1e-3)
    weight = number(r"w = ([\d.]+) is", text)
    assert works(5000, 5, regularized(objective, weight=1.01 * weight).kappa)
    assert not works(5000, 5, regularized(objective, weight=0.98 * weight).kappa)
    assert f"L = {smoothness:g}" in text
    assert "by up to 31 % of its norm" in text


def test_a_weight_that_changes_the_problem_is_called_so():
    assert "by more than its norm" in advice(5000, 5, Regularity.from_kappa(10.0))


def test_a_hopeless_dimension_is_called_so():
    text = advice(100, 5, Regularity.from_kappa(10.0))
    assert "no kappa: even kappa = 1 needs d >= 727" in text
    assert "Adding" not in text


def test_a_budget_that_is_named_is_enough():
    with pytest.warns(TheoryWarning):
        found = recommend(d=1000, k_star=5, budget=5000)
    enough = number(r"A budget of ([\d.e+,]+) queries", found.advice[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recommend(d=1000, k_star=5, budget=int(1.01 * enough)).advice == ()
    assert advise_on_budget(halving=1e6)[-1] == found.advice[-1]
