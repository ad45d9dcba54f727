"""Sparse regression and classification problems with random designs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from szoht.core.objective import Objective
from szoht.core.random import as_seed
from szoht.core.validation import check_choice, check_integer, check_real, frozen
from szoht.errors import ParameterError
from szoht.problems.base import Problem
from szoht.types import Sample, Vector

__all__ = [
    "LOSSES",
    "STEP_LOSSES",
    "LinearModel",
    "Loss",
    "LossName",
    "coefficients",
    "recovery",
]

LossName: TypeAlias = Literal["squares", "absolute", "logistic", "poisson", "errors", "auc"]

Rng: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None


def _squares(eta: Vector, observations: Vector) -> Vector:
    return _mean(0.5 * (eta - observations) ** 2)


def _absolute(eta: Vector, observations: Vector) -> Vector:
    return _mean(np.abs(eta - observations))


def _logistic(eta: Vector, observations: Vector) -> Vector:
    return _mean(np.logaddexp(0.0, -observations * eta))


def _poisson(eta: Vector, observations: Vector) -> Vector:
    return _mean(np.exp(np.minimum(eta, MAX_LOG_RATE)) - observations * eta)


def _errors(eta: Vector, observations: Vector) -> Vector:
    return _mean(observations * eta <= 0.0)


def _auc(eta: Vector, observations: Vector) -> Vector:
    """Return 1 - AUC, the fraction of misordered pairs; ties count one half."""
    rows = eta.reshape(-1, observations.size)
    return np.array([_misordered_fraction(row, observations) for row in rows]).reshape(
        eta.shape[:-1]
    )


def _misordered_fraction(eta: Vector, observations: Vector) -> float:
    positive, negative = eta[observations > 0], np.sort(eta[observations < 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(
        negative, positive, "right"
    )
    return 1.0 - 0.5 * float(below.mean()) / negative.size


def _mean(losses: Vector | np.ndarray) -> Vector:
    means: Vector = losses.mean(axis=-1)
    return means


MAX_LOG_RATE = 30.0
"""Linear predictors of rates are clipped here, against overflow."""

Loss: TypeAlias = Callable[[Vector, Vector], Vector]
"""From linear predictors, shape (..., n), and observations to mean losses, shape (...)."""


def _expit(eta: Vector) -> Vector:
    """Return 1 / (1 + exp(-eta))."""
    from scipy.special import expit  # noqa: PLC0415  (slow to import)

    chances: Vector = expit(eta)
    return chances


LOSSES: dict[str, Loss] = {
    "squares": _squares,
    "absolute": _absolute,
    "logistic": _logistic,
    "poisson": _poisson,
    "errors": _errors,
    "auc": _auc,
}

STEP_LOSSES = ("errors", "auc")
"""Piecewise constant, and constant along rays: no gradient, and 0 is not a useful start."""

_DERIVATIVES: dict[str, Loss] = {
    "squares": lambda eta, observations: eta - observations,
    "logistic": lambda eta, observations: -observations * _expit(-observations * eta),
    "poisson": lambda eta, observations: np.exp(np.minimum(eta, MAX_LOG_RATE)) - observations,
}

_CURVATURES = {"squares": 1.0, "logistic": 0.25}
"""Largest second derivative of a loss."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearModel:
    """f(x) = mean_i loss(a_i'x, b_i) + ridge/2 |x|^2 over the rows a_i of a design.

    Parameters
    ----------
    design : array of shape (n, d)
        The rows a_i.
    observations : array of shape (n,)
        The observations b_i.
    true_coefficients : array of shape (d,)
        The coefficients that generated the observations.
    loss : str
        A name in `LOSSES`.
    ridge : float >= 0
        Weight of the squared norm.
    """

    design: Vector
    observations: Vector
    true_coefficients: Vector
    loss: str
    ridge: float = 0.0

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f(x), over the rows in ``sample`` if it is given."""
        design, observations = self._rows(sample)
        loss = float(LOSSES[self.loss](design @ x, observations))
        return loss + 0.5 * self.ridge * float(x @ x)

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at each row of ``points``."""
        design, observations = self._rows(sample)
        losses = LOSSES[self.loss](points @ design.T, observations)
        values: Vector = losses + 0.5 * self.ridge * (points**2).sum(axis=1)
        return values

    def gradient(self, x: Vector, sample: Sample = None) -> Vector:
        """Return the gradient of a smooth loss."""
        design, observations = self._rows(sample)
        slopes: Vector = (
            design.T @ _DERIVATIVES[self.loss](design @ x, observations) / observations.size
        )
        return slopes + self.ridge * x

    def _rows(self, sample: Sample) -> tuple[Vector, Vector]:
        if sample is None:
            return self.design, self.observations
        return self.design[sample], self.observations[sample]


