"""The OR-Library's original files where they are at hand, and small ones made for a test."""

import os
from decimal import Decimal
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


def needs_orlib(test):
    """Mark a test that compares with the original files, which are not in the package."""
    reason = "no folder of SZOHT_DATA has the OR-Library files (orlib/port1.txt)"
    return pytest.mark.data(pytest.mark.skipif(ORLIB is None, reason=reason)(test))


def integers(folder):
    """Return the arrays of the package's ``orlib.npz``, from the digits of the original files.

    ``np.savez_compressed("orlib.npz", **integers(folder))`` makes that file. Frontiers are kept as
    differences of consecutive lines, which are smaller numbers.
    """
    arrays = {}
    for i in range(1, 6):
        (count,), *rows = _digits(folder / f"port{i}.txt", decimals=6)
        n = count // 10**6
        pairs = [row[2] for row in rows[n:] if row[0] < row[1]]  # sorted by i, then by j
        frontier = np.array(_digits(folder / f"portef{i}.txt", decimals=10))
        arrays |= {
            f"port{i}_mean": np.array([row[0] for row in rows[:n]], dtype=np.int32),
            f"port{i}_deviation": np.array([row[1] for row in rows[:n]], dtype=np.int32),
            f"port{i}_correlation": np.array(pairs, dtype=np.int32),
            f"port{i}_frontier": np.diff(frontier, axis=0, prepend=0).astype(np.int32),
        }
    return arrays


def _digits(file, decimals):
    """Return each line's numbers as integers in units of the last decimal, by decimal digits."""
    rows = [line.split() for line in file.read_text().splitlines() if line.strip()]
    return [[int(Decimal(word).scaleb(decimals)) for word in row] for row in rows]


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
