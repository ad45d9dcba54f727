"""Every number of the calibration solver, in one record."""

from dataclasses import dataclass

from szoht.algorithms.solver_numbers import SolverNumbers

__all__ = ["CalibrationPolicy"]


@dataclass(frozen=True, kw_only=True, repr=False)
class CalibrationPolicy(SolverNumbers):
    """The numbers by which the solver decides.

    Lengths are in units: a quarter of a finite box, or one natural change of a variable.
    "Misfit" is the sum of squares of the weighted residuals.
    """

    # probes
    first_length: float = 0.05
    """Length of the first probe, ..."""
    first_length_noisy: float = 0.1
    """... under fresh noise (0.05 and 0.2 lose half of the noisy ODE problems, 0.1 one of ten)."""
    longest: float = 0.5
    """No probe is longer."""
    longest_few: float = 0.3
    """No probe of a few variables is longer."""
    shortest: float = 1e-6
    """No probe is shorter: rounding takes over."""
    length_trials: int = 6
    """Probes at most until a length is accepted."""
    response_to_noise: float = 2.0
    """A probe is long enough if outputs respond by so many standard deviations of fresh noise.

    Noise averages out over outputs and probes, curvature does not."""
    linear_error: float = 0.25
    """A quarter of a probe must predict the whole up to this share."""
    even_share: float = 0.2
    """Beyond this ratio of even to odd response, a failed prediction is curvature, not error."""

    # sensing
    fewest_probes: int = 8
    """At least so many probes before the Jacobian is estimated."""
    probes_factor: float = 1.1
    """First probes, in k ln(d/k) / ln(1 + min(m, k))."""
    batch: int = 5
    batch_share: float = 1 / 6
    """Further probes come in batches: the larger of a number and a share of those made."""
    heldout_error: float = 0.25
    """Sensing ends once a batch is predicted up to this share ..."""
    noise_factor: float = 1.5
    """... or up to this many times what noise alone explains."""
    sensing_share: float = 0.45
    """Of a budget, probes before the first move take at most this share."""
    extra_rows: int = 5
    """More probes than variables and so many make nothing better known."""
    trial_error: float = 0.8
    """From this held-out error on, the best support may be tried while sensing ..."""
    trial_promise: float = 0.3
    """... if its expected misfit is below this share of the start's."""
    trial_success: float = 0.02
    """A trial that reaches this share of the start's misfit ends sensing ..."""
    known_error: float = 0.4
    known_success: float = 0.1
    """... or, at a held-out error below this, this share."""

    # posterior
    whitening: float = 0.5
    """Power of the singular values of the responses from which variances are learned.

    1 is plain sparse Bayesian learning; half-whitening decides where outputs are correlated."""
    smooth_lengths: tuple[float, ...] = (2.0, 4.0, 8.0)
    """Numbers of neighbors over which columns may be alike, besides none: whichever predicts new
    probes best. Smoothing needs 25 probes in place of 110 where variables are places in space."""
    sweeps: int = 120
    """Iterations of sparse Bayesian learning."""
    refills: int = 3
    """Times that missing responses are filled in with what the fit expects of them."""
    all_columns: int = 400
    """Up to so many variables all columns are kept ..."""
    kept_columns: int = 100
    """... of more, the largest so many."""
    drift: float = 0.3
    """Relative change of the Jacobian over a move of one unit."""
    drift_floor: float = 0.02
    """Share of the prior variance that drifts even where a column is known to be small."""
    probe_error: float = 0.02
    """Relative error of a response to a probe, besides noise: curvature."""

    # support search
    beam: int = 30
    """Supports kept for each size."""
    swap_starts: int = 4
    """Supports from which the best exchange is followed."""
    most_swaps: int = 12
    """Supports whose exchanges are listed."""
    alternatives: int = 12
    """Best supports that are compared and looked at when probing again."""
    typical_step: float = 0.3
    """Length of a move for which the quartic term is a quadratic."""
    shortest_step: float = 0.03
    reweightings: int = 4
    """Passes in which the quartic term is fitted to the actual length of a move."""

    # moves
    damping_start: float = 0.1
    damping_floor: float = 0.003
    damping_factor: float = 3.0
    """Weight of the quartic term: divided after good predictions, multiplied after bad ones."""
    good_prediction: float = 0.7
    fair_prediction: float = 0.5
    """Ratio of actual to predicted decrease."""
    stay: float = 1.5
    """The support is kept unless another is expected to be better by this factor."""
    promise: float = 0.9
    """A move is worth a simulation if it is expected to reach this share of the misfit."""
    contradictions: int = 2
    """Moves in a row that disappoint before the Jacobian is probed again."""
    lost_deviations: float = 2.0
    """With sigma given, a lost output counts as at least so many of its standard deviations."""
    shortenings: int = 4
    """Times that a move is halved while outputs are lost."""

    # when nothing is promised
    optimistic_damping: float = 0.001
    """Weight of the quartic term where the mean Jacobian is taken for the truth: exchanges of like
    columns are long moves whose errors cancel (0.01 loses 4 of 6 heat equations, this 2)."""
    excursions: int = 3
    """Other supports that are followed in a row, from the best point, ..."""
    excursion_moves: int = 5
    """... for so many moves at most, until one of them is better."""
    broad_probes: int = 8
    """Probes of all variables at the current point, or 2 k if that is more."""
    stalled_rounds: int = 1
    """Rounds of probing and excursions without a gain before the search ends or restarts."""
    most_failed: int = 20
    failed_plans: int = 3
    """The search ends after so many failures in a row, in at least so many plans."""
    compared: int = 12
    """Columns that are measured at most at an answer, for exchanges that may be better."""
    exchanges: int = 6
    """Other supports that are followed at most at an answer, until one of them is better."""
    reach: float = 4.0
    """A change is at most so long where no bound says less: a box is four units wide."""
    restarts: int = 3
    """Restarts from the start, by way of other supports."""
    path_moves: int = 4
    path_gain: float = 0.1
    """Moves for each k of a path, while each of them gains this share of the misfit."""
    gain: float = 1e-3
    """A gain of less than this share of the misfit does not postpone the end."""
    exact: float = 1e-14
    """A misfit below this share of the start's is zero."""
    explained: float = 0.95
    """With sigma given, a misfit below this quantile of chi-square is explained by it."""
    far_from_sigma: float = 0.001
    """A misfit that chi-square leaves to either side with this probability contradicts sigma."""
    noise_deviations: float = 2.0
    """The search ends within so many standard deviations of the misfit of fresh noise."""
    outlier: float = 5.0
    """With a robust loss, outputs this many scales off are left out after the first stall."""
