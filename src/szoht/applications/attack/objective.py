"""A classifier's margin as a function of the change of one image: `AttackObjective`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.applications.attack.batching import Batches
from szoht.applications.attack.margin import Margin
from szoht.applications.attack.networks import Network
from szoht.types import Indices, Sample, Vector

__all__ = ["AttackObjective", "Hit"]


class Hit(NamedTuple):
    """The first change that led the classifier astray, and which query it was, from 1."""

    query: int
    change: Vector


@dataclass(kw_only=True)
class AttackObjective:
    """f(delta) = margin(model(clip(image + delta, low, high))), for `minimize` and `AskTell`.

    The change is clipped inside f, as the paper does it, so that the classifier never sees
    anything that is not an image. Whether delta itself shall keep the bounds is up to the
    constraint: ``SparseBox(k, low=low - image, high=high - image)``.

    Parameters
    ----------
    network : Network
        The classifier.
    image : array of shape (d,)
        The image, flat.
    margin : Margin
        What is to be minimised.
    low, high : float
        The range of a pixel.
    batches : Batches
        How many images the classifier gets at once.
    counts : callable
        Tells whether a change may count as a success, by default any.

    Attributes
    ----------
    queries : int
        Images shown to the classifier so far.
    hit : Hit or None
        The first success. Points of a finite difference do not count: they are not sparse.
    """

    network: Network
    image: Vector
    margin: Margin
    low: float
    high: float
    batches: Batches
    counts: Callable[[Vector], bool] = lambda _: True
    queries: int = 0
    hit: Hit | None = None

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f at one point."""
        return float(self.values(x[np.newaxis], sample)[0])

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at the rows of ``points``."""
        del sample
        margins = np.empty(len(points))
        for part in self.batches.cut(len(points)):
            scores = self.network.dense(self.seen(points[part]))
            self._look(points[part], scores)
            margins[part] = self.margin.of(scores)
        return margins

    def along(self, x: Vector, indices: Indices, offsets: Vector, sample: Sample = None) -> Vector:
        """Return f at ``x`` plus sparse offsets, without forming the points here."""
        del sample
        base, start = self.seen(x), self.image + x
        if offsets.shape[1] == x.size and (indices == np.arange(x.size)).all():
            return self._all_over(start, offsets)
        margins = np.empty(len(offsets))
        for part in self.batches.cut(len(offsets)):
            values = np.clip(start[indices[part]] + offsets[part], self.low, self.high)
            margins[part] = self.margin.of(self.network.sparse(base, indices[part], values))
        self.queries += len(offsets)
        return margins

    def seen(self, change: Vector) -> Vector:
        """Return what the classifier is shown: the changed image, clipped."""
        shown: Vector = np.clip(self.image + change, self.low, self.high)
        return shown

    def _all_over(self, start: Vector, offsets: Vector) -> Vector:
        """Return f where offsets are dense and in order."""
        margins = np.empty(len(offsets))
        for part in self.batches.cut(len(offsets)):
            images = np.clip(start + offsets[part], self.low, self.high)
            margins[part] = self.margin.of(self.network.dense(images))
        self.queries += len(offsets)
        return margins

    def _look(self, points: Vector, scores: Vector) -> None:
        if self.hit is None:
            for i in np.flatnonzero(self.margin.reached(scores)):
                if self.counts(points[i]):
                    self.hit = Hit(self.queries + int(i) + 1, points[i].copy())
                    break
        self.queries += len(points)
