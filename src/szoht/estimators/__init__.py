"""Gradient estimators, one per file: which points to ask, and what the answers mean."""

from szoht.estimators.coordinate import Coordinate as Coordinate
from szoht.estimators.exact import Exact as Exact
from szoht.estimators.gaussian import Gaussian as Gaussian
from szoht.estimators.sphere import Sphere as Sphere
