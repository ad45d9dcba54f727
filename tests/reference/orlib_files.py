"""Small OR-Library files, made for a test."""

import os
from pathlib import Path

import numpy as np
import pytest

ORLIB = next(
    (
        Path(folder) / "orlib"
        for folder in os.environ.get("SZOHT_DATA", "").split(os.pathsep)
        if folder and (Path(folder) / "orlib" / "port1.txt").is_file()
    ),
    None,
)

needs_orlib = pytest.mark.skipif(
    ORLIB is None, reason="no folder of SZOHT_DATA has the OR-Library files (orlib/port1.txt)"
)


def market(n=4, seed=0):
    """Return means, deviations and a positive definite correlation matrix, to six decimals."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((n, n + 3))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    correlation = (loadings @ loadings.T).round(6)
    np.fill_diagonal(correlation, 1.0)
    return rng.uniform(-0.002, 0.008, n).round(6), rng.uniform(0.02, 0.06, n).round(6), correlation


def lines_of(mean, deviation, correlation):
    """Write a market as the OR-Library does."""
    n = len(mean)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    return [
        f" {n}",
        *(f" {m:.6f} {s:.6f}" for m, s in zip(mean, deviation, strict=True)),
        *(f" {i + 1} {j + 1} {correlation[i, j]:.6f}" for i, j in pairs),
    ]
