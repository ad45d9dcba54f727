"""skscope fed with forward differences; its inner solves move the support only."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import skscope  # type: ignore[import-not-found, import-untyped, unused-ignore]
from asking import Ask, Stop
from problems import Problem
from scipy.optimize import minimize

from szoht.types import Indices, Vector

__all__ = ["grasp", "scope"]

LARGE = 1e10


def _solve(solver: str, problem: Problem, ask: Ask) -> None:
    radius = problem.radius

    def value(params: Any) -> float:
        with _ending(ask):
            answer = ask(np.asarray(params, dtype=float))
        return answer if math.isfinite(answer) else LARGE  # infinity would abort the process

    def gradient(params: Any) -> Vector:
        x = np.array(params, dtype=float)
        with _ending(ask):
            slopes = _slopes(ask, x, np.arange(x.size), radius)
        return np.nan_to_num(slopes, posinf=LARGE, neginf=-LARGE)

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

        with _ending(ask):
            result = minimize(restricted, x[places], jac=True, method="L-BFGS-B")
        x[places] = result.x
        reached = float(result.fun)
        return (reached if math.isfinite(reached) else LARGE), x

    engine: Any = getattr(skscope, solver)(
        problem.d, problem.k, sample_size=1, numeric_solver=inner
    )
    ask.propose(
        np.asarray(engine.solve(value, gradient=gradient, init_params=problem.x0), dtype=float)
    )


@contextmanager
def _ending(ask: Ask) -> Iterator[None]:
    """End the process where the run ends: an exception in compiled code would abort it."""
    try:
        yield
    except Stop as stop:
        if ask.abandon is not None:
            ask.abandon(str(stop))
        raise


def _slopes(ask: Ask, x: Vector, places: Indices, radius: float, at: float | None = None) -> Vector:
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
