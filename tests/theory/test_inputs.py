import dataclasses

import numpy as np
import pytest

from szoht.errors import ParameterError, ParameterTypeError, SzohtWarning
from szoht.theory import Regularity, Setting, TheoryWarning, eps_f, rho

GOOD = {"d": 100, "k": 10, "k_star": 5, "q": 7, "support_size": 20}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 101}, r"`k` must be an integer in \[5, d\]; got k=101 with d=100"),
        ({"k": 4}, r"`k` must be an integer in \[5, d\]; got k=4 with d=100"),
        ({"k": 48}, r"`k` must satisfy 2 k \+ k_star <= d; got k=48 with k_star=5, d=100"),
        ({"k_star": 0}, r"`k_star` must be an integer in \[1, d\]; got k_star=0"),
        ({"d": 2}, r"`d` must be an integer in \[3, inf\)"),
        ({"q": 0}, r"`q` must be an integer in \[1, inf\); got q=0"),
        ({"support_size": 101}, r"`support_size` must be an integer in \[1, d\]; got .*=101 with"),
        ({"support_size": 0}, r"`support_size` must be an integer in \[1, d\]"),
        ({"k": np.array([10, 48])}, r"`k` must satisfy 2 k \+ k_star <= d; got k=48"),
        ({"k": np.array([4, 10])}, r"`k` must be an integer in \[5, d\]; got k=4"),
        ({"q": np.array([1.5])}, r"`q` must be an integer or a non-empty integer array"),
        ({"q": np.array([], dtype=int)}, r"`q` must be an integer or a non-empty integer array"),
    ],
)
def test_setting_names_the_broken_rule(change, message):
    with pytest.raises(ParameterError, match=message):
        Setting(**{**GOOD, **change})


def test_setting_accepts_the_last_admissible_k():
    assert Setting(**{**GOOD, "k": 47}).union_size == 99


def test_setting_refuses_the_wrong_type():
    with pytest.raises(ParameterTypeError, match="`k` must be an integer"):
        Setting(**{**GOOD, "k": 10.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"smoothness": -1.0}, "`smoothness` must be a finite number > 0"),
        ({"smoothness": 0.0}, "`smoothness` must be a finite number > 0"),
        ({"convexity": 0.0}, "`convexity` must be a finite number > 0"),
        ({"smoothness": 1.0, "convexity": 2.0}, "`convexity` must be at most `smoothness`"),
        ({"smoothness": float("nan")}, "`smoothness` must be a finite number"),
    ],
)
def test_regularity_names_the_broken_rule(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Regularity(**arguments)


def test_kappa_below_one_is_refused():
    with pytest.raises(ParameterError, match="`kappa`"):
        Regularity.from_kappa(0.5)
    assert Regularity.from_kappa(4.0, smoothness=2.0).convexity == 0.5


def test_unknown_version_is_refused():
    with pytest.raises(ParameterError, match="`version` must be one of 'paper', 'corrected'"):
        rho(Setting(**GOOD), Regularity(), version="printed")


def test_settings_are_frozen_values():
    setting = Setting(**GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setting.k = 11
    assert setting == Setting(**GOOD)
    assert hash(setting) == hash(Setting(**GOOD))
    assert setting != Setting(**{**GOOD, "q": 8})
    assert setting != 3
    swept = Setting(**{**GOOD, "k": np.array([10, 11])})
    assert swept == Setting(**{**GOOD, "k": np.array([10, 11])})
    assert swept != Setting(**{**GOOD, "k": np.array([10, 12])})
    with pytest.raises(ValueError, match="read-only"):
        swept.k[0] = 1


def test_a_sweep_equals_one_setting_at_a_time():
    k, q = np.array([5, 10, 20])[:, None], np.array([3, 50])
    swept = eps_f(Setting(**{**GOOD, "k": k, "q": q}))
    single = [[eps_f(Setting(**{**GOOD, "k": int(a), "q": int(b)})) for b in q] for a in k.ravel()]
    np.testing.assert_allclose(swept, single, rtol=1e-15)
    assert all(type(value) is float for row in single for value in row)


def test_remark_3_order_of_smoothness():
    assert Setting(**GOOD).smoothness_order == 25
    assert Setting(**{**GOOD, "support_size": 60}).smoothness_order == 60
    swept = Setting(**{**GOOD, "k": np.array([5, 10])}).smoothness_order
    np.testing.assert_array_equal(swept, [20, 25])


def test_the_warning_is_one_of_ours():
    assert issubclass(TheoryWarning, SzohtWarning)
