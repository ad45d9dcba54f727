"""The posterior of the Jacobian: one mean for each output, one covariance shared by all of them.

Every simulation is a linear measurement of the Jacobian. Probes of all variables at once are fitted
by sparse Bayesian learning with many right-hand sides (M-SBL), later ones by rank-one updates.

References: D. Wipf and B. Rao, "An empirical Bayesian strategy for solving the simultaneous sparse
approximation problem", IEEE Transactions on Signal Processing 55 (2007); C. Broyden, "A class of
methods for solving nonlinear simultaneous equations", Mathematics of Computation 19 (1965).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.types import Indices, Mask, Vector

__all__ = ["JacobianPosterior", "JacobianPrior", "PriorVariances", "ProbeFit", "learn_variances"]

NEAR_ZERO = 1e-300
SMALLEST_SINGULAR_VALUE = 1e-9
"""Relative to the largest: smaller ones are rounding."""
LEAST_ERROR = 1e-8
"""Variance of the errors relative to the responses: rounding."""
FIRST_ERROR = 0.1
"""Share of the responses that are taken for errors to begin with."""
CONVERGED_CHANGE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class JacobianPosterior:
    """What is known about the Jacobian at the center of the search.

    Row j of the Jacobian, restricted to ``columns``, has the mean ``mean[j]``; the covariance of
    all rows together is ``scale * covariance``: it is in the units of the misfit. ``prior`` are the
    variances before any measurement, and ``correlation`` how columns change with one another, None
    if each changes on its own; ``error`` is the variance of a response to a probe of unit length.
    ``moved`` has the variables whose columns were measured by a difference of their own, and how
    far the center has moved since.
    """

    columns: Indices
    mean: Vector
    covariance: Vector
    scale: float
    prior: Vector
    error: float
    correlation: Vector | None = None
    moved: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, n_outputs: int, scale: float) -> "JacobianPosterior":
        """Return the posterior of no column."""
        return cls(
            columns=np.empty(0, dtype=np.intp),
            mean=np.zeros((n_outputs, 0)),
            covariance=np.zeros((0, 0)),
            scale=scale,
            prior=np.empty(0),
            error=0.0,
        )

    def widened(self, variables: Indices, prior: Vector) -> "JacobianPosterior":
        """Return the posterior with columns of further variables, of which nothing is known."""
        order = np.argsort(np.append(self.columns, variables), kind="stable")
        n, size = self.columns.size, order.size
        mean, covariance = np.zeros((len(self.mean), size)), np.zeros((size, size))
        mean[:, :n], covariance[:n, :n] = self.mean, self.covariance
        covariance[range(n, size), range(n, size)] = prior
        return replace(
            self,
            columns=np.append(self.columns, variables)[order],
            mean=mean[:, order],
            covariance=covariance[np.ix_(order, order)],
            prior=np.append(self.prior, prior)[order],
            correlation=None,
        )

    def measured(self, variables: Iterable[int]) -> "JacobianPosterior":
        """Return the posterior with the columns of variables as measured at the center."""
        return replace(self, moved={**self.moved, **dict.fromkeys(variables, 0.0)})

    def response(self, step: Vector) -> Vector:
        """Return the expected change of the outputs."""
        return np.asarray(self.mean @ step[self.columns])

    def variance(self, step: Vector) -> float:
        """Return the uncertainty of that change, in units of the misfit."""
        v = step[self.columns]
        return self.scale * max(float(v @ self.covariance @ v), 0.0)

    def updated(self, step: Vector, change: Vector, error: float) -> "JacobianPosterior":
        """Return the posterior after a simulation ``step`` away changed outputs by ``change``.

        A Broyden update in the metric of what is unknown. Outputs that are NaN stay as they are.
        ``error`` is the variance of the measurement, in units of ``scale``.
        """
        v = step[self.columns]
        gain = self.covariance @ v
        total = float(v @ gain) + error
        present = np.isfinite(change)
        if total <= 0 or not present.any():
            return self
        surprise = np.where(present, change - self.mean @ v, 0.0)
        return replace(
            self,
            mean=self.mean + np.outer(surprise, gain / total),
            covariance=self.covariance - np.outer(gain, gain / total),
        )

    def drifted(self, length: float, policy: CalibrationPolicy) -> "JacobianPosterior":
        """Return the posterior at a center that is ``length`` away: the Jacobian has changed."""
        sizes = (self.mean**2).sum(axis=0) / max(
            self.scale, NEAR_ZERO
        ) + policy.drift_floor * self.prior
        root = policy.drift * length * np.sqrt(sizes)
        added = np.diag(root**2)
        if self.correlation is not None:
            added = np.outer(root, root) * self.correlation
        moved = {variable: far + length for variable, far in self.moved.items()}
        return replace(self, covariance=self.covariance + added, moved=moved)

    def move_error(self, step: Vector, probe_length: float, policy: CalibrationPolicy) -> float:
        """Return the variance of what a move tells: errors of values, and curvature."""
        length = float(np.abs(step[self.columns]).max(initial=0.0))
        curvature = (0.5 * policy.drift * length) ** 2 * self._power(step)
        return self.error * probe_length**2 + curvature

    def probe_error(self, step: Vector, noise: float, policy: CalibrationPolicy) -> float:
        """Return the variance of what a probe at the center tells, noise in units of the misfit."""
        return max(self.difference_error(step, noise), policy.probe_error**2 * self._power(step))

    def difference_error(self, step: Vector, noise: float) -> float:
        """Return that variance where the difference itself is wanted, curvature and all."""
        v = step[self.columns]
        return max(2 * noise / max(self.scale, NEAR_ZERO), 1e-4 * float(v @ self.covariance @ v))

    def _power(self, step: Vector) -> float:
        return float((self.response(step) ** 2).sum()) / max(self.scale, NEAR_ZERO)


class PriorVariances(NamedTuple):
    """The variance of each column, and of the errors, up to a common factor."""

    columns: Vector
    error: float


def learn_variances(design: Vector, responses: Vector, policy: CalibrationPolicy) -> PriorVariances:
    """Learn which columns matter from responses of shape (n_probes, n_outputs), all finite.

    The multiplicative updates of sparse Bayesian learning on half-whitened outputs: many outputs
    that tell the same count less than few that tell different things. O(n_probes^2 d) per sweep.
    """
    n, d = design.shape
    left, sizes, _ = np.linalg.svd(responses, full_matrices=False)
    if not sizes.size or sizes[0] == 0:
        return PriorVariances(np.ones(d), 1.0)  # nothing responds, nothing is learned
    rank = int((sizes > SMALLEST_SINGULAR_VALUE * sizes[0]).sum())
    signals = left[:, :rank] * (sizes[:rank] / sizes[0]) ** policy.whitening * np.sqrt(rank)
    power = float((signals**2).sum()) / (n * rank)
    variances = np.full(d, power / float((design**2).sum(axis=1).mean()))
    error = FIRST_ERROR * power
    for _ in range(policy.sweeps):
        inverse = np.linalg.inv(_gram(design, variances, error))
        weighted = inverse @ design
        certainty = np.maximum((design * weighted).sum(axis=0), NEAR_ZERO)
        evidence = ((weighted.T @ signals) ** 2).sum(axis=1) / rank
        unexplained = float(((inverse @ signals) ** 2).sum()) / rank
        error *= np.sqrt(unexplained / float(np.trace(inverse)))
        error = max(error, LEAST_ERROR * power)
        new = variances * np.sqrt(evidence / certainty)
        change = float(np.abs(new - variances).max()) / float(variances.max())
        variances = new
        if change < CONVERGED_CHANGE:
            break
    return PriorVariances(variances, float(error))


@dataclass(frozen=True, kw_only=True, eq=False)
class JacobianPrior:
    """Columns with variances of their own, or sums of smooth ones where neighbors are alike.

    The covariance is diag(variances), or B diag(variances) B' + floor with the smoothing matrix B
    of a correlation length. The last variance is that of what all probes have in common.
    """

    variances: Vector
    error: float
    floor: float
    smoothing: Vector | None

    @classmethod
    def learned(
        cls, design: Vector, responses: Vector, smoothing: Vector | None, policy: CalibrationPolicy
    ) -> "JacobianPrior":
        """Learn the variances from probes; all responses are finite."""
        d, inner = design.shape[1] - 1, design
        if smoothing is not None:
            inner = np.column_stack([design[:, :d] @ smoothing, design[:, d]])
        variances, error = learn_variances(inner, responses, policy)
        # what is not explained is spread over all columns: none is lost for good
        floor = error / max(float((design[:, :d] ** 2).sum(axis=1).mean()), NEAR_ZERO)
        if smoothing is None:
            variances = np.append(np.maximum(variances[:d], floor), variances[d])
        return cls(variances=variances, error=error, floor=floor, smoothing=smoothing)

    def spread(self, design: Vector) -> Vector:
        """Return the design times the covariance."""
        if self.smoothing is None:
            return design * self.variances
        inner = design[:, :-1]
        smooth = ((inner @ self.smoothing) * self.variances[:-1]) @ self.smoothing.T
        return np.column_stack([smooth + self.floor * inner, design[:, -1] * self.variances[-1]])

    def block(self, columns: Indices) -> Vector:
        """Return the covariance of some columns."""
        if self.smoothing is None:
            return np.diag(self.variances[columns])
        part = self.smoothing[columns]
        return (part * self.variances[:-1]) @ part.T + self.floor * np.eye(columns.size)


def smoothing_matrix(d: int, length: float) -> Vector | None:
    """Return a kernel over the order of the variables, None for no smoothing."""
    if length == 0:
        return None
    places = np.arange(d)
    return np.asarray(np.exp(-0.5 * ((places[:, np.newaxis] - places) / length) ** 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class ProbeFit:
    """What probes around one center say; the last column of the design is no variable.

    That column takes what all probes have in common, such as the trace of the Hessian.
    """

    design: Vector
    responses: Vector
    prior: JacobianPrior
    mean: Vector

    @classmethod
    def of(
        cls, design: Vector, responses: Vector, policy: CalibrationPolicy, length: float = 0.0
    ) -> "ProbeFit":
        """Fit responses of shape (n_probes, n_outputs), which may be NaN in part.

        ``length`` is over how many variables columns are alike, in the order of the variables.
        """
        smoothing = smoothing_matrix(design.shape[1] - 1, length)
        filled = _filled(design, responses)
        prior = JacobianPrior.learned(design, filled, smoothing, policy)
        mean = _means(design, responses, prior)
        for _ in range(0 if np.isfinite(responses).all() else policy.refills):
            filled = np.where(np.isfinite(responses), responses, design @ mean.T)
            prior = JacobianPrior.learned(design, filled, smoothing, policy)
            mean = _means(design, responses, prior)
        return cls(design=design, responses=filled, prior=prior, mean=mean)

    def predicted(self, rows: Vector) -> Vector:
        """Return the responses that are expected of further probes, one row each."""
        return np.asarray(rows @ self.mean.T)

    def posterior(self, keep: Indices, policy: CalibrationPolicy) -> JacobianPosterior:
        """Return the posterior of the columns that matter, and of those in ``keep``."""
        prior = self.prior
        spread = prior.spread(self.design)
        inverse = np.linalg.inv(_with_error(spread @ self.design.T, prior.error))
        scale = float((self.responses * (inverse @ self.responses)).sum()) / len(spread)
        columns = _largest_columns(self.mean[:, :-1], keep, policy)
        before = prior.block(columns)
        part = spread[:, columns]
        root = np.sqrt(before.diagonal())
        smooth = prior.smoothing is not None
        return JacobianPosterior(
            columns=columns,
            mean=self.mean[:, columns],
            covariance=before - part.T @ inverse @ part,
            scale=scale,
            prior=before.diagonal(),
            error=prior.error,
            correlation=before / np.outer(root, root) if smooth else None,
        )


def _gram(design: Vector, variances: Vector, error: float) -> Vector:
    return _with_error((design * variances) @ design.T, error)


def _with_error(gram: Vector, error: float) -> Vector:
    gram.flat[:: len(gram) + 1] += error
    return gram


def _means(design: Vector, responses: Vector, prior: JacobianPrior) -> Vector:
    """Return the mean of the Jacobian, (n_outputs, d), each output from the probes that have it."""
    mean = np.zeros((responses.shape[1], design.shape[1]))
    spread = prior.spread(design)
    gram = _with_error(spread @ design.T, prior.error)
    for rows, outputs in _patterns(np.isfinite(responses)):
        if rows.any():
            solved = np.linalg.solve(gram[np.ix_(rows, rows)], responses[np.ix_(rows, outputs)])
            mean[outputs] = solved.T @ spread[rows]
    return mean


def _filled(design: Vector, responses: Vector) -> Vector:
    """Return the responses with missing ones predicted by ridge regression on the others."""
    present = np.isfinite(responses)
    if present.all():
        return responses
    flat = JacobianPrior(
        variances=np.ones(design.shape[1]),
        error=FIRST_ERROR * float((design**2).sum(axis=1).mean()),
        floor=0.0,
        smoothing=None,
    )
    guess = design @ _means(design, responses, flat).T
    return np.where(present, responses, guess)


def _patterns(present: Mask) -> list[tuple[Mask, Indices]]:
    """Return which probes some outputs are present in, and those outputs."""
    patterns, group = np.unique(present, axis=1, return_inverse=True)
    return [(patterns[:, i], np.flatnonzero(group.ravel() == i)) for i in range(patterns.shape[1])]


def _largest_columns(mean: Vector, keep: Indices, policy: CalibrationPolicy) -> Indices:
    d = mean.shape[1]
    if d <= policy.all_columns:
        return np.arange(d)
    sizes = (mean**2).sum(axis=0)
    largest = np.argpartition(-sizes, policy.kept_columns)[: policy.kept_columns]
    return np.union1d(largest, keep)
