"""Heavy-tailed random search on a face: steps of all lengths, one or several coordinates."""

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.face import Face, Local
from szoht.types import Vector

__all__ = ["heavy_tailed_search"]


def heavy_tailed_search(
    face: Face, start: Local, unit: Vector, generator: np.random.Generator
) -> Steps[Local]:
    """Move a random subset by a length drawn over several decades; equal values are accepted.

    Half of the steps move one coordinate. How many decades below three units the lengths reach is
    drawn once. Reference: heavy-tailed mutation, Doerr et al. 2017.
    """
    here, n = start, face.n
    decades = float(generator.choice([2.0, 4.0, 8.0]))
    while face.open:
        size = 1 if generator.integers(2) else int(generator.integers(1, n + 1))
        moved = generator.choice(n, size, replace=False)
        y = here.y.copy()
        length = 3 * 10 ** generator.uniform(-decades, 0)
        y[moved] += length * unit[moved] * generator.standard_normal(size)
        trial = yield from face.at(face.clip(y))
        here = trial if trial.value <= here.value else here
    return here
