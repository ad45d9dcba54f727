"""The OR-Library's portfolio data: moments of five stock markets, and their frontiers.

All ten files are part of the package as ``orlib.npz``, whose integers count units of the last
printed digit: nothing is downloaded, and the numbers are those of the files to the last bit.
``orlib.LICENSE`` names their source and license.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from szoht.core.text_files import read_text
from szoht.core.validation import check_choice, frozen
from szoht.errors import DataError
from szoht.problems.assets import Assets
from szoht.problems.data import DataFile, find_local, register
from szoht.problems.periods import PeriodsPerYear
from szoht.types import Vector

__all__ = ["CITATION", "NAMES", "load_frontier", "load_market", "read_market"]

CITATION = (
    "T.-J. Chang, N. Meade, J. E. Beasley, Y. M. Sharaiha (2000). Heuristics for cardinality "
    "constrained portfolio optimisation. Computers & Operations Research 27, 1271-1302; data: "
    "J. E. Beasley (1990), OR-Library."
)

NAMES = ("port1", "port2", "port3", "port4", "port5")
"""Hang Seng, DAX 100, FTSE 100, S&P 100 and Nikkei 225; weekly, March 1992 to September 1997."""

WEEKLY = PeriodsPerYear(52.0, "weekly prices")

_BASE_URL = "http://people.brunel.ac.uk/~mastjjb/jeb/orlib/files/"

_DATA_FILES = {
    "port1": ("8c570897a400635625fe14eb9a0868aebc6621586674a690493b085850f87886", 7713),
    "port2": ("00c7149e139cd0c6cf622515b7aa8691d67a0b98b1262984728c1104218cb720", 55668),
    "port3": ("fa04c266f3477c8758e81750ccfd810b467e7a03d8e58246fa8df4c6fc39468c", 60877),
    "port4": ("6d541dd651e6a6fa84a7b0d73f56a5bc7d09f63f2baf98a8046613f618cc094b", 73814),
    "port5": ("9191aec8975c5730cafaf60eb1fcd6e2ad2769011601c7fccae852bb5d80bf48", 412047),
    "portef1": ("55bc3289107f5cdbb3d1a44bab3a8bacd93ac5d0ce73ae12dddd6f334feaf1ac", 53997),
    "portef2": ("b918e1a8e0fd8ad38eb047d60daba791030e49721c547550385043a39f08656b", 53997),
    "portef3": ("4d0eb0a1cfbaddc2ef2049ec34ab9836e133f7dd0c0481f2932b345dc01c0cc3", 53997),
    "portef4": ("9b510a8133f84ad6a5e0895e16ed018b1b17ae9d08e10186f1a23360c71d2557", 54000),
    "portef5": ("ad20ae5b07c044004ec2c755f213dfc04e2e8444dce5e2502055992a25617e78", 53997),
}

register(
    *(
        DataFile(name=f"orlib/{name}.txt", url=f"{_BASE_URL}{name}.txt", sha256=digest, size=size)
        for name, (digest, size) in _DATA_FILES.items()
    )
)

BUNDLED_FILE = Path(__file__).with_name("orlib.npz")
"""For ``port1``: ``mean``, ``deviation``, ``correlation`` (above the diagonal), ``frontier``."""

DECIMALS, FRONTIER_DECIMALS = 6, 10

EIGENVALUE_TOLERANCE = 1e-6
"""The files have six decimals, so eigenvalues above minus this times d count as zero."""


def load_market(name: str, path: str | os.PathLike[str] | None = None) -> Assets:
    """Return the assets of ``port1`` to ``port5``.

    They are read from ``path`` (the file or a folder that holds it) if given, else from the first
    folder of ``SZOHT_DATA`` that has the file, else from the package itself.
    """
    check_choice("name", name, NAMES)
    file = find_local(f"orlib/{name}.txt", path)
    if file is not None:
        return replace(read_market(file), periods=WEEKLY)
    mean, deviation, pairs = (
        _bundled(name, what) / 10**DECIMALS for what in ("mean", "deviation", "correlation")
    )
    correlation = np.eye(len(mean))
    above = np.triu_indices(len(mean), 1)
    correlation[above] = correlation.T[above] = pairs
    return replace(_assets(mean, deviation, correlation), periods=WEEKLY)


def load_frontier(name: str, path: str | os.PathLike[str] | None = None) -> Vector:
    """Return the long-only frontier without cardinality that belongs to ``port1`` to ``port5``.

    Two columns, mean return and variance, from the highest return to the least variance. The
    numbers are found as those of `load_market`.
    """
    check_choice("name", name, NAMES)
    file = find_local(f"orlib/portef{name[-1]}.txt", path)
    if file is None:
        return frozen(_bundled(name, "frontier").cumsum(axis=0) / 10**FRONTIER_DECIMALS)
    rows = [_numbers(file, line, text, ("return", "variance")) for line, text in _lines(file)]
    return frozen(np.array(rows))


def _bundled(name: str, what: str) -> Vector:
    with np.load(BUNDLED_FILE) as arrays:
        numbers: Vector = arrays[f"{name}_{what}"]
    return numbers


def _assets(mean: Vector, deviation: Vector, correlation: Vector) -> Assets:
    return Assets(
        names=tuple(str(i) for i in range(1, len(mean) + 1)),
        mean=frozen(mean.copy()),
        covariance=frozen(correlation * np.outer(deviation, deviation)),
    )


def read_market(file: str | os.PathLike[str]) -> Assets:
    """Read a file in the OR-Library's format.

    It holds the number of assets N, then N lines ``mean deviation``, then a line
    ``i j correlation`` for each pair 1 <= i <= j <= N in any order.

    Raises
    ------
    DataError
        With the file and the line, if a line is malformed or missing, or if the correlations
        cannot be those of any N random variables.
    """
    file = Path(file)
    lines = _lines(file)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{file} is empty; its first line must be the number of assets.")
    n = _count(file, *first)
    moments = np.array([_moments(file, lines, i, n) for i in range(1, n + 1)])
    correlation, where = _correlations(file, lines, n)
    _check_semidefinite(file, correlation, where)
    return _assets(moments[:, 0], moments[:, 1], correlation)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Return the non-blank lines, with their numbers from 1."""
    lines = enumerate(read_text(file).splitlines(), 1)
    return ((i, line) for i, line in lines if line.strip())


