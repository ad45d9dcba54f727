"""The layout of an image: shape, channels, range, and the coordinates of each pixel."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.validation import check_choice, check_integer, check_real
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators import GroupSparse, Operator, Sparse, SparseBox
from szoht.types import Indices, Vector

__all__ = ["Bounds", "Channels", "Layout", "Unit", "as_image", "as_layout", "constraint"]

Channels: TypeAlias = Literal["first", "last", "none"]
"""The axis of the channels in an image of three dimensions."""

Unit: TypeAlias = Literal["coordinates", "pixels"]
"""The unit in which sparsity is counted."""

Bounds: TypeAlias = Literal["constraint", "clip"]
"""Whether the change is constrained to the range of an image, or clipped inside the loss."""

COMMON_CHANNEL_COUNTS = (1, 3, 4)
COLOR_NDIM = 3


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The shape of an image and where its channels are."""

    shape: tuple[int, ...]
    channels: Channels

    @property
    def grid(self) -> tuple[int, int, int]:
        """Channels, height and width; an image of other than two dimensions is one row."""
        if self.channels == "first":
            return self.shape[0], self.shape[1], self.shape[2]
        if self.channels == "last":
            return self.shape[2], self.shape[0], self.shape[1]
        if len(self.shape) == COLOR_NDIM - 1:
            return 1, self.shape[0], self.shape[1]
        return 1, 1, int(np.prod(self.shape))

    @property
    def pixels(self) -> Indices:
        """The index of the pixel of each coordinate."""
        d = int(np.prod(self.shape))
        if self.channels == "first":
            return np.arange(d) % (self.shape[1] * self.shape[2])
        return np.arange(d) // (self.shape[2] if self.channels == "last" else 1)


def as_layout(shape: tuple[int, ...], channels: Channels | None) -> Layout:
    """Return the layout; the axis of the channels is inferred if it is not given."""
    if channels is not None:
        check_choice("channels", channels, ("first", "last", "none"))
        if channels != "none" and len(shape) != COLOR_NDIM:
            raise ParameterError(
                "`channels` must be 'none' unless the image has three dimensions; got "
                f"{channels!r} with shape {shape}."
            )
        return Layout(shape=shape, channels=channels)
    if len(shape) != COLOR_NDIM:
        return Layout(shape=shape, channels="none")
    first, last = shape[0] in COMMON_CHANNEL_COUNTS, shape[-1] in COMMON_CHANNEL_COUNTS
    if first == last:
        raise ParameterError(
            f"`channels` must be 'first' or 'last' for an image of shape {shape}: the axis of the "
            "channels cannot be inferred."
        )
    return Layout(shape=shape, channels="first" if first else "last")


def as_image(image: ArrayLike, low: float, high: float) -> Any:
    """Return an image as floats within [low, high], or raise."""
    check_real("low", low)
    check_real("high", high, low=low, open_low=True)
    try:
        array = np.array(image)
        floats = array.astype(array.dtype if array.dtype.kind == "f" else np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(f"`image` must be an array of real numbers: {error}.") from error
    if array.dtype.kind not in "biuf" or not floats.size:
        raise ParameterTypeError(
            f"`image` must be an array of real numbers; got {array.dtype} of shape {array.shape}."
        )
    if not np.isfinite(floats).all():
        wrong = floats[~np.isfinite(floats)][0]
        raise ParameterError(f"`image` must be finite; got {wrong}. Correct the image.")
    if floats.min() < low or floats.max() > high:
        raise ParameterError(
            f"`image` must lie within [low, high] = [{low:g}, {high:g}]; got values from "
            f"{floats.min():g} to {floats.max():g}. Scale it, or pass `low` and `high`."
        )
    return floats


def constraint(
    image: Vector, layout: Layout, *, k: int, unit: Unit, bounds: Bounds, low: float, high: float
) -> Operator:
    """Return the set of changes of at most ``k`` coordinates or pixels."""
    check_choice("unit", unit, ("coordinates", "pixels"))
    check_choice("bounds", bounds, ("constraint", "clip"))
    pixels = layout.pixels
    count = image.size if unit == "coordinates" else int(pixels.max()) + 1
    check_integer("k", k, low=1, high=count, high_name=f"number of {unit}")
    boxed = bounds == "constraint"
    lowest, highest = low - image, high - image
    if unit == "pixels":
        if not boxed:
            return GroupSparse(k=k, groups=pixels)
        return GroupSparse(k=k, groups=pixels, low=lowest, high=highest)
    return SparseBox(k, low=lowest, high=highest) if boxed else Sparse(k)
