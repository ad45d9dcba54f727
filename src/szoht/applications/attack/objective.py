"""`AttackObjective`: the margin of a classifier as a function of the change of an image."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from szoht.applications.attack.batching import Batches
from szoht.applications.attack.margin import Loss, Margin
from szoht.applications.attack.networks import Network
from szoht.core.query import Plan
from szoht.core.validation import check_choice
from szoht.types import Indices, Sample, Vector

__all__ = ["AttackObjective", "Success"]


class Success(NamedTuple):
    """The first misclassified change, and the number of its query, from 1."""

    query: int
    change: Vector


@dataclass(kw_only=True)
class AttackObjective:
    """f(delta) = margin(model(clip(image + delta, low, high))), for `minimize` and `AskTell`.

    The change is clipped inside f, as in the paper, so that the classifier only gets valid
    images. ``SparseBox(k, low=low - image, high=high - image)`` keeps delta itself within bounds.

    Parameters
    ----------
    network : Network
        The classifier.
    image : array of shape (d,)
        The image, flat.
    margin : Margin
        Says what is misclassified, and is the loss to minimize.
    low, high : float
        The range of a pixel.
    batches : Batches
        Splits queries into batches for the classifier.
    loss : {"margin", "cross_entropy"}
        What is minimized.
    counts : callable
        Returns whether a change may count as a success; by default, any may.

    Attributes
    ----------
    queries : int
        Images evaluated so far.
    hit : Success or None
        The first success. Points of a finite difference do not count: they are not sparse.
    """

    network: Network
    image: Vector
    margin: Margin
    low: float
    high: float
    batches: Batches
    loss: Loss = "margin"
    counts: Callable[[Vector], bool] = lambda _: True
    queries: int = 0
    hit: Success | None = None

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, get_args(Loss))

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f at one point."""
        return float(self.values(x[np.newaxis], sample)[0])

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at the rows of ``points``."""
        del sample
        values = np.empty(len(points))
        for part in self.batches.split(len(points)):
            scores = self.network.dense(self.clipped(points[part]))
            self._record_success(points[part], scores)
            values[part] = self._losses(scores)
        return values

    def along(self, x: Vector, indices: Indices, offsets: Vector, sample: Sample = None) -> Vector:
        """Return f at ``x`` plus sparse offsets, without building the points here."""
        del sample
        base, start = self.clipped(x), self.image + x
        if offsets.shape[1] == x.size and (indices == np.arange(x.size)).all():
            return self._along_dense(start, offsets)
        values = np.empty(len(offsets))
        for part in self.batches.split(len(offsets)):
            pixels = np.clip(start[indices[part]] + offsets[part], self.low, self.high)
            values[part] = self._losses(self.network.sparse(base, indices[part], pixels))
        self.queries += len(offsets)
        return values

    def images(self, plan: Plan) -> Vector:
        """Return the images at the points of a plan, as rows."""
        return self.clipped(plan.points())

    def answer(self, plan: Plan, scores: Vector) -> Vector:
        """Return f at the points of a plan, given the scores of its `images`."""
        first = 0
        for query in plan.queries:
            if query.with_base:
                self._record_success(query.base[np.newaxis], scores[first : first + 1])
            self.queries += query.n_points - query.with_base
            first += query.n_points
        return self._losses(scores)

    def clipped(self, change: Vector) -> Vector:
        """Return the changed image, clipped to [low, high]."""
        image: Vector = np.clip(self.image + change, self.low, self.high)
        return image

    def _along_dense(self, start: Vector, offsets: Vector) -> Vector:
        """Return f where offsets are dense and in order."""
        values = np.empty(len(offsets))
        for part in self.batches.split(len(offsets)):
            images = np.clip(start + offsets[part], self.low, self.high)
            values[part] = self._losses(self.network.dense(images))
        self.queries += len(offsets)
        return values

    def _losses(self, scores: Vector) -> Vector:
        is_margin = self.loss == "margin"
        return self.margin.of(scores) if is_margin else self.margin.cross_entropy(scores)

    def _record_success(self, points: Vector, scores: Vector) -> None:
        if self.hit is None:
            for i in np.flatnonzero(self.margin.is_misclassified(scores)):
                if self.counts(points[i]):
                    self.hit = Success(self.queries + int(i) + 1, points[i].copy())
                    break
        self.queries += len(points)
