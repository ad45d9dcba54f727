"""An experiment small enough to run in a test."""

import numpy as np

from szoht.paper import Experiment, Job, Measurement, Plot
from szoht.reporting.figures import subplots

SLOPE = 2.0


def jobs(scale):
    return [
        Job(experiment="fake", curve=name, settings={"offset": offset}, seed=seed, cost=offset + 1)
        for name, offset in (("low", 0), ("high", 5))
        for seed in scale.runs(quick=1, full=3)
    ]


def run(settings, seed):
    x = np.arange(5.0)
    return {"x": x, "y": line(x) + settings["offset"] + seed}


def line(x):
    return SLOPE * x


def figures(results):
    figure, (axes,) = subplots()
    axes.plot(*results.runs("low")[0].table.values())
    return {"lines": Plot(figure=figure, caption="Two lines & <more>.")}


def value(results, curve, place):
    values = results.at(curve, "y", place)
    middle = float(np.median(values))
    return Measurement(value=middle, text=f"{middle:g}", low=values.min(), high=values.max())


def make(**changes):
    parts = {
        "name": "fake",
        "title": "A fake",
        "where": "Nowhere",
        "description": "Lines.",
        "jobs": jobs,
        "run": run,
        "figures": figures,
        "measures": {"value": value},
    }
    return Experiment(**parts | changes)
