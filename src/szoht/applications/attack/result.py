"""Results of attacks on one image and on many."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from szoht.core.interrupts import attached
from szoht.types import Indices, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AttackResult", "AttackResults", "AttackStatus"]


class AttackStatus(enum.Enum):
    """Why an attack ended."""

    SUCCESS = "The changed image is misclassified."
    RESISTED = "No change that was tried within the budget is misclassified."
    MISCLASSIFIED = "The image was misclassified before anything was changed; nothing was done."
    FAILED = "The classifier could not be evaluated."
    INTERRUPTED = "The attack was interrupted. The best change so far is kept."


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackResult:
    """The outcome of an attack on one image.

    Attributes
    ----------
    status, message
        Why the attack ended; as text, with the error of the classifier if there was one.
    queries
        Images evaluated up to and including the first success, or up to the end.
    nfev
        All images evaluated, including those after the success in the same batch.
    l0, l2, linf
        How much the adversarial image differs from the original; ``l0`` counts coordinates.
    pixels
        How many pixels differ.
    adversarial
        The changed image, in the shape of the original; if the attack failed, the one with the
        smallest margin.
    change
        The change before it was clipped to the range of an image.
    label, target, prediction, adversarial_prediction
        The classes.
    history
        Columns, one row per iteration: ``queries``, ``best`` margin and others, see `Recorder`.
    interrupted
        Whether Ctrl-C ended the attack; the status is then INTERRUPTED, or SUCCESS if
        it had succeeded before.
    """

    status: AttackStatus
    message: str
    queries: int
    nfev: int
    nit: int
    margin: float
    original: Vector
    adversarial: Vector = field(repr=False)
    change: Vector = field(repr=False)
    pixel_of: Indices = field(repr=False)
    label: int
    target: int | None
    prediction: int
    adversarial_prediction: int
    history: dict[str, Any] = field(repr=False)
    seconds: float
    seed: int
    method: str
    interrupted: bool = False

    @property
    def success(self) -> bool:
        """Whether the attack found a change that is misclassified."""
        return self.status is AttackStatus.SUCCESS

    @cached_property
    def difference(self) -> Vector:
        """The adversarial image minus the original, flat."""
        return (self.adversarial - self.original).ravel()

    @property
    def l0(self) -> int:
        """How many coordinates differ."""
        return int(np.count_nonzero(self.difference))

    @property
    def pixels(self) -> int:
        """How many pixels differ."""
        return int(np.unique(self.pixel_of[np.flatnonzero(self.difference)]).size)

    @property
    def l2(self) -> float:
        """The Euclidean length of the difference."""
        return float(np.linalg.norm(self.difference))

    @property
    def linf(self) -> float:
        """The largest difference of a coordinate."""
        return float(np.abs(self.difference).max())

    def plot(self) -> "Figure":
        """Return a figure: the original, the change and the adversarial image side by side."""
        from szoht.applications.attack.figure import attack_figure  # noqa: PLC0415  (needs matplotlib)

        return attack_figure(self)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON data, with a sparse change."""
        support = np.flatnonzero(self.difference)
        columns = {n: c for n, c in self.history.items() if n not in ("entered", "left")}
        names = (
            "queries",
            "nfev",
            "nit",
            "margin",
            "l0",
            "pixels",
            "l2",
            "linf",
            "label",
            "target",
        )
        return {
            "success": self.success,
            "status": self.status.name,
            "message": self.message,
            **{name: getattr(self, name) for name in names},
            "prediction": self.prediction,
            "adversarial_prediction": self.adversarial_prediction,
            "shape": list(self.original.shape),
            "coordinates": support.tolist(),
            "values": self.adversarial.ravel()[support].tolist(),
            "seconds": self.seconds,
            "seed": self.seed,
            "method": self.method,
            "history": {name: np.asarray(column).tolist() for name, column in columns.items()},
        }

    def __str__(self) -> str:
        rows = {
            "message": self.message,
            "success": self.success,
            "predicted": f"{self.prediction}, then {self.adversarial_prediction}"
            f" (label {self.label})",
            "queries": f"{self.queries} ({self.nfev} evaluated)",
            "changed": f"{self.l0} coordinates in {self.pixels} pixels",
            "l2": f"{self.l2:.4g}",
            "linf": f"{self.linf:.4g}",
            "margin": f"{self.margin:.4g}",
            "method": self.method,
            "seed": self.seed,
        }
        return "\n".join(f"{name:>9}: {value}" for name, value in rows.items())


class AttackResults(Sequence[AttackResult]):
    """Results for many images.

    Images misclassified before the attack, and an interrupted attack, are not counted.

    Attributes
    ----------
    not_tried
        Number of images that were not attacked because of Ctrl-C.
    """

    def __init__(self, results: Sequence[AttackResult], *, not_tried: int = 0) -> None:
        self._results = tuple(results)
        self.not_tried = not_tried

    @classmethod
    def cut(cls, results: Sequence[AttackResult], stop: KeyboardInterrupt, n_images: int) -> Self:
        """Return what there is when Ctrl-C has ended an attack, whose result it may carry."""
        last = attached(stop)  # None before its first query
        done = [*results] if last is None else [*results, last]
        return cls(done, not_tried=n_images - len(done))

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, place: Any) -> Any:
        return self._results[place]

    def __iter__(self) -> Iterator[AttackResult]:
        return iter(self._results)

    @property
    def attacked(self) -> list[AttackResult]:
        """Completed attacks on correctly classified images."""
        excluded = (AttackStatus.MISCLASSIFIED, AttackStatus.INTERRUPTED)
        return [r for r in self._results if r.status not in excluded]

    @property
    def success_rate(self) -> float:
        """The fraction of attacked images with a successful attack; NaN if none was attacked."""
        attacked = self.attacked
        return sum(r.success for r in attacked) / len(attacked) if attacked else float("nan")

    @property
    def median_queries(self) -> float:
        """The median of queries to success; a failed attack counts as infinitely many."""
        queries = [r.queries if r.success else np.inf for r in self.attacked]
        return float(np.median(queries)) if queries else float("nan")

    def table(self) -> dict[str, Vector]:
        """Return columns, one row per image: ``pandas.DataFrame(results.table())``."""
        names = ("success", "queries", "nfev", "l0", "pixels", "l2", "linf", "margin")
        columns = {"status": np.array([r.status.name for r in self._results])}
        more = (*names, "label", "prediction", "adversarial_prediction")
        return columns | {n: np.array([getattr(r, n) for r in self._results]) for n in more}

    def __str__(self) -> str:
        succeeded = [r for r in self.attacked if r.success]
        correct = [r for r in self._results if r.status is not AttackStatus.MISCLASSIFIED]
        head = (
            f"{len(self)} images, {len(correct)} classified correctly, "
            f"{len(succeeded)} attacked successfully ({100 * self.success_rate:.1f} %), "
            f"median queries {self.median_queries:.6g}"
        )
        if self.not_tried:
            head += f"; interrupted, {self.not_tried} images not tried"
        names = "image  status         queries   l0  pixels     l2    linf  predicted"
        lines = [
            f"{i:5d}  {r.status.name:<13}{r.queries:9d}{r.l0:5d}{r.pixels:8d}"
            f"{r.l2:7.3f}{r.linf:8.3f}  {r.prediction} -> {r.adversarial_prediction}"
            for i, r in enumerate(self._results)
        ]
        return "\n".join([head, names, *lines])
