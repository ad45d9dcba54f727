"""The conformance suite: run it on your own operators, estimators, algorithms, executors."""

from szoht.testing.algorithms import check_algorithm
from szoht.testing.estimators import check_estimator
from szoht.testing.executors import check_executor
from szoht.testing.operators import check_operator

__all__ = [
    "check_algorithm",
    "check_estimator",
    "check_executor",
    "check_operator",
]
