"""k by the name of a criterion, as the user states it."""

from collections.abc import Mapping
from typing import Any

from szoht.algorithms.auto.criteria import LOSS_CRITERIA
from szoht.core.algorithm import Algorithm
from szoht.core.operator import Operator
from szoht.core.validation import check_choice
from szoht.errors import CapabilityError, ParameterError

__all__ = ["by_criterion", "default_plans"]

DEFAULT_PLANS, DEFAULT_PLANS_BY_CRITERION = 100, 50_000
"""Plans that a run may take where no limit is given; more where many k are solved for well."""


def default_plans(criterion: str | None) -> int:
    """Return how many plans a run may take where no limit is given."""
    return DEFAULT_PLANS if criterion is None else DEFAULT_PLANS_BY_CRITERION


def by_criterion(
    k: str,
    options: Mapping[str, Any] | None,
    constraint: Operator | None,
    *,
    method: str | Algorithm,
    n_samples: int | None,
) -> dict[str, Any]:
    """Return the options with the criterion, or raise where it says nothing."""
    check_choice("k", k, LOSS_CRITERIA)
    if constraint is not None:
        raise ParameterError(
            f"`k` and `constraint` exclude each other; got k={k!r}, constraint={constraint!r}."
        )
    if not isinstance(method, str) or method != "auto":
        raise CapabilityError(
            f"k={k!r} needs the default method, which walks a path over k; got method={method!r}. "
            "Pass a number for `k`."
        )
    if n_samples is None:
        raise ParameterError(
            f"`k` must be a number where nothing is known of a sample: k={k!r} weighs a mean loss "
            "over n components against the number of non-zeros; got n_samples=None. Pass "
            "n_samples=n with a function fun(x, sample); without `k`, the knee is chosen."
        )
    return {**(options or {}), "criterion": k}