def recovery(
    n: int = 200,
    d: int = 1000,
    k_star: int = 10,
    *,
    noise: float = 0.01,
    correlation: float = 0.0,
    loss: LossName = "squares",
    ridge: float = 0.0,
    finite_sum: bool = False,
    rng: Rng = 0,
) -> Problem:
    r"""Return a sparse regression or classification problem that a known sparse model generated.

    .. math:: f(x) = \frac1n \sum_{i=1}^n \ell(a_i^\top x, b_i) + \frac{ridge}{2} \|x\|^2

    The rows a_i are normal with covariance correlation^|i-j|. The model has k_star coefficients
    at random positions, of random sign and magnitude in [0.5, 1.5] ([0.2, 0.6] for counts).

    Parameters
    ----------
    n, d, k_star : int
        Rows, coefficients and how many of them are non-zero, in [1, d].
    noise : float >= 0
        Standard deviation of b_i around a_i'x for "squares" and "absolute"; for "errors" and
        "auc" that of a_i'x before its sign is taken, relative to its own spread. Classes of
        "logistic" and counts of "poisson" are random by themselves and ignore it.
    correlation : float in [0, 1)
        Between neighboring columns.
    loss : {"squares", "absolute", "logistic", "poisson", "errors", "auc"}
        ``(eta-b)^2/2``, ``|eta-b|``, ``log(1+exp(-b eta))``, ``exp(eta)-b eta``, the fraction of
        wrong signs, and 1 - AUC. The last two have no gradient; they start from 1/k_star on the
        first k_star coordinates, since they are constant along rays.
    ridge : float >= 0
        Weight of the squared norm.
    finite_sum : bool
        State f as a mean over its n rows, for methods that sample them. Not for "auc".
    rng : None, int, Generator or SeedSequence
        Random seed of the design, the model and the observations.

    Returns
    -------
    Problem
        ``best`` is the smallest value found on the support of the model, which is not always the
        best support; ``constants`` has the smoothness where it is known and ``noise``.

    Examples
    --------
    >>> problem = recovery(n=100, d=50, k_star=3, rng=1)
    >>> import szoht
    >>> result = szoht.minimize(
    ...     problem.objective, problem.x0, k=3, method="auto", max_queries=2_000, rng=0
    ... )
    >>> bool((result.support == problem.best_support).all())
    True
    """
    check_integer("n", n, low=1)
    check_integer("d", d, low=1)
    check_integer("k_star", k_star, low=1, high=d, high_name="d")
    check_choice("loss", loss, tuple(LOSSES))
    check_real("noise", noise, low=0.0)
    check_real("correlation", correlation, low=0.0, high=1.0 - 1e-12)
    check_real("ridge", ridge, low=0.0)
    if finite_sum and loss == "auc":
        raise ParameterError("`finite_sum` needs a loss that is a mean over rows; got loss='auc'.")
    generator = _generator(rng)
    low, high = (0.2, 0.6) if loss == "poisson" else (0.5, 1.5)
    true_coefficients = coefficients(generator, d, k_star, low, high)
    design = _design(generator, n, d, correlation)
    observations = _observe(generator, design @ true_coefficients, noise, loss)
    model = LinearModel(
        design=frozen(design),
        observations=frozen(observations),
        true_coefficients=frozen(true_coefficients),
        loss=loss,
        ridge=ridge,
    )
    x0 = np.zeros(d)
    if loss in STEP_LOSSES:
        x0[:k_star] = 1.0 / k_star
    best_x = _refit(model)
    return Problem(
        name=f"recovery-{loss}-n{n}-d{d}-k{k_star}",
        objective=_objective(model, n if finite_sum else None),
        x0=x0,
        k=k_star,
        constants={"noise": noise, "k_star": k_star, **_smoothness(model)},
        best=model.value(best_x),
        best_x=best_x,
        best_source="best known: minimized over the support of the model that generated the data",
        reference=model.true_coefficients,
        citation="Synthetic; see T. Hastie, R. Tibshirani, M. Wainwright (2015), Statistical "
        "Learning with Sparsity, chapters 2 and 3.",
    )


