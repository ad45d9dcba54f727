"""Before the first move: fresh noise, the length of probes, and the Jacobian from few of them."""

import math

import numpy as np

from szoht.algorithms.calibration.posterior import ProbeFit
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.generator import Steps
from szoht.errors import EvaluationError
from szoht.types import Vector

__all__ = [
    "ProbeData",
    "ProbeFits",
    "add_probes",
    "choose_length",
    "good_error",
    "measure_start",
    "relative_error",
    "sense",
]


class ProbeData:
    """Rows of the design, and responses to probes, per unit of length."""

    def __init__(self) -> None:
        self.rows: list[Vector] = []
        self.responses: list[Vector] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Vector, response: Vector, length: float) -> None:
        """Keep a probe unless it failed; the last entry of its row is what probes share."""
        if np.isfinite(response).any():
            self.rows.append(np.append(row / length, 1.0))
            self.responses.append(response / length)

    def arrays(self, start: int = 0) -> tuple[Vector, Vector]:
        """Return the design and the responses."""
        return np.array(self.rows[start:]), np.array(self.responses[start:])


def measure_start(search: CalibrationSearch) -> Steps[bool]:
    """Simulate the start twice; tell whether it could be simulated.

    Fresh noise is known from one repetition: it has as many degrees of freedom as outputs.
    """
    start = search.domain.from_z(search.outer.x)
    (first,) = yield from search.simulate([start])
    if not np.isfinite(first).any():
        return False
    if search.left >= 2:  # noqa: PLR2004
        (again,) = yield from search.simulate([start])
        both = np.isfinite(first) & np.isfinite(again)
        if both.any():
            search.noise = float(np.sqrt(np.mean((again - first)[both] ** 2) / 2))
            mean = np.where(both, (first + again) / 2, np.where(np.isfinite(first), first, again))
            search.begin_at(start, mean)
    return True


def choose_length(search: CalibrationSearch, probes: ProbeData) -> Steps[None]:
    """Find a length at which outputs respond to probes beyond noise, and linearly."""
    policy = search.policy
    search.length = policy.first_length if search.noise == 0 else policy.first_length_noisy
    responded = False
    for _ in range(policy.length_trials):
        step, row = search.domain.sign_probe(
            search.generator(), search.center, search.length, share=search.share
        )
        change = yield from _response(search, step)
        size = _rms(change)
        responded |= size > 0
        if math.isnan(size):
            _shorten_after_failure(search)
        elif size == 0 or size < policy.response_to_noise * search.noise:
            if search.length >= policy.longest and size > 0:
                probes.add(row, change, search.length)
                break
            _lengthen(search, size)
        elif (
            search.noise > 0
            or search.domain.grid.any()
            or (yield from _is_linear(search, step, change))
        ):
            probes.add(row, change, search.length)
            break
    if not responded and search.failures == 0:
        raise EvaluationError(
            f"none of the {search.start_residuals.size} outputs changed when all variables were "
            f"moved by up to {search.length:g} units: check that `fun` uses its argument"
        )
    search.explain(f"probes of {search.length:.3g} units; fresh noise {search.noise:.3g}.")


def _response(search: CalibrationSearch, step: Vector) -> Steps[Vector]:
    (row,) = yield from search.simulate([search.center + step])
    return np.asarray(row - search.center_residuals)


def _rms(change: Vector) -> float:
    """Return the root mean square of what is present; NaN for a probe that failed."""
    present = np.isfinite(change)
    return float(np.sqrt(np.mean(change[present] ** 2))) if present.any() else math.nan


def _shorten_after_failure(search: CalibrationSearch) -> None:
    search.length = max(search.length / 4, search.policy.shortest)
    if search.failures > 1:  # fewer variables at once may be bearable
        search.share = max(search.share / 2, 1 / search.domain.d)


def _lengthen(search: CalibrationSearch, size: float) -> None:
    policy, factor = search.policy, 4.0
    if search.noise > 0:
        wanted = 2 * policy.response_to_noise * search.noise
        factor = float(np.clip(wanted / max(size, 1e-300), 1.5, 16))
    longest = policy.longest if search.noise > 0 else 1.0
    search.length = min(longest, factor * search.length)


def _is_linear(search: CalibrationSearch, step: Vector, change: Vector) -> Steps[bool]:
    """Compare with a quarter of the probe; adapt the length if it does not predict the whole."""
    policy = search.policy
    quarter = yield from _response(search, step / 4)
    error = _rms(4 * quarter - change)
    if error <= policy.linear_error * _rms(change):
        return True
    mirrored = search.domain.within(search.center, -step)
    back = yield from _response(search, mirrored)
    even, odd = _rms(change + back), _rms(change - back)
    if not even <= policy.even_share * odd:
        search.length = max(search.length / 3, policy.shortest)
        search.explain(f"outputs are curved: probes of {search.length:.3g} units.")
    else:
        search.length = min(policy.longest, 3 * search.length)
        search.explain(f"outputs are rough: probes of {search.length:.3g} units.")
    return False


