"""Sparse models from random designs: few coefficients explain what was observed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from szoht.core.objective import Objective
from szoht.core.random import as_seed
from szoht.core.validation import check_choice, check_integer, check_real, frozen
from szoht.errors import ParameterError
from szoht.problems.base import Problem
from szoht.types import Sample, Vector

__all__ = ["LOSSES", "STEP_LOSSES", "Loss", "LossName", "Model", "coefficients", "recovery"]

LossName: TypeAlias = Literal["squares", "absolute", "logistic", "poisson", "errors", "auc"]

Rng: TypeAlias = int | np.random.Generator | np.random.SeedSequence | None


def _squares(eta: Vector, seen: Vector) -> Vector:
    return _mean(0.5 * (eta - seen) ** 2)


def _absolute(eta: Vector, seen: Vector) -> Vector:
    return _mean(np.abs(eta - seen))


def _logistic(eta: Vector, seen: Vector) -> Vector:
    return _mean(np.logaddexp(0.0, -seen * eta))


def _poisson(eta: Vector, seen: Vector) -> Vector:
    return _mean(np.exp(np.minimum(eta, LARGEST)) - seen * eta)


def _errors(eta: Vector, seen: Vector) -> Vector:
    return _mean(seen * eta <= 0.0)


def _auc(eta: Vector, seen: Vector) -> Vector:
    """Return 1 - AUC, the share of pairs in the wrong order; ties count one half."""
    rows = eta.reshape(-1, seen.size)
    return np.array([_disorder(row, seen) for row in rows]).reshape(eta.shape[:-1])


def _disorder(eta: Vector, seen: Vector) -> float:
    positive, negative = eta[seen > 0], np.sort(eta[seen < 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(
        negative, positive, "right"
    )
    return 1.0 - 0.5 * float(below.mean()) / negative.size


def _mean(losses: Vector | np.ndarray) -> Vector:
    means: Vector = losses.mean(axis=-1)
    return means


LARGEST = 30.0
"""Rates above exp(30) are as bad as rates get."""

Loss: TypeAlias = Callable[[Vector, Vector], Vector]
"""From linear predictors, shape (..., n), and what was seen to mean losses, shape (...)."""

LOSSES: dict[str, Loss] = {
    "squares": _squares,
    "absolute": _absolute,
    "logistic": _logistic,
    "poisson": _poisson,
    "errors": _errors,
    "auc": _auc,
}

STEP_LOSSES = ("errors", "auc")
"""Piecewise constant, and constant along rays: no gradient, and 0 says nothing."""

_SLOPES: dict[str, Loss] = {
    "squares": lambda eta, seen: eta - seen,
    "logistic": lambda eta, seen: -seen * expit(-seen * eta),
    "poisson": lambda eta, seen: np.exp(np.minimum(eta, LARGEST)) - seen,
}

_CURVATURES = {"squares": 1.0, "logistic": 0.25}
"""Largest second derivative of a loss."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """f(x) = mean_i loss(a_i'x, b_i) + ridge/2 |x|^2 over the rows a_i of a design.

    Parameters
    ----------
    design : array of shape (n, d)
        The rows a_i.
    seen : array of shape (n,)
        The observations b_i.
    truth : array of shape (d,)
        The coefficients behind them.
    loss : str
        A name in `LOSSES`.
    ridge : float >= 0
        Weight of the squared norm.
    """

    design: Vector
    seen: Vector
    truth: Vector
    loss: str
    ridge: float = 0.0

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f(x), over the rows in ``sample`` if it is given."""
        design, seen = self._rows(sample)
        loss = float(LOSSES[self.loss](design @ x, seen))
        return loss + 0.5 * self.ridge * float(x @ x)

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at each row of ``points``."""
        design, seen = self._rows(sample)
        losses = LOSSES[self.loss](points @ design.T, seen)
        values: Vector = losses + 0.5 * self.ridge * (points**2).sum(axis=1)
        return values

    def gradient(self, x: Vector, sample: Sample = None) -> Vector:
        """Return the gradient of a smooth loss."""
        design, seen = self._rows(sample)
        slopes: Vector = design.T @ _SLOPES[self.loss](design @ x, seen) / seen.size
        return slopes + self.ridge * x

    def _rows(self, sample: Sample) -> tuple[Vector, Vector]:
        if sample is None:
            return self.design, self.seen
        return self.design[sample], self.seen[sample]


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
    r"""Return a sparse regression or classification problem with a known model behind it.

    .. math:: f(x) = \frac1n \sum_{i=1}^n \ell(a_i^\top x, b_i) + \frac{ridge}{2} \|x\|^2

    The rows a_i are normal with covariance correlation^|i-j|. The model has k_star coefficients
    at random places, of random sign and magnitude in [0.5, 1.5] ([0.2, 0.6] for counts).

    Parameters
    ----------
    n, d, k_star : int
        Rows, coefficients and how many of them are non-zero, in [1, d].
    noise : float >= 0
        Standard deviation of b_i around a_i'x for "squares" and "absolute"; for "errors" and
        "auc" that of a_i'x before its sign is taken, relative to its own spread. Classes of
        "logistic" and counts of "poisson" are random by themselves and ignore it.
    correlation : float in [0, 1)
        Between neighbouring columns.
    loss : {"squares", "absolute", "logistic", "poisson", "errors", "auc"}
        ``(eta-b)^2/2``, ``|eta-b|``, ``log(1+exp(-b eta))``, ``exp(eta)-b eta``, the share of wrong
        signs, and 1 - AUC. The last two have no gradient; they start from 1/k_star on the first
        k_star coordinates, since they are constant along rays.
    ridge : float >= 0
        Weight of the squared norm.
    finite_sum : bool
        Offer f as a mean over its n rows, for methods that sample them. Not for "auc".
    rng : None, int, Generator or SeedSequence
        Decides the design, the model and the observations.

    Returns
    -------
    Problem
        ``best`` is the least value found on the support of the model, which is not always the
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
    truth = coefficients(generator, d, k_star, low, high)
    design = _design(generator, n, d, correlation)
    seen = _observed(generator, design @ truth, noise, loss)
    model = Model(
        design=frozen(design), seen=frozen(seen), truth=frozen(truth), loss=loss, ridge=ridge
    )
    x0 = np.zeros(d)
    if loss in STEP_LOSSES:
        x0[:k_star] = 1.0 / k_star
    best_x = _refitted(model)
    return Problem(
        name=f"recovery-{loss}-n{n}-d{d}-k{k_star}",
        objective=_objective(model, n if finite_sum else None),
        x0=x0,
        k=k_star,
        constants={"noise": noise, "k_star": k_star, **_smoothness(model)},
        best=model.value(best_x),
        best_x=best_x,
        best_source="best known: minimised over the support of the model that made the data",
        reference=model.truth,
        citation="Synthetic; see T. Hastie, R. Tibshirani, M. Wainwright (2015), Statistical "
        "Learning with Sparsity, chapters 2 and 3.",
    )


def coefficients(
    rng: np.random.Generator, d: int, k: int, low: float = 0.5, high: float = 1.5
) -> Vector:
    """Return a point with k non-zeros at random places, of random signs and magnitudes.

    >>> coefficients(np.random.default_rng(0), 5, 2).round(2)
    array([ 0.  ,  0.  ,  0.  , -0.52, -1.31])
    """
    x = np.zeros(d)
    places = rng.choice(d, size=k, replace=False)
    x[places] = rng.choice([-1.0, 1.0], size=k) * rng.uniform(low, high, size=k)
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


def _observed(rng: np.random.Generator, eta: Vector, noise: float, loss: str) -> Vector:
    if loss == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    if loss == "logistic":
        return np.where(rng.random(eta.size) < expit(2.0 * eta), 1.0, -1.0)
    if loss in STEP_LOSSES:
        scale = noise * float(eta.std())
        return np.where(eta + scale * rng.standard_normal(eta.size) > 0, 1.0, -1.0)
    return eta + noise * rng.standard_normal(eta.size)


def _objective(model: Model, n_samples: int | None) -> Objective:
    return Objective(
        value=model.value,
        values=model.values,
        gradient=model.gradient if model.loss in _SLOPES else None,
        n_samples=n_samples,
    )


def _smoothness(model: Model) -> dict[str, float]:
    if model.loss not in _CURVATURES:
        return {}
    largest = float(np.linalg.norm(model.design, 2)) ** 2 / model.seen.size
    return {"smoothness": _CURVATURES[model.loss] * largest + model.ridge}


def _refitted(model: Model) -> Vector:
    """Minimise over the support of the truth where there is a gradient; keep what is better."""
    if model.loss not in _SLOPES:
        return model.truth
    support = np.flatnonzero(model.truth)
    part = Model(
        design=model.design[:, support],
        seen=model.seen,
        truth=model.truth[support],
        loss=model.loss,
        ridge=model.ridge,
    )
    found = minimize(
        part.value, part.truth, jac=part.gradient, method="BFGS", options={"gtol": 1e-9}
    )
    x = np.zeros_like(model.truth)
    x[support] = found.x
    return x if model.value(x) < model.value(model.truth) else model.truth
