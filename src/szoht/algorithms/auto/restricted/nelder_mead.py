"""The simplex method of Nelder and Mead (1965) on a face: good on few, badly scaled coordinates."""

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.face import Face, Local
from szoht.types import Vector

__all__ = ["nelder_mead"]

SMALLEST_SIMPLEX = 1e-10
"""The search ends when the simplex has shrunk to this share of its first edges."""


def nelder_mead(face: Face, start: Local, edges: Vector) -> Steps[Local]:
    """Reflect, expand, contract or shrink until the allowance is spent or the simplex is a point.

    Coefficients depend on the dimension. Reference: Gao and Han, Implementing the Nelder-Mead
    simplex algorithm with adaptive parameters, Comput. Optim. Appl. 51 (2012).
    """
    n = face.n
    expand, contract, shrink = 1 + 2 / n, 0.75 - 0.5 / n, 1 - 1 / n if n > 1 else 0.5
    simplex = [start]
    for i in range(n):
        y = start.y.copy()
        y[i] += edges[i]
        if face.clip(y)[i] == start.y[i]:
            y[i] -= 2 * edges[i]
        simplex.append((yield from face.at(face.clip(y))))
    while face.open and _size(simplex, edges) > SMALLEST_SIMPLEX:
        simplex.sort(key=lambda vertex: vertex.value)
        worst, center = simplex[-1], np.mean([vertex.y for vertex in simplex[:-1]], axis=0)
        away = center - worst.y
        trial = yield from face.at(face.clip(center + away))
        if trial.value < simplex[0].value:
            farther = yield from face.at(face.clip(center + expand * away))
            simplex[-1] = farther if farther.value < trial.value else trial
        elif trial.value < simplex[-2].value:
            simplex[-1] = trial
        else:
            inside = trial.value >= worst.value
            length = -contract if inside else contract
            nearer = yield from face.at(face.clip(center + length * away))
            if nearer.value < min(trial.value, worst.value):
                simplex[-1] = nearer
            else:
                best = simplex[0].y
                moved = [face.clip(best + shrink * (vertex.y - best)) for vertex in simplex[1:]]
                simplex[1:] = yield from face.all_at(moved)
    return min(simplex, key=lambda vertex: vertex.value)


def _size(simplex: list[Local], edges: Vector) -> float:
    spread = np.ptp([vertex.y for vertex in simplex], axis=0)
    return float((spread / np.where(edges == 0, 1.0, np.abs(edges))).max())