def sense(search: CalibrationSearch) -> Steps["ProbeFits"]:
    """Probe until the Jacobian predicts new probes, or a support that it suggests is good."""
    fits, most = ProbeFits(search), _most_probes(search)
    probes = fits.probes
    yield from choose_length(search, probes)
    tried: list[tuple[Vector, Vector]] = []
    while len(probes) < most:
        before = len(probes)
        wanted = max(_first_count(search) - before, 0) or _batch(search, before)
        yield from add_probes(search, probes, min(wanted, most - before))
        if len(probes) == before:
            if 2 * search.failures > search.spent:
                break
            continue
        error = fits.update(before)
        if error < good_error(search, probes, before):
            break
        if error < search.policy.trial_error and (yield from _try_support(search, tried, error)):
            break
    if search.posterior is not None:
        search.unsteady = np.asarray(np.isnan(probes.arrays()[1]).any(axis=0))
        _learn_from_trials(search, tried)
    return fits


class ProbeFits:
    """Fits with different correlation lengths, judged by how they predict new probes."""

    def __init__(self, search: CalibrationSearch) -> None:
        self.search = search
        self.probes = ProbeData()
        small = search.domain.d <= search.policy.all_columns
        self.lengths = (0.0, *(search.policy.smooth_lengths if small else ()))
        self.fits: list[ProbeFit] = []
        self.best = 0

    def add(self) -> Steps[None]:
        """Make another batch of probes at the start, which is the center."""
        before = len(self.probes)
        yield from add_probes(self.search, self.probes, _batch(self.search, before))
        if len(self.probes) > before:
            self.update(before)

    def update(self, before: int) -> float:
        """Fit all probes; return the error with which those after ``before`` were predicted."""
        search, probes = self.search, self.probes
        design, responses = probes.arrays(before)
        errors = [relative_error(fit.predicted(design), responses) for fit in self.fits]
        error = math.inf
        if errors:
            self.best = int(np.argmin(errors))
            error = errors[self.best]
        policy = search.policy
        self.fits = [ProbeFit.of(*probes.arrays(), policy, length) for length in self.lengths]
        fit = self.fits[self.best]
        search.posterior = fit.posterior(np.flatnonzero(search.center), policy)
        length = search.smooth_length = self.lengths[self.best]
        if errors:
            alike = f"; {length:g} neighbors are alike" if length else ""
            search.explain(f"{len(probes)} probes; error of the prediction {error:.2g}{alike}.")
        return error


def _learn_from_trials(search: CalibrationSearch, tried: list[tuple[Vector, Vector]]) -> None:
    """Learn from the trials, the best of them last, which is the center if it is better."""
    for point, residuals in sorted(tried, key=lambda one: -search.misfit_of(one[1])):
        if search.is_better(search.misfit_of(residuals)):
            search.move_to(point, residuals)
        else:
            search.learn_from_move(point, residuals)


def _first_count(search: CalibrationSearch) -> int:
    policy, k = search.policy, search.k
    d = int(search.domain.free.sum())
    measurements = k * math.log(max(d / k, 1.0)) / math.log(1 + max(min(search.m, k), 1))
    return math.ceil(max(policy.fewest_probes, policy.probes_factor * measurements))


def _most_probes(search: CalibrationSearch) -> int:
    policy = search.policy
    most = int(search.domain.free.sum()) + policy.extra_rows
    if search.budget is None:
        return most
    return max(1, min(most, int(policy.sensing_share * search.budget)))


def _batch(search: CalibrationSearch, made: int) -> int:
    return max(search.policy.batch, int(search.policy.batch_share * made))


def add_probes(search: CalibrationSearch, probes: ProbeData, count: int) -> Steps[None]:
    """Make a batch of probes in one plan."""
    generator = search.generator()
    made = [
        search.domain.sign_probe(generator, search.center, search.length, share=search.share)
        for _ in range(search.affordable(count))
    ]
    rows = yield from search.simulate([search.center + probe.step for probe in made])
    failed = 0
    for probe, residuals in zip(made, rows, strict=True):
        failed += not np.isfinite(residuals).any()
        probes.add(probe.row, residuals - search.center_residuals, search.length)
    if 2 * failed > len(made):
        _shorten_after_failure(search)


def relative_error(expected: Vector, responses: Vector) -> float:
    """Return the error of a prediction of probes, relative to their responses."""
    present = np.isfinite(responses)
    error = np.where(present, responses - expected, 0.0)
    power = float((np.where(present, responses, 0.0) ** 2).sum())
    return math.sqrt(float((error**2).sum()) / power) if power > 0 else math.inf


def good_error(search: CalibrationSearch, probes: ProbeData, before: int) -> float:
    """Return the error at which sensing ends: noise cannot be predicted."""
    _, responses = probes.arrays(before)
    floor = math.sqrt(2) * search.noise / search.length / max(_rms(responses), 1e-300)
    return max(search.policy.heldout_error, search.policy.noise_factor * floor)


def _try_support(
    search: CalibrationSearch, tried: list[tuple[Vector, Vector]], error: float
) -> Steps[bool]:
    """Simulate the best support while sensing, if it promises much; tell whether it kept that."""
    policy = search.policy
    search.damping = policy.damping_start
    found = search.model().search(search.k, 1)
    if not found or found[0].misfit >= policy.trial_promise * search.misfit:
        return False
    point = search.point_of(found[0])
    (residuals,) = yield from search.simulate([point])
    reached = search.misfit_of(residuals)
    search.explain(f"trial of a support: misfit {reached:.4g}, expected {found[0].misfit:.4g}.")
    if math.isfinite(reached):
        tried.append((point, residuals))
    success = policy.known_success if error < policy.known_error else policy.trial_success
    return reached < success * search.misfit
