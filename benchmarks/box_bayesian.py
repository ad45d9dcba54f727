"""Bayesian optimization in the box [0, 1]^d, on Gaussian processes fitted by BoTorch.

Each function asks until the oracle ends the run. The first `DESIGN` points are the start and Sobol
points. To save processor time, lengthscales are fitted again only when the data have grown by a
fifth (every value counts in the model from the moment it is known), and the fitted model is
evaluated in a few lines of PyTorch, in about a tenth of the time of the library's own layers.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import botorch  # type: ignore[import-not-found, import-untyped, unused-ignore]
import gpytorch  # type: ignore[import-not-found, import-untyped, unused-ignore]
import numpy as np
import scipy.optimize
import torch

from szoht.types import Vector

__all__ = ["embedded_ei", "expected_improvement", "turbo"]

Function = Callable[[Vector], float]

DESIGN = 20
GROWTH = 1.2
CANDIDATES = 2_000
"""For Thompson sampling; up to 5,000 in the paper. A sample costs the cube of it."""

BATCH = 10
"""Points between two models of `turbo`."""

STARTS, SCREENED = 1, 512
"""Of the search for the largest expected improvement."""


class Model:
    """A fitted Gaussian process: squared exponentials of scaled distances, constant mean, noise."""

    def __init__(self, fitted: Any) -> None:
        with torch.no_grad():
            self.scales = fitted.covar_module.lengthscale.detach().ravel()
            self._x = fitted.train_inputs[0] / self.scales
            self._mean = fitted.mean_module.constant.detach()
            targets = fitted.train_targets
            self.best = targets.min()
            noise = fitted.likelihood.noise * torch.eye(len(targets))
            self._root: Any = torch.linalg.cholesky(self._kernel(self._x, self._x) + noise)
            left = (targets - self._mean)[:, None]
            self._weights: Any = torch.cholesky_solve(left, self._root).ravel()

    @staticmethod
    def _kernel(a: Any, b: Any) -> Any:
        squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
        return torch.exp(-0.5 * squared.clamp_min(0))

    def _at(self, x: Any) -> tuple[Any, Any]:
        across = self._kernel(self._x, x / self.scales)
        known: Any = torch.linalg.solve_triangular(self._root, across, upper=False)
        return self._mean + self._weights @ across, known

    def log_improvement(self, x: Any) -> Any:
        """Return the logarithm of the expected improvement at each point."""
        mean, known = self._at(x)
        deviation = torch.sqrt((1 - (known**2).sum(0)).clamp_min(1e-12))
        u = (self.best - mean) / deviation
        near = u.clamp_min(-8)
        density = torch.exp(-0.5 * near**2) / math.sqrt(2 * math.pi)
        close = torch.log(density + near * torch.special.ndtr(near))
        far = -0.5 * u**2 - 0.5 * math.log(2 * math.pi) - 2 * torch.log(u.clamp_max(-8).neg())
        return torch.where(u > -8, close, far) + torch.log(deviation)

    def samples(self, x: Any, count: int) -> Any:
        """Draw functions of the posterior at the points, one per row."""
        mean, known = self._at(x)
        scaled = x / self.scales
        covariance = self._kernel(scaled, scaled) - known.T @ known + 1e-6 * torch.eye(len(x))
        root: Any = torch.linalg.cholesky(covariance)
        return mean + torch.randn(count, len(x)) @ root.T


def _sobol(count: int, d: int, seed: int) -> Vector:
    engine: Any = torch.quasirandom.SobolEngine
    points: Vector = engine(d, scramble=True, seed=seed).draw(count, dtype=torch.double).numpy()
    return points


class Data:
    """What was asked, in a box of ``d`` inputs, and the model of it."""

    def __init__(self, fun: Function, d: int, x0: Vector, seed: int) -> None:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.double)
        torch.manual_seed(seed)
        warnings.simplefilter("ignore")
        self.fun, self.d = fun, d
        self.points, self.values = np.empty((0, d)), np.empty(0)
        self._fitted, self._state = 0, None
        self.ask(x0[None])
        self.ask(_sobol(DESIGN - 1, d, seed))

    def ask(self, points: Vector) -> None:
        """Evaluate points."""
        for x in points:
            value = self.fun(x)
            self.points = np.vstack([self.points, x])
            self.values = np.append(self.values, value)

    def best(self, since: int = 0) -> Vector:
        """Return the point with the lowest value, of those from number ``since`` on."""
        lowest: Vector = self.points[since + int(self.values[since:].argmin())]
        return lowest

    def model(self, since: int = 0) -> Model:
        """Return a model of the standardized values, those asked from number ``since`` on.

        BoTorch's default prior: one lengthscale per input, of the order of sqrt(d), after
        Hvarfner, Hellsten and Nardi (2024), "Vanilla Bayesian optimization performs great in high
        dimensions".
        """
        x, y = torch.tensor(self.points[since:]), torch.tensor(self.values[since:, None])
        y = (y - y.mean()) / y.std().clamp_min(1e-12)
        model: Any = botorch.models.SingleTaskGP(x, y, outcome_transform=None)
        if self._state is not None:
            model.load_state_dict(self._state)
        if not self._fitted <= len(x) < GROWTH * self._fitted:
            likelihood: Any = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
            botorch.fit_gpytorch_mll(
                likelihood, optimizer_kwargs={"options": {"maxiter": 20}}, max_attempts=1
            )
            self._state, self._fitted = model.state_dict(), len(x)
        return Model(model)


def expected_improvement(fun: Function, x0: Vector, seed: int) -> None:
    """GP-EI: ask where the expected improvement is largest, one point at a time.

    Its logarithm (Ament et al. 2023, "Unexpected improvements to expected improvement") is
    maximized by L-BFGS-B from the best of random points, half of which differ from the best point
    so far in few inputs, as BoTorch offers for many inputs.
    """
    data, rng = Data(fun, x0.size, x0, seed), np.random.default_rng([seed, 2])
    while True:
        model = data.model()
        screened = rng.uniform(size=(SCREENED, x0.size))
        kept = rng.uniform(size=(SCREENED // 2, x0.size)) > min(1.0, 20 / x0.size)
        screened[: SCREENED // 2][kept] = np.tile(data.best(), (SCREENED // 2, 1))[kept]
        with torch.no_grad():
            order = model.log_improvement(torch.tensor(screened)).numpy().argsort()
        ends = [_climb(model, start) for start in screened[order[-STARTS:]]]
        data.ask(max(ends, key=lambda end: end[0])[1][None])


def _climb(model: Model, start: Vector) -> tuple[float, Vector]:
    """Return the largest logarithm of the improvement near a point, and where it is."""

    def down(z: Vector) -> tuple[float, Vector]:
        x = torch.tensor(z[None], requires_grad=True)
        value = -model.log_improvement(x)[0]
        (slope,) = torch.autograd.grad(value, x)
        return float(value), slope[0].numpy()

    found: Any = scipy.optimize.minimize(
        down,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 1)] * start.size,
        options={"maxiter": 25},
    )
    return -float(found.fun), np.clip(found.x, 0, 1)


def embedded_ei(fun: Function, x0: Vector, seed: int, *, relevant: int) -> None:
    """GP-EI in 2k inputs, each of which moves many of the d: it knows how many are relevant.

    Hashing-enhanced subspaces: Nayebi, Munteanu and Poloczek (2019), "A framework for Bayesian
    optimization in embedded subspaces", with one embedding per run. Around the center, not x0.
    """
    rng = np.random.default_rng(seed)
    inputs = 2 * relevant
    bucket, sign = rng.integers(inputs, size=x0.size), rng.choice([-1.0, 1.0], x0.size)
    fun(x0)
    expected_improvement(lambda z: fun(0.5 + sign * (z[bucket] - 0.5)), np.full(inputs, 0.5), seed)


def turbo(fun: Function, x0: Vector, seed: int) -> None:
    """TuRBO-1: Thompson samples in one trust region, which grows and shrinks by success.

    Eriksson, Pearce, Gardner, Turner and Poloczek (2019), "Scalable global optimization via local
    Bayesian optimization", with their numbers but for the first design (2d) and the candidates.
    """
    data = Data(fun, x0.size, x0, seed)
    since, length, successes, failures = 0, 0.8, 0, 0
    patience = math.ceil(max(4.0, x0.size) / BATCH)  # their tau_fail, in batches
    while True:
        best = data.values[since:].min()
        data.ask(_thompson(data, since, length, seed + len(data.values)))
        better = data.values[-BATCH:].min() < best - 1e-3 * abs(best)
        successes, failures = (successes + 1, 0) if better else (0, failures + 1)
        if successes == 3:  # tau_succ
            length, successes = min(1.6, 2 * length), 0
        elif failures == patience:
            length, failures = length / 2, 0
        if length < 0.5**7:  # a new trust region, by new data alone
            since, length, successes, failures = len(data.values), 0.8, 0, 0
            data.ask(np.random.default_rng(seed + since).uniform(size=(DESIGN, x0.size)))


def _thompson(data: Data, since: int, length: float, seed: int) -> Vector:
    """Return the minima of samples of the model over points of the trust region."""
    model = data.model(since)
    scales = model.scales.numpy()
    weights = scales / np.exp(np.log(scales).mean())  # sides in proportion to lengthscales
    center = data.best(since)
    low = np.clip(center - weights * length / 2, 0, 1)
    high = np.clip(center + weights * length / 2, 0, 1)
    inside = low + (high - low) * _sobol(CANDIDATES, data.d, seed)
    rng = np.random.default_rng(seed)
    moved = rng.uniform(size=inside.shape) < min(1.0, 20 / data.d)  # 20 inputs of a candidate
    moved[np.arange(CANDIDATES), rng.integers(data.d, size=CANDIDATES)] = True
    candidates = np.where(moved, inside, center)
    with torch.no_grad():
        chosen = model.samples(torch.tensor(candidates), BATCH).numpy().argmin(axis=1)
    points: Vector = candidates[chosen]
    return points
