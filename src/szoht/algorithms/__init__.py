"""Named algorithms: each a docstring with its update equation, and a composition of parts."""

from szoht.algorithms.iht import iht as iht
from szoht.algorithms.iht import stoiht as stoiht
from szoht.algorithms.registry import METHODS as METHODS
from szoht.algorithms.registry import build as build
from szoht.algorithms.szoht import szoht as szoht
from szoht.algorithms.truncated_zsgd import truncated_zsgd as truncated_zsgd
