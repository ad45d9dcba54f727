"""How far values can be trusted: repeatability, the size of their error, and what to do about it.

*Fixed error*: the same point gives the same value, but neighboring values err independently (a
solver's tolerance, single precision, a fixed seed). *Fresh noise*: the same point gives a new
value. *Outliers*: values are repeatable but for a few gross errors.
"""

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.core.repeats import same_value
from szoht.types import Vector

__all__ = [
    "BETWEEN",
    "LINE_STEPS",
    "LONGER_STEPS",
    "LONG_ROUGH_STEPS",
    "REPEATS",
    "ROUGH_STEPS",
    "NoiseKind",
    "NoiseModel",
    "difference_noise",
    "from_line",
    "from_parabola",
    "from_repeats",
    "interpolates",
    "is_smooth_beyond_doubt",
    "mostly_equal",
    "pool",
    "robust_rms",
    "robust_scale",
    "rough_at",
    "with_longer_table",
]

EPS = float(np.finfo(np.float64).eps)

STEP = 1e-6
"""The shortest difference that the exact regime takes, in units."""

LINE_STEPS: Vector = STEP * np.array([1.0, 2.0, 3.0, 1e2, 1e4])
"""Where a random line through the start is evaluated. Three short steps make the difference table;
slopes over the first, fourth and fifth show error with a longer correlation length."""

ROUGH_STEPS: Vector = 1e-3 * np.arange(1.0, 9.0)
"""Where roughness over longer distances is looked for when slopes lead nowhere."""

LONG_ROUGH_STEPS: Vector = 10 * ROUGH_STEPS
"""Where it is looked for too if slopes are dense: quantiles have kinks that far apart."""

BETWEEN: Vector = np.array([1.37, 5.63])
"""Where, in steps, two more values are compared with those at even ones."""

ROUGH = 0.05
"""Third differences of at least this share of the first ones, all but two, are those of errors."""

NOISE_LIKE = 0.35
"""Errors give second and third differences that tell the same sigma; a kink at random places tells
0.77 of it by the third, a cubic polynomial 0.27."""

SCATTER = 0.6
"""The second difference of values that scatter, as a share of the first (a parabola: 0.25)."""

PARABOLA = 0.3
"""Below this ratio of third to second differences values are on a parabola (of errors: 1.8)."""

STEP_SHARE = 1e-5
"""Jumps between equal values that are larger than this share of f are steps, not rounding."""

LONGER_STEPS: Vector = STEP * np.array([2e2, 3e2])
"""Where it is evaluated too if values err: a second table with the fourth of the steps above."""

REPEATS = 4
"""Further values at the start once two were seen to differ."""

SLOPE_ERROR = 0.03
"""Values are exact if slopes over `STEP` err by less than this share."""


class NoiseKind(enum.Enum):
    """What two values of f at the same point, or next to each other, have in common."""

    EXACT = "values differ from a smooth function by rounding only"
    FIXED = "the same point gives the same value, but neighboring values err independently"
    FRESH = "the same point gives another value each time"


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """How far values can be trusted, and how far apart they are to be taken.

    ``sigma`` is the standard deviation of one value, at least its rounding, and ``weight`` the
    number of independent differences that it rests on. ``axis_step`` and ``row_step`` are the
    lengths of differences along an axis and, per coordinate, along a dense direction, where f is
    exact. ``slope`` is the size of the slope along the test line (0 if it did not stand out) and
    ``curvature`` half the second derivative along it, what a forward difference adds per length.
    ``outliers`` says that single values are grossly wrong: each point is then asked until two
    values agree. ``flat``: no value on the test line differed from the first. ``stepwise``: values
    next to each other are equal and then jump: not noise, but a function that changes in steps.
    ``irregular``: they scatter, which is no matter of units.
    """

    kind: NoiseKind = NoiseKind.EXACT
    sigma: float = 0.0
    weight: float = 2.0
    axis_step: float = 1e-6
    row_step: float = 1e-6
    slope: float = 0.0
    curvature: float = 0.0
    outliers: bool = False
    flat: bool = False
    stepwise: bool = False
    irregular: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the same point gives a new value when it is asked again."""
        return self.kind is NoiseKind.FRESH

    @property
    def exact(self) -> bool:
        """Whether short differences mean something."""
        return self.kind is NoiseKind.EXACT

    def describe(self) -> str:
        """Return the finding in words."""
        if self.stepwise:
            return "values are repeatable and change in steps"
        text = {
            NoiseKind.EXACT: "values are exact as far as short differences can tell",
            NoiseKind.FIXED: f"values are repeatable but err by {self.sigma:.1e} (fixed error)",
            NoiseKind.FRESH: f"values differ by {self.sigma:.1e} when asked again (fresh noise)",
        }[self.kind]
        return text + (", with gross outliers" if self.outliers else "")


def robust_scale(values: Vector) -> float:
    """Return the median absolute deviation as a standard deviation: that of normal errors."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def robust_rms(values: Vector) -> float:
    """Return the root mean square of values clipped at three robust standard deviations.

    Nearly as efficient as the plain one on normal values; a median of squares needs three times as
    many values.
    """
    limit = 3 * 1.4826 * float(np.median(np.abs(values)))
    clipped = np.minimum(np.abs(values), limit) if limit > 0 else values
    return math.sqrt(float(np.mean(clipped**2)))


