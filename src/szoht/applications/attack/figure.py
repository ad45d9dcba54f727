"""A figure of the original, the change and the adversarial image."""

from typing import TYPE_CHECKING, Any

import numpy as np

from szoht.applications.attack.result import AttackResult
from szoht.reporting.figures import load_matplotlib
from szoht.types import Indices, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["attack_figure"]

GRAY_NDIM = 2
COLOR_CHANNELS = (3, 4)


def attack_figure(result: AttackResult) -> "Figure":
    """Return a figure with three panels and the predictions above them."""
    matplotlib = load_matplotlib()
    figure: Figure = matplotlib.figure.Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 3)
    change = result.adversarial - result.original
    changed = f"{result.pixels} of {int(result.pixel_of.max()) + 1} pixels changed"
    titles = (
        f"original: {result.prediction}",
        changed,
        f"adversarial: {result.adversarial_prediction}",
    )
    ranges = (result.original, result.adversarial)
    low = min(0.0, *(float(part.min()) for part in ranges))
    high = max(1.0, *(float(part.max()) for part in ranges))
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=11)
        panel.set_xticks([])
        panel.set_yticks([])
    for panel, image in ((panels[0], result.original), (panels[2], result.adversarial)):
        plottable = _as_plottable(image, result.pixel_of)
        scaled = (plottable - low) / (high - low) if plottable.ndim > GRAY_NDIM else plottable
        panel.imshow(scaled, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
    _plot_change(panels[1], _as_plottable(change, result.pixel_of))
    queries = f"{result.queries} queries, l0 = {result.l0}, l2 = {result.l2:.3g}"
    figure.suptitle(f"{result.status.name.lower()} after {queries}", fontsize=11)
    return figure


def _plot_change(panel: Any, change: Vector) -> None:
    """Plot a change in a diverging color map, or as gray plus the change if it has channels."""
    size = float(np.abs(change).max()) or 1.0
    if change.ndim == GRAY_NDIM:
        panel.imshow(change, cmap="RdBu_r", vmin=-size, vmax=size, interpolation="nearest")
        return
    panel.imshow(0.5 + change[..., :3] / (2 * size), interpolation="nearest")


def _as_plottable(image: Vector, pixel_of: Indices) -> Vector:
    """Return shape (height, width) or (height, width, channels); other images become one row."""
    if image.ndim == GRAY_NDIM:
        return image
    if image.ndim != GRAY_NDIM + 1:
        return image.reshape(1, -1)
    # channels first if the next coordinate along the last axis is another pixel
    first = pixel_of.size > 1 and pixel_of[0] != pixel_of[1]
    moved = np.moveaxis(image, 0, -1) if first and image.shape[0] in (1, *COLOR_CHANNELS) else image
    if moved.shape[-1] in COLOR_CHANNELS:
        return moved
    flat: Vector = moved[..., 0]
    return flat
