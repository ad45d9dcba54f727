"""A small algorithm on several outputs: it measures two points and keeps the closer to zero."""

from dataclasses import dataclass

import numpy as np

import szoht
from szoht.algorithms.generator import GeneratorAlgorithm
from szoht.core.query import Plan


@dataclass(frozen=True, kw_only=True)
class SmallerResiduals(GeneratorAlgorithm):
    operator: szoht.Sparse

    requires = frozenset({"n_outputs"})

    def sample(self, seed, n_samples):
        return None

    def steps(self, context):
        for point in (context.x.copy(), np.eye(context.x.size)[0]):
            (answer,) = yield Plan(queries=(context.query(point),))
            context.move(point, float(np.nansum(answer.outputs**2)))


def residuals(x):
    return np.array([x[0] - 1.0, 2.0 * x[1], np.nan if x[0] else 3.0])
