"""Random numbers by key: (seed, iteration, round, purpose, block) -> generator."""

import enum
from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer, shown
from szoht.errors import ParameterTypeError
from szoht.types import Indices

__all__ = ["Key", "Purpose", "as_seed", "draw_supports"]


LARGEST_SEED = 2**512
"""Four times as many bits as NumPy draws for a seed."""


class Purpose(enum.IntEnum):
    """What a draw is for; draws for different purposes never share random bits."""

    SAMPLE = 0
    DIRECTIONS = 1
    ITERATE = 2
    EXCHANGE = 3
    NOISE = 4


@dataclass(frozen=True, kw_only=True)
class Key:
    """The key of all random numbers in one round of one iteration.

    The same key gives the same bits in every process, so `ask` is pure, resuming is exact and
    a worker can sample its directions itself.

    >>> key = Key(seed=0, iteration=3)
    >>> same = Key(seed=0, iteration=3)
    >>> draw = key.generator(Purpose.SAMPLE).integers(100, size=3)
    >>> bool((draw == same.generator(Purpose.SAMPLE).integers(100, size=3)).all())
    True
    """

    seed: int
    iteration: int = 0
    round: int = 0

    def generator(self, purpose: Purpose, block: int = 0) -> np.random.Generator:
        """Return a fresh generator for ``purpose``; each ``block`` has a stream of its own."""
        spawn_key = (self.iteration, self.round, int(purpose), block)
        # SFC64: the fastest of NumPy's bit generators for both normals and integers.
        return np.random.Generator(
            np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=spawn_key))
        )


def as_seed(rng: int | np.random.Generator | np.random.SeedSequence | None) -> int:
    """Turn what users pass as ``rng`` into the one integer that seeds a run.

    An integer is itself; None takes fresh entropy, which the result reports, so that every run
    can be repeated; a `Generator` is asked for an integer, so two runs from it differ.
    """
    if rng is None:
        return _entropy(np.random.SeedSequence())
    if isinstance(rng, np.random.SeedSequence):
        return _entropy(rng)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    try:
        return check_integer("rng", rng, low=0, high=LARGEST_SEED, high_name="2**512")
    except ParameterTypeError as error:
        raise ParameterTypeError(
            "`rng` must be None, an integer >= 0, a numpy.random.Generator or a "
            f"numpy.random.SeedSequence; got rng={shown(rng)}."
        ) from error


def draw_supports(generator: np.random.Generator, *, d: int, size: int, count: int) -> Indices:
    """Draw ``count`` uniform subsets of ``size`` coordinates out of ``d``, as sorted rows.

    Duplicates within a row are redrawn until none is left. The procedure treats all coordinates
    alike, so every subset is equally likely. Subsets larger than d/2 are drawn as complements,
    hence a redrawn entry hits a duplicate with probability at most 1/2 and the expected cost is
    O(count * size), apart from sorting the rows.

    >>> draw_supports(np.random.default_rng(0), d=6, size=6, count=1)
    array([[0, 1, 2, 3, 4, 5]])
    """
    if 2 * size > d:
        return _complements(draw_supports(generator, d=d, size=d - size, count=count), d)
    supports = np.sort(generator.integers(d, size=(count, size), dtype=np.intp), axis=1)
    rows = np.arange(count)
    while rows.size:
        part = supports[rows]
        repeated = np.zeros(part.shape, dtype=bool)
        repeated[:, 1:] = part[:, 1:] == part[:, :-1]
        again = repeated.any(axis=1)
        rows, part, repeated = rows[again], part[again], repeated[again]
        part[repeated] = generator.integers(d, size=int(repeated.sum()), dtype=np.intp)
        supports[rows] = np.sort(part, axis=1)
    return supports


def _complements(excluded: Indices, d: int) -> Indices:
    count, missing = excluded.shape
    kept = np.ones((count, d), dtype=bool)
    np.put_along_axis(kept, excluded, values=False, axis=1)
    return np.nonzero(kept)[1].reshape(count, d - missing)


def _entropy(sequence: np.random.SeedSequence) -> int:
    high, low = sequence.generate_state(2, np.uint64)
    return (int(high) << 64) | int(low)
