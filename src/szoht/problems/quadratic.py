"""The paper's synthetic quadratics, as printed and as in its figures."""

from dataclasses import dataclass

import numpy as np

from szoht.core.objective import Objective
from szoht.core.validation import check_choice, check_integer, frozen
from szoht.operators import Sparse
from szoht.problems.base import Problem
from szoht.theory import Regularity, Setting, Version, step_size
from szoht.types import Indices, Sample, Vector

__all__ = ["quadratic", "sensitivity"]

CITATION = (
    "W. de Vazelhes, H. Zhang, H. Wu, X.-T. Yuan, B. Gu (2022). Zeroth-Order Hard-Thresholding: "
    "Gradient Error vs. Expansivity. NeurIPS 35"
)

VERSIONS = ("corrected", "paper")


@dataclass(frozen=True, kw_only=True, eq=False)
class SeparableQuadratic:
    """f(x) = 1/2 sum_i a_i (x_i - b_i)^2, with every capability of `Objective`."""

    curvature: Vector
    center: Vector

    def value(self, x: Vector, sample: Sample = None) -> float:
        """Return f(x)."""
        del sample
        residual = x - self.center
        return 0.5 * float((self.curvature * residual) @ residual)

    def values(self, points: Vector, sample: Sample = None) -> Vector:
        """Return f at each row."""
        del sample
        residual = points - self.center
        values: Vector = 0.5 * (residual * residual) @ self.curvature
        return values

    def along(self, x: Vector, indices: Indices, offsets: Vector, sample: Sample = None) -> Vector:
        """Return f at x plus sparse offsets, in O(d + m s) instead of O(m d)."""
        slope = self.gradient(x)
        changes = offsets * (slope[indices] + 0.5 * self.curvature[indices] * offsets)
        values: Vector = self.value(x, sample) + changes.sum(axis=1)
        return values

    def gradient(self, x: Vector, sample: Sample = None) -> Vector:
        """Return the gradient."""
        del sample
        return self.curvature * (x - self.center)

    @property
    def objective(self) -> Objective:
        """The function with its capabilities."""
        return Objective(
            value=self.value, values=self.values, along=self.along, gradient=self.gradient
        )


def quadratic(
    d: int = 5000, k_star: int = 5, *, k: int | None = None, version: Version = "corrected"
) -> Problem:
    r"""Return the quadratic of the dimension experiment, half the distance to a sparse point.

    .. math:: f(x) = \tfrac12 \|x - y\|^2, \quad y = (0, \dots, 0, 1/k^*, 2/k^*, \dots, 1)

    Parameters
    ----------
    d : int >= 2
        Dimension; the paper has 5000, 10000 and 50000.
    k_star : int in [1, d - 1]
        Non-zeros of y.
    k : int in [k_star, d], optional
        Non-zeros that a solver may use. By default 500, the paper's number, where this leaves
        room for the theory (2 k + k_star <= d), else ``k_star``.
    version : {"corrected", "paper"}
        As the text prints it, the last entries of y are 1, 1/2, ..., 1/k_star (f = 0.732 at the
        start, where the figure shows 1.10), and the start, 1/d on the first d - k_star
        coordinates, is not sparse. Corrected, they are evenly spaced, as the text
        says, and the start is 0.

    Returns
    -------
    Problem
        ``settings`` are those of the panel with full supports: q = 2 (2 k + k_star + 2),
        mu = 1e-8 and the step size 1/13.

    Examples
    --------
    >>> problem = quadratic(d=5000, k_star=5)
    >>> print(f"{problem.objective.value(problem.x0, None):.4f}")
    1.1000
    """
    check_integer("d", d, low=2)
    check_integer("k_star", k_star, low=1, high=d - 1, high_name="d - 1")
    check_choice("version", version, VERSIONS)
    fits = 2 * 500 + k_star <= d
    kept = (500 if fits else k_star) if k is None else k
    check_integer("k", kept, low=k_star, high=d, high_name="d")
    steps = np.arange(1, k_star + 1)
    y, x0 = np.zeros(d), np.zeros(d)
    y[-k_star:] = steps / k_star if version == "corrected" else 1.0 / steps
    if version == "paper":
        x0[:-k_star] = 1.0 / d
    function = SeparableQuadratic(curvature=frozen(np.ones(d)), center=frozen(y))
    return Problem(
        name=f"quadratic-d{d}-{version}",
        objective=function.objective,
        x0=x0,
        k=kept,
        constants={"smoothness": 1.0, "convexity": 1.0, "k_star": k_star},
        best=0.0,
        best_x=y,
        best_source="analytic: the minimizer is sparse",
        settings={
            "q": 2 * (2 * kept + k_star + 2),
            "support_size": d,
            "mu": 1e-8,
            "step_size": 1 / 13,
        },
        citation=f"{CITATION}, appendix on dimension independence.",
    )


