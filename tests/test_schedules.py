"""Numbers that depend on the iteration."""

import numpy as np
import pytest

from szoht import errors, minimize
from szoht.schedules import Constant, Geometric, OpenLoop, Polynomial, at, count_at


def test_values_over_the_iterations():
    assert at(0.5, 7) == 0.5
    assert at(Constant(0.5), 7) == 0.5
    assert at(OpenLoop(), 0) == 1.0
    assert Geometric(start=2, ratio=3, high=10)(5) == 10
    assert Geometric(start=1, ratio=10, high=99)(10**6) == 99
    assert Geometric(start=1, ratio=0.1, low=1e-9)(10**6) == 1e-9
    assert Polynomial(start=1, power=1, offset=4)(4) == 0.5
    assert count_at(Geometric(start=2, ratio=1.5), 2) == 5
    assert count_at(0.2, 0) == 1


@pytest.mark.filterwarnings("ignore::szoht.errors.RoundingWarning")
@pytest.mark.parametrize("name", ["mu", "step_size"])
def test_schedules_that_run_out_say_so(name):
    options = {"q": 4, "step_size": 1e-3, name: Geometric(start=1e-2, ratio=1e-30)}
    with pytest.raises(errors.ScheduleError, match=f"`{name}` .* at iteration 11") as raised:
        short_run(options)
    assert raised.value.result.nit == 11  # nothing that was evaluated is lost


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda t: 1e-2 / (3 - t), "ZeroDivisionError"),
        (lambda t: 0.01 if t < 2 else None, "TypeError"),
    ],
)
def test_schedules_that_raise_say_so(returned, message):
    with pytest.raises(errors.ScheduleError, match=f"`step_size` .* raised {message}"):
        short_run({"q": 4, "step_size": returned})


def short_run(options):
    return minimize(
        lambda x: float(x[0]), np.zeros(3), k=1, options=options, max_iterations=40, method="szoht"
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(np.nan),
        lambda: Geometric(start=0, ratio=1),
        lambda: Geometric(start=1, ratio=-1),
        lambda: Polynomial(start=1, power=-1),
        lambda: Polynomial(start=1, offset=0),
    ],
)
def test_bad_parameters_name_the_rule(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()