def _numbers(file: Path, line: int, text: str, what: tuple[str, ...]) -> list[float]:
    parts = text.split()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != len(what) or not np.isfinite(numbers).all():
        raise DataError(f"{file}, line {line}: expected `{' '.join(what)}`; got {text.strip()!r}.")
    return numbers


def _count(file: Path, line: int, text: str) -> int:
    (number,) = _numbers(file, line, text, ("number of assets",))
    if number < 1 or number != int(number):
        raise DataError(
            f"{file}, line {line}: the number of assets must be an integer >= 1; got "
            f"{text.strip()!r}."
        )
    return int(number)


def _moments(file: Path, lines: Iterator[tuple[int, str]], i: int, n: int) -> list[float]:
    line, text = _next(file, lines, f"asset {i} of {n}")
    mean, deviation = _numbers(file, line, text, ("mean", "deviation"))
    if deviation <= 0:
        raise DataError(
            f"{file}, line {line}: the standard deviation of asset {i} must be positive; got "
            f"{deviation:g}."
        )
    return [mean, deviation]


def _next(file: Path, lines: Iterator[tuple[int, str]], expected: str) -> tuple[int, str]:
    found = next(lines, None)
    if found is None:
        last = max((line for line, _ in _lines(file)), default=0)
        raise DataError(f"{file} is truncated: it ends at line {last}, before {expected}.")
    return found


def _correlations(
    file: Path, lines: Iterator[tuple[int, str]], n: int
) -> tuple[Vector, dict[tuple[int, int], int]]:
    """Read every pair once; also return the line of each."""
    correlation = np.full((n, n), np.nan)
    where: dict[tuple[int, int], int] = {}
    total = n * (n + 1) // 2
    for done in range(total):
        line, text = _next(file, lines, f"correlation {done + 1} of {total}")
        i, j, value = _pair(file, line, text, n)
        if (i, j) in where:
            raise DataError(
                f"{file}, line {line}: the correlation of assets {i + 1} and {j + 1} is already "
                f"on line {where[i, j]}."
            )
        where[i, j] = line
        correlation[i, j] = correlation[j, i] = value
    extra = next(lines, None)
    if extra is not None:
        raise DataError(f"{file}, line {extra[0]}: expected the end of the file; got {extra[1]!r}.")
    return correlation, where


def _pair(file: Path, line: int, text: str, n: int) -> tuple[int, int, float]:
    i, j, value = _numbers(file, line, text, ("i", "j", "correlation"))
    if not (i == int(i) and j == int(j) and 1 <= i <= j <= n):
        raise DataError(f"{file}, line {line}: expected integers 1 <= i <= j <= {n}; got {text!r}.")
    if abs(value) > 1 or (i == j and value != 1):
        rule = "1" if i == j else "in [-1, 1]"
        raise DataError(
            f"{file}, line {line}: the correlation of assets {i:g} and {j:g} must be {rule}; got "
            f"{value:g}."
        )
    return int(i) - 1, int(j) - 1, value


def _check_semidefinite(file: Path, correlation: Vector, where: dict[tuple[int, int], int]) -> None:
    """Raise if an eigenvalue is negative, and name the entry that contributes most to it."""
    values, vectors = np.linalg.eigh(correlation)
    if values[0] >= -EIGENVALUE_TOLERANCE * len(correlation):
        return
    # z'Rz < 0 is the sum over all entries; that off the diagonal which is most negative
    z = vectors[:, 0]
    contributions = np.triu(correlation * np.outer(z, z), 1)
    i, j = (int(index) for index in np.unravel_index(np.argmin(contributions), contributions.shape))
    raise DataError(
        f"{file}, line {where[i, j]}: the correlations are not positive semidefinite (least "
        f"eigenvalue {values[0]:.3g}), so no returns can have them; that of assets {i + 1} and "
        f"{j + 1}, {correlation[i, j]:g}, contributes most."
    )