def sensitivity(
    d: int = 5000,
    k_star: int = 5,
    *,
    k: int | None = None,
    q: int = 5000,
    version: Version = "corrected",
) -> Problem:
    r"""Return the quadratic of the sensitivity study, flat along most coordinates.

    .. math:: f(x) = \tfrac12 \|a \odot (x - b)\|^2

    where a is 1 on the last s + 1 coordinates, i >= d - s with s = 2 k + k_star, and 0 elsewhere.

    Parameters
    ----------
    d : int >= 2
        Dimension.
    k_star : int >= 1
        Sparsity of the target.
    k : int, optional
        Non-zeros that a solver may use, 74 k_star by default; 2 k + k_star < d.
    q : int >= 1
        Directions; it decides the step size in ``settings``, that of Theorem 1. The paper's
        figure has 1, 20, 200, 500, 2500 and 5000.
    version : {"corrected", "paper"}
        The text has b_i = i / (100 d) on the *first* d - 70 k_star coordinates. Then f cannot fall
        below 9.5e-4 with k non-zeros, which contradicts the figure. What reproduces it has b on
        the *last* 70 k_star coordinates, and measures distances to ``reference``, i / d on
        the last k_star coordinates: a hundred times the best k_star-sparse point.

    Examples
    --------
    >>> problem = sensitivity()
    >>> print(f"{problem.objective.value(problem.x0, None):.5f}")
    0.01631
    >>> import numpy as np
    >>> print(f"{np.linalg.norm(problem.x0 - problem.reference):.4f}")
    2.2352
    """
    check_integer("d", d, low=2)
    check_integer("k_star", k_star, low=1, high=d, high_name="d")
    check_integer("q", q, low=1)
    check_choice("version", version, VERSIONS)
    kept = check_integer("k", 74 * k_star if k is None else k, low=k_star, high=(d - 1) // 2)
    size = 2 * kept + k_star
    index = np.arange(1, d + 1)  # 1-based, as in the paper
    a = (index >= d - size).astype(float)
    width = min(70 * k_star, d)
    mask = index > d - width if version == "corrected" else index <= d - width
    b = np.where(mask, index / (100 * d), 0.0)
    reference = np.where(index > d - k_star, index / d, 0.0)
    function = SeparableQuadratic(curvature=frozen(a), center=frozen(b))
    best_x = Sparse(kept).prox(a * b, 1.0)  # separable: the k largest a_i b_i^2
    setting = Setting(d=d, k=kept, k_star=k_star, q=q, support_size=d)
    step = step_size(setting, Regularity(smoothness=1.0, convexity=1.0))
    return Problem(
        name=f"sensitivity-{version}",
        objective=function.objective,
        x0=np.zeros(d),
        k=kept,
        constants={"smoothness": 1.0, "convexity": 0.0 if size < d - 1 else 1.0, "k_star": k_star},
        best=function.value(best_x),
        best_x=best_x,
        best_source="analytic: separable, so the k largest terms vanish",
        reference=reference if version == "corrected" else None,
        settings={"q": q, "support_size": d, "mu": 1e-4, "step_size": float(step)},
        citation=f"{CITATION}, section 4.1.",
    )
