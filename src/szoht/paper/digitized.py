"""The points that were read off the paper's figures."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from szoht.types import Vector

__all__ = ["digitized_curves"]


def digitized_curves(experiment: str) -> dict[str, dict[str, Vector]]:
    """Return the paper's curves of an experiment: by panel and curve, points of shape (n, 2).

    A point is a count of queries, as the paper counts them, and the value drawn there. An
    experiment of whose figures no point was read has no panel.

    >>> digitized_curves("assets")["port4"]["zscg"]
    array([[5.00e+04, 5.42e-02],
           [1.49e+05, 3.67e-02]])
    >>> digitized_curves("projection")
    {}
    """
    return {
        panel: {curve: np.array(points, dtype=np.float64) for curve, points in curves.items()}
        for panel, curves in _file().get(experiment, {}).items()
    }


@cache
def _file() -> dict[str, dict[str, dict[str, list[list[float]]]]]:
    text = (resources.files("szoht.paper") / "digitized.toml").read_text("utf-8")
    found: dict[str, Any] = tomllib.loads(text)
    return found
