"""The public conformance suite for operators, structures, estimators, algorithms and executors."""

from szoht.testing.algorithms import check_algorithm
from szoht.testing.estimators import check_estimator
from szoht.testing.executors import check_executor
from szoht.testing.operators import check_operator
from szoht.testing.structures import check_structure

__all__ = [
    "check_algorithm",
    "check_estimator",
    "check_executor",
    "check_operator",
    "check_structure",
]