def mostly_equal(values: Vector) -> float | None:
    """Return the value that at least half of ``values`` share, but for rounding, if there is one.

    >>> mostly_equal(np.array([1.0, 7.0, 1.0, 1.0, 1.0, 9.0]))
    1.0
    """
    ordered = np.sort(values)
    counts = [sum(same_value(one, other) for other in ordered) for one in ordered.tolist()]
    most = int(np.argmax(counts))
    return float(ordered[most]) if 2 * counts[most] >= values.size and counts[most] > 1 else None


def from_repeats(values: Vector) -> NoiseModel:
    """Judge fresh noise from values at one point.

    A robust scale guards against a heavy tail; it is doubled as six values may agree by chance.
    """
    sigma, scale = float(np.std(values, ddof=1)), 1.2 * robust_scale(values)
    return NoiseModel(
        kind=NoiseKind.FRESH,
        sigma=min(sigma, 2 * scale) if scale > 0 else sigma,
        weight=values.size - 1.0,
    )


def difference_noise(values: Vector) -> tuple[float, float]:
    """Return the noise that second and third differences of evenly spaced values show.

    A smooth function has differences of order j that vanish like h^j; independent errors of
    variance s^2 give (2j)! / (j!)^2 s^2, that is 6 s^2 and 20 s^2. Reference: Moré and Wild,
    Estimating computational noise, SIAM J. Sci. Comput. 33 (2011).

    >>> second, third = difference_noise(np.array([0.0, 1.0, 4.0, 9.0]))  # smooth: third vanishes
    >>> round(second, 3), third
    (0.816, 0.0)
    """
    second, third = np.diff(values, 2), np.diff(values, 3)
    rms = math.sqrt(float(np.mean(second**2)) / 6), math.sqrt(float(np.mean(third**2)) / 20)
    return rms[0], rms[1]


def from_line(start: float, values: Vector) -> NoiseModel:
    """Judge repeatable values from those at `LINE_STEPS` along a random vector of signs.

    A smooth f has slopes s(t) = s + c t, so the slope over the middle length follows from the
    outer two. Exact if it does within `SLOPE_ERROR` and if the noise of the difference table,
    divided by the shortest step, is as small a share of the slope.
    """
    steps, rise = LINE_STEPS, values - start
    rounding = EPS * max(abs(start), float(np.abs(values).max()))
    second, third = difference_noise(np.concatenate([[start], values[:3]]))
    sigma = max(min(second, third), rounding)
    if not rise.any():
        return NoiseModel(sigma=sigma, flat=True)
    slopes = rise / steps
    short, middle, long = slopes[0], slopes[3], slopes[4]
    bend = (long - short) / steps[4]
    miss = abs(middle - short - bend * (steps[3] - steps[0]))
    size = max(abs(middle), abs(long))
    if miss <= SLOPE_ERROR * abs(middle) and 1.5 * sigma / steps[0] <= SLOPE_ERROR * size:
        return NoiseModel(sigma=sigma, slope=abs(middle), curvature=bend)
    sigma = max(sigma, second)
    seen = abs(long) if abs(rise[4]) > 6 * sigma else 0.0
    # equal neighbors: rounding to few digits if the jump is small, else a function of steps
    jump = abs(values[3] - values[0])
    equal = values[0] == values[1] == values[2]
    stepwise = bool(equal and (jump == 0 or jump > STEP_SHARE * abs(start)))
    stepwise = stepwise or _counts(np.concatenate([[start], values]), rounding)
    if sigma <= 4 * rounding and seen == 0:
        return NoiseModel(sigma=rounding)  # exact, and stationary along the line
    if stepwise:
        return NoiseModel(kind=NoiseKind.FIXED, sigma=rounding, stepwise=True)
    irregular = _scatters(np.concatenate([[start], values[:3]]))
    return NoiseModel(kind=NoiseKind.FIXED, sigma=sigma, slope=seen, irregular=irregular)


