"""The conformance suite: run it on your own operators, estimators, algorithms, executors."""

from szoht.testing.algorithms import check_algorithm as check_algorithm
from szoht.testing.estimators import check_estimator as check_estimator
from szoht.testing.executors import check_executor as check_executor
from szoht.testing.operators import check_operator as check_operator
