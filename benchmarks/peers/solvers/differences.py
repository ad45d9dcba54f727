"""Iterative hard thresholding on forward differences along all axes, step by backtracking."""

import numpy as np
from asking import Ask
from problems import Problem

from szoht.types import Vector

__all__ = ["run"]


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    """Measure d slopes, then halve the step from twice the last one until the value falls."""
    del seed, budget
    x, step = problem.x0.copy(), 0.5
    value = ask(x)
    while True:
        gradient = _slopes(ask, x, value, problem.radius)
        step *= 2.0
        for _ in range(40):
            trial = _largest(x - step * gradient, problem.k)
            reached = ask(trial)
            if reached < value:
                break
            step *= 0.5
        else:
            return
        x, value = trial, reached


def _slopes(ask: Ask, x: Vector, value: float, radius: float) -> Vector:
    slopes = np.empty(x.size)
    point = x.copy()
    for i in range(x.size):
        point[i] += radius
        slopes[i] = (ask(point) - value) / radius
        point[i] = x[i]
    return slopes


def _largest(x: Vector, k: int) -> Vector:
    y = np.zeros_like(x)
    keep = np.argpartition(np.abs(x), -k)[-k:]
    y[keep] = x[keep]
    return y
