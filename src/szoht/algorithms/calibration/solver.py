"""The calibration solver: start -> sense -> { choose -> move -> learn -> probe again } -> end."""

from dataclasses import dataclass, field
from typing import ClassVar

from szoht.algorithms.calibration.claims import evidence_of, honest_ending
from szoht.algorithms.calibration.comparison import settle, verify, verify_start
from szoht.algorithms.calibration.goodness import is_exact, is_explained
from szoht.algorithms.calibration.moves import improve, measure_answer
from szoht.algorithms.calibration.path import CRITERIA, Criterion, publish, walk_path
from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.probing import Domain
from szoht.algorithms.calibration.records import FailuresInRowError
from szoht.algorithms.calibration.residuals import LOSS_NAMES, Loss, Residuals
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.sensing import measure_start, sense
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.core.algorithm import Ending, State
from szoht.core.validation import check_choice, check_real
from szoht.errors import CapabilityError
from szoht.operators import Sparse, SparseBox
from szoht.types import Sample, Vector

__all__ = ["Calibration"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration(GeneratorAlgorithm):
    """Sparse least squares from all outputs of a function: which k variables, and their values.

    Parameters
    ----------
    operator : Sparse or SparseBox
        At most k changes, within bounds.
    observed, sigma : array of shape (m,), optional
        Residuals are (outputs - observed) / sigma; without them, outputs are residuals.
    components : bool
        Outputs are components >= 0 whose mean is minimized, in place of residuals.
    n_outputs, output_names
        How many outputs there are and what they are called, as far as that is known.
    loss, f_scale
        As in SciPy's ``least_squares``.
    grid : array of shape (d,), optional
        The step of each variable that moves in steps, 0 for the others.
    criterion : {"bic", "chi2"}, optional
        How many changes to believe, at most those of the operator; see `walk_path`.
    max_queries : int, optional
        The budget that is planned for.
    policy : CalibrationPolicy, optional
        The numbers by which it decides.
    """

    operator: Sparse | SparseBox
    observed: Vector | None = field(default=None, repr=False)
    sigma: Vector | None = field(default=None, repr=False)
    components: bool = False
    n_outputs: int | None = None
    output_names: tuple[str, ...] = field(default=(), repr=False)
    loss: Loss = "linear"
    f_scale: float = 1.0
    grid: Vector | None = field(default=None, repr=False)
    criterion: Criterion | None = None
    max_queries: int | None = None
    policy: CalibrationPolicy | None = field(default=None, repr=False)

    requires = frozenset({"n_outputs"})
    asks_integers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.operator.always:
            raise CapabilityError(
                f"`always` is not served from many outputs, where all changes are counted; got "
                f"{self.operator!r}. Drop `always` and raise `k` by {len(self.operator.always)}."
            )
        check_choice("loss", self.loss, LOSS_NAMES)
        if self.criterion is not None:
            check_choice("criterion", self.criterion, CRITERIA)
        check_real("f_scale", self.f_scale, low=0, open_low=True)

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return none: the function is deterministic, or has fresh noise."""
        del seed, n_samples
        return None

    def steps(self, context: SolverContext) -> Steps[None]:
        """Search until nothing is promised any more."""
        search = CalibrationSearch(
            outer=context,
            domain=Domain.of(self.operator, context.x.size, self.grid),
            residuals=Residuals(
                observed=self.observed, sigma=self.sigma, components=self.components
            ),
            loss=self.loss,
            f_scale=self.f_scale,
            k=self.operator.k,
            policy=self.policy or CalibrationPolicy(),
            has_sigma=self.sigma is not None,
            budget=self.max_queries,
        )
        context.details = search
        try:
            yield from self._solve(search)
        except FailuresInRowError:
            context.ending = Ending.MOSTLY_FAILED
        if context.ending is not None:
            context.evidence = evidence_of(search)

    def _solve(self, search: CalibrationSearch) -> Steps[None]:
        """Measure the start, sense, improve, and measure the answer."""
        context = search.outer
        if not (yield from measure_start(search)):
            return
        if is_exact(search) or (is_explained(search) and self.criterion is None):
            search.explain("the start explains the measurements already.")
            yield from verify_start(search)
            if self.criterion is not None:
                search.k = 0
                publish(search, 0)
            context.ending = honest_ending(search, Ending.CONVERGED)
            return
        if self.criterion is not None:
            search.k = max(1, min(search.k, search.m - 1))
        fits = yield from sense(search)
        if search.posterior is None:
            context.ending = Ending.MOSTLY_FAILED
            return
        if self.criterion is not None:
            yield from walk_path(search, self.criterion)
            context.ending = honest_ending(search, Ending.EXHAUSTED)
            return
        ending = yield from improve(search, fits)
        if ending is Ending.CONVERGED:
            yield from settle(search)
            yield from verify(search)
        else:
            yield from measure_answer(search)
        context.ending = honest_ending(search, ending)

    def search(self, state: State) -> CalibrationSearch:
        """Return what is known at a state."""
        found = self._resume(state).context.details
        assert isinstance(found, CalibrationSearch), "made by `steps`"  # noqa: S101
        return found