def coefficients(
    rng: np.random.Generator, d: int, k: int, low: float = 0.5, high: float = 1.5
) -> Vector:
    """Return a vector with k non-zeros at random positions, of random signs and magnitudes.

    >>> coefficients(np.random.default_rng(0), 5, 2).round(2)
    array([ 0.  ,  0.  ,  0.  , -0.52, -1.31])
    """
    x = np.zeros(d)
    support = rng.choice(d, size=k, replace=False)
    x[support] = rng.choice([-1.0, 1.0], size=k) * rng.uniform(low, high, size=k)
    return x


def _generator(rng: Rng) -> np.random.Generator:
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(as_seed(rng))


def _design(rng: np.random.Generator, n: int, d: int, correlation: float) -> Vector:
    """Return rows with covariance correlation^|i - j|, as an autoregression along the row."""
    z = rng.standard_normal((n, d))
    if correlation > 0:
        for j in range(1, d):
            z[:, j] = correlation * z[:, j - 1] + np.sqrt(1.0 - correlation**2) * z[:, j]
    return z


def _observe(rng: np.random.Generator, eta: Vector, noise: float, loss: str) -> Vector:
    if loss == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    if loss == "logistic":
        return np.where(rng.random(eta.size) < _expit(2.0 * eta), 1.0, -1.0)
    if loss in STEP_LOSSES:
        scale = noise * float(eta.std())
        return np.where(eta + scale * rng.standard_normal(eta.size) > 0, 1.0, -1.0)
    return eta + noise * rng.standard_normal(eta.size)


def _objective(model: LinearModel, n_samples: int | None) -> Objective:
    return Objective(
        value=model.value,
        values=model.values,
        gradient=model.gradient if model.loss in _DERIVATIVES else None,
        n_samples=n_samples,
    )


def _smoothness(model: LinearModel) -> dict[str, float]:
    if model.loss not in _CURVATURES:
        return {}
    largest = float(np.linalg.norm(model.design, 2)) ** 2 / model.observations.size
    return {"smoothness": _CURVATURES[model.loss] * largest + model.ridge}


def _refit(model: LinearModel) -> Vector:
    """Minimize over the true support if there is a gradient; return the better point."""
    from scipy.optimize import minimize  # noqa: PLC0415  (slow to import)

    if model.loss not in _DERIVATIVES:
        return model.true_coefficients
    support = np.flatnonzero(model.true_coefficients)
    part = LinearModel(
        design=model.design[:, support],
        observations=model.observations,
        true_coefficients=model.true_coefficients[support],
        loss=model.loss,
        ridge=model.ridge,
    )
    found = minimize(
        part.value, part.true_coefficients, jac=part.gradient, method="BFGS", options={"gtol": 1e-9}
    )
    x = np.zeros_like(model.true_coefficients)
    x[support] = found.x
    return x if model.value(x) < model.value(model.true_coefficients) else model.true_coefficients
