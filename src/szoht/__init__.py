"""Sparse black-box optimization: min f(x) subject to ||x||_0 <= k, from function values alone."""

from typing import TYPE_CHECKING, Any

from szoht import executors as executors
from szoht.adapters import scipy_method as scipy_method
from szoht.algorithms import iht as iht
from szoht.algorithms import stoiht as stoiht
from szoht.algorithms import szoht as szoht
from szoht.algorithms import truncated_zsgd as truncated_zsgd
from szoht.algorithms.composite import Composite as Composite
from szoht.core.algorithm import Algorithm as Algorithm
from szoht.core.objective import Objective as Objective
from szoht.core.sparse_vector import SparseVector as SparseVector
from szoht.core.variables import Variables as Variables
from szoht.core.version import __version__ as __version__
from szoht.core.versions import show_versions as show_versions
from szoht.errors import SzohtError as SzohtError
from szoht.errors import SzohtWarning as SzohtWarning
from szoht.evaluation.programs import Program as Program
from szoht.operators import Box as Box
from szoht.operators import GraphSparse as GraphSparse
from szoht.operators import GroupSparse as GroupSparse
from szoht.operators import Identity as Identity
from szoht.operators import L1Ball as L1Ball
from szoht.operators import LowRank as LowRank
from szoht.operators import Semicontinuous as Semicontinuous
from szoht.operators import SoftThreshold as SoftThreshold
from szoht.operators import Sparse as Sparse
from szoht.operators import SparseBox as SparseBox
from szoht.operators import SparseIn as SparseIn
from szoht.operators import SparseSimplex as SparseSimplex
from szoht.operators import SparseSum as SparseSum
from szoht.operators import TreeSparse as TreeSparse
from szoht.operators import TwoStep as TwoStep
from szoht.result import Progress as Progress
from szoht.result import Result as Result
from szoht.result import Status as Status
from szoht.run.ask_tell import AskTell as AskTell
from szoht.run.least_squares import LeastSquaresAskTell as LeastSquaresAskTell
from szoht.run.least_squares import least_squares as least_squares
from szoht.run.least_squares_result import LeastSquaresResult as LeastSquaresResult
from szoht.run.minimize import maximize as maximize
from szoht.run.minimize import minimize as minimize
from szoht.run.resume import resume as resume
from szoht.samplers import Full as Full
from szoht.samplers import Minibatch as Minibatch
from szoht.samplers import Seeds as Seeds
from szoht.store import Store as Store

if TYPE_CHECKING:
    from szoht.applications.attack import AttackResult as AttackResult
    from szoht.applications.attack import attack as attack
    from szoht.applications.attack import attack_many as attack_many


def __getattr__(name: str) -> Any:
    """Import attacks on first use: what they need takes longer to import than all the rest."""
    if name in ("AttackResult", "attack", "attack_many"):
        from szoht.applications import attack as attacks  # noqa: PLC0415

        return getattr(attacks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
