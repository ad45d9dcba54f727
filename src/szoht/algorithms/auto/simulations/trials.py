"""A point, and its values on the seeds that it was asked on."""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.types import Sample, Vector

__all__ = ["Trials"]


@dataclass(eq=False)
class Trials:
    """Values of one point by their seeds; a value that is missing is the worst one."""

    z: Vector
    samples: list[Sample] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, sample: Sample, value: float) -> None:
        """Take down a value."""
        self.samples.append(sample)
        self.values.append(math.inf if math.isnan(value) else float(value))

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))