def _counts(values: Vector, rounding: float) -> bool:
    """Tell whether the nearest values differ by the same step or not at all, as counts do.

    Such steps are larger than those of values rounded to few digits, and all others are multiples.
    """
    changes = np.abs(np.diff(values))
    near = changes[:3]
    if not (near == 0).any() or not near.any():
        return False
    step = float(near[near > 0].min())
    multiples = changes / step
    whole = np.abs(multiples - np.rint(multiples)) * step <= 8 * rounding * (1 + multiples)
    return bool(step > STEP_SHARE * abs(values[0]) and whole.all())


def _scatters(values: Vector) -> bool:
    """Tell whether four values are on no line, parabola or plateau, as with a small unit."""
    second, third = np.diff(values, 2), np.diff(values, 3)
    bent = abs(second[1]) > SCATTER * abs(values[3] - values[1])
    return bool(bent and abs(third[0]) > PARABOLA * np.abs(second).max())


def from_parabola(values: Vector, rounding: float) -> NoiseModel:
    """Return a model of exact values from those at 0 and at the first three `LINE_STEPS`."""
    step, (first, second) = LINE_STEPS[0], (values[1] - values[0], np.diff(values, 2)[0])
    slope = abs(float(first - 0.5 * second)) / step
    return NoiseModel(sigma=rounding, slope=slope, curvature=0.5 * float(second) / step**2)


def with_longer_table(noise: NoiseModel, values: Vector) -> NoiseModel:
    """Return the model with the noise that values at 0 and at multiples of a longer step show.

    An error with a longer correlation length hides in the first table.
    """
    sigma = max(noise.sigma, min(difference_noise(values)))
    return replace(
        noise,
        sigma=sigma,
        slope=noise.slope if sigma < 3 * noise.sigma else 0.0,
    )


def largest_hidden(values: Vector) -> float:
    """Return the error that values at 0 and at eight even steps may have without showing it.

    Over a tenth of the step errors are what they are here, and first differences are a tenth, or a
    hundredth where f has no slope: what a shorter line would not show either.
    """
    return 0.01 * ROUGH * math.sqrt(float(np.mean(np.diff(values) ** 2)) / 2)


def is_smooth_beyond_doubt(values: Vector) -> bool:
    """Tell whether values at 0 and at eight even steps leave no error for a shorter line."""
    third = float(np.abs(np.diff(values, 3)).max()) / math.sqrt(20)
    return third <= largest_hidden(values)


def interpolates(values: Vector, between: Vector) -> bool:
    """Tell whether a polynomial through values at even steps has those at `BETWEEN` steps.

    It has not if the step happens to be a multiple of the length of a wave.
    """
    curve = np.polynomial.Polynomial.fit(np.arange(values.size), values, 4)
    return bool(np.abs(curve(BETWEEN) - between).max() <= largest_hidden(values))


def rough_at(noise: NoiseModel, values: Vector) -> NoiseModel:
    """Return a model of fixed error if values at 0 and at eight even steps show one.

    Independent errors have first and third differences of variance 2 s^2 and 20 s^2; third ones of
    a smooth f are much smaller, and a single kink shows in three of the six only.
    """
    first = math.sqrt(float(np.mean(np.diff(values) ** 2)) / 2)
    second = float(np.std(np.diff(values, 2))) / math.sqrt(6)  # without curvature
    sigma = difference_noise(values)[1]
    third = np.sort(np.abs(np.diff(values, 3))) / math.sqrt(20)
    if third[2] <= max(ROUGH * first, 10 * noise.sigma) or sigma < NOISE_LIKE * second:
        return noise
    return replace(noise, kind=NoiseKind.FIXED, sigma=sigma, slope=0.0)


def pool(noise: NoiseModel, sigma: float, weight: float) -> NoiseModel:
    """Return the model with another estimate of sigma, from ``weight`` differences, pooled in.

    The weight of what was known is capped: error may change along the way.
    """
    known = min(noise.weight, 10.0)
    variance = (known * noise.sigma**2 + weight * sigma**2) / (known + weight)
    return replace(noise, sigma=math.sqrt(variance), weight=known + weight)
