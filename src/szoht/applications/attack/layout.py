"""What an image is: its shape, its range, and which coordinates are one pixel."""

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
"""Where a colour image of three dimensions has its channels."""

Unit: TypeAlias = Literal["coordinates", "pixels"]
"""What sparsity counts."""

Bounds: TypeAlias = Literal["constraint", "clip"]
"""Whether the change keeps the range of an image, or is clipped inside the loss."""

USUAL_CHANNELS = (1, 3, 4)
COLOUR_DIMENSIONS = 3


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
        if len(self.shape) == COLOUR_DIMENSIONS - 1:
            return 1, self.shape[0], self.shape[1]
        return 1, 1, int(np.prod(self.shape))

    @property
    def pixels(self) -> Indices:
        """The number of each coordinate's pixel."""
        d = int(np.prod(self.shape))
        if self.channels == "first":
            return np.arange(d) % (self.shape[1] * self.shape[2])
        return np.arange(d) // (self.shape[2] if self.channels == "last" else 1)


def as_layout(shape: tuple[int, ...], channels: Channels | None) -> Layout:
    """Return the layout; where the channels are is guessed if it is not said."""
    if channels is not None:
        check_choice("channels", channels, ("first", "last", "none"))
        if channels != "none" and len(shape) != COLOUR_DIMENSIONS:
            raise ParameterError(
                "`channels` must be 'none' unless the image has three dimensions; got "
                f"{channels!r} with shape {shape}."
            )
        return Layout(shape=shape, channels=channels)
    if len(shape) != COLOUR_DIMENSIONS:
        return Layout(shape=shape, channels="none")
    first, last = shape[0] in USUAL_CHANNELS, shape[-1] in USUAL_CHANNELS
    if first == last:
        raise ParameterError(
            f"`channels` must be given, 'first' or 'last': an image of shape {shape} does not "
            "tell where its channels are."
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
    if not np.isfinite(floats).all() or floats.min() < low or floats.max() > high:
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
    least, most = low - image, high - image
    if unit == "pixels":
        if not boxed:
            return GroupSparse(k=k, groups=pixels)
        return GroupSparse(k=k, groups=pixels, low=least, high=most)
    return SparseBox(k, low=least, high=most) if boxed else Sparse(k)
