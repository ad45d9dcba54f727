"""SciPy's conventions: bounds, arguments, gradients and callbacks."""

import numpy as np
from scipy import optimize

import szoht
from outcomes import most_seeds


@most_seeds
def test_none_is_no_bound(seed):
    result = optimize.minimize(
        lambda x: float(((x + 2) ** 2).sum()),
        np.zeros(3),
        method=szoht.scipy_method(k=3),
        bounds=[(None, None)] * 3,
        options={"max_queries": 500, "rng": seed},
    )
    assert np.allclose(result.x, -2, atol=1e-2)


def test_scipy_conventions():
    def fun(x, centre):
        return float(((x - centre) ** 2).sum())

    result = optimize.minimize(
        fun,
        np.zeros(3),
        args=(9.0,),
        jac=lambda x, centre: 2 * (x - centre),
        method=szoht.scipy_method(k=3, method="iht"),
        bounds=[(None, None)] * 3,
        options={"max_queries": 300, "rng": 0},
    )
    assert np.allclose(result.x, 9.0, atol=1e-3)

    def callback(intermediate_result):
        assert intermediate_result.fun == fun(intermediate_result.x, 9.0)

    optimize.minimize(
        fun,
        np.zeros(3),
        args=(9.0,),
        method=szoht.scipy_method(k=3, method="szoht"),
        callback=callback,
        options={"max_queries": 300, "rng": 0, "options": {"q": 3, "step_size": 0.1}},
    )
