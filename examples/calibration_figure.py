"""The figure of a calibration: simulated against observed outputs, changed knobs as bars."""

from pathlib import Path
from typing import Any

import numpy as np

import szoht

BLUE, GRAY, ORANGE = "#1b6ca8", "#9a9a9a", "#d1792b"


def draw(
    result: szoht.LeastSquaresResult, nominal: np.ndarray, truth: np.ndarray, path: Path
) -> None:
    """Save the figure; ``nominal`` are the outputs at the start, ``truth`` the true factors."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise SystemExit(
            'The figure needs matplotlib, which is part of the extra "plot": '
            'pip install "szoht[plot]"'
        ) from None
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _outputs(left, result, nominal)
    _knobs(right, result, truth)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _outputs(axes: Any, result: szoht.LeastSquaresResult, nominal: np.ndarray) -> None:
    _, simulated, observed, sigma, _ = map(np.array, zip(*result.residual_table, strict=True))
    before = (nominal - observed) / sigma
    after = (simulated - observed) / sigma
    order = np.argsort(before)
    places = np.arange(order.size)
    size = 20 if order.size < 50 else 5
    axes.axhspan(-2, 2, color=GRAY, alpha=0.25, linewidth=0)
    axes.scatter(places, before[order], s=size, color=ORANGE, label="nominal")
    axes.scatter(places, after[order], s=size, color=BLUE, label=f"calibrated, {result.nfev} runs")
    axes.set_yscale("symlog", linthresh=3)
    axes.set(xlabel="outputs, in the order of their misfit at nominal values")
    axes.set(ylabel="(simulated - observed) / sigma", title="Predicted against observed")
    axes.legend(frameon=False, loc="upper left")


def _knobs(axes: Any, result: szoht.LeastSquaresResult, truth: np.ndarray) -> None:
    variables = result.variables
    shown = np.union1d(result.support, np.flatnonzero(truth != 1))[::-1]
    places = np.arange(shown.size)
    axes.barh(places + 0.2, np.log2(truth[shown]), 0.4, color=GRAY, label="true")
    factors = result.x[shown] / variables.nominal[shown]
    axes.barh(places - 0.2, np.log2(factors), 0.4, color=BLUE, label="found")
    for interval, i in zip(result.intervals, result.support, strict=True):
        ends = np.log2(np.array([interval.low, interval.high]) / variables.nominal[i])
        place = places[np.flatnonzero(shown == i)] - 0.2
        axes.plot(ends, [place, place], color="black", linewidth=1.2)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, [variables.labels[i] for i in shown], fontsize=9)
    low, high = (int(np.floor(axes.get_xlim()[0])), int(np.ceil(axes.get_xlim()[1])))
    ticks = range(low, high + 1)
    axes.set_xticks(ticks, [f"{2.0**tick:g}" for tick in ticks])
    axes.set(xlabel="factor on the nominal value", title=f"{shown.size} of {truth.size} knobs")
    axes.legend(frameon=False)
