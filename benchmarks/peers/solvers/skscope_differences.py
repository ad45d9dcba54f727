"""skscope fed with forward differences; its inner solves move the support only."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from asking import Ask
from problems import Problem
from szoht.types import Indices, Vector

__all__ = ["grasp", "scope"]


def _solve(solver: str, problem: Problem, ask: Ask) -> None:
    import skscope  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415  (optional)

    radius = 0.1 if problem.noise else 1e-6

    def value(params: Any) -> float:
        return ask(np.asarray(params, dtype=float))

    def gradient(params: Any) -> Vector:
        x = np.array(params, dtype=float)
        return _slopes(ask, x, np.arange(x.size), radius)

    def inner(
        objective: Callable[..., float],
        value_and_grad: object,
        init_params: Any,
        optim_variable_set: Any,
        data: object,
    ) -> tuple[float, Vector]:
        del objective, value_and_grad, data
        x, places = np.array(init_params, dtype=float), np.asarray(optim_variable_set)

        def restricted(z: Vector) -> tuple[float, Vector]:
            x[places] = z
            at = ask(x)
            return at, _slopes(ask, x, places, radius, at)

        result = minimize(restricted, x[places], jac=True, method="L-BFGS-B")
        x[places] = result.x
        return float(result.fun), x

    engine: Any = getattr(skscope, solver)(
        problem.d, problem.k, sample_size=1, numeric_solver=inner
    )
    ask.propose(
        np.asarray(engine.solve(value, gradient=gradient, init_params=problem.x0), dtype=float)
    )


def _slopes(
    ask: Ask, x: Vector, places: Indices, radius: float, at: float | None = None
) -> Vector:
    base = ask(x) if at is None else at
    point = x.copy()
    slopes = np.empty(places.size)
    for i, place in enumerate(places):
        point[place] += radius
        slopes[i] = (ask(point) - base) / radius
        point[place] = x[place]
    return slopes


def scope(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    del seed, budget
    _solve("ScopeSolver", problem, ask)


def grasp(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    del seed, budget
    _solve("GraspSolver", problem, ask)
