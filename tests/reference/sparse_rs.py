"""Sparse-RS as its description reads, one unit at a time, fed with the draws of the library."""

import numpy as np


def share_of(iteration, horizon):
    """The published list of shares, over a horizon of 10,000."""
    scaled = int(iteration / horizon * 10_000)
    if scaled == 0:
        return 1.0
    for last, share in (
        (50, 1 / 2),
        (200, 1 / 4),
        (500, 1 / 5),
        (1000, 1 / 6),
        (2000, 1 / 8),
        (4000, 1 / 10),
        (6000, 1 / 12),
        (8000, 1 / 15),
    ):
        if scaled <= last:
            return share
    return 1 / 20


def colour(generator, x, groups, units, *, low, high):
    """Set units to random corners; the library draws those of a group's members in order."""
    places = sorted(i for u in units for i in groups[u])
    if all(len(group) == 1 for group in groups):
        places = [groups[u][0] for u in units]
    for i, up in zip(places, generator.integers(2, size=len(places)), strict=True):
        x[i] = high[i] if up else low[i]


def sparse_rs(f, groups, low, high, k, *, share, horizon, queries, generator):
    """Return the points asked, in order, and the best value after each."""
    d = sum(len(group) for group in groups)
    chosen = list(generator.choice(len(groups), k, replace=False))
    x = np.zeros(d)
    colour(generator, x, groups, chosen, low=low, high=high)
    asked, values = [x.copy()], []
    best = f(x)
    values.append(best)
    for iteration in range(1, queries):
        size = max(int(share * share_of(iteration, horizon) * k), 1)
        outside = [u for u in range(len(groups)) if u not in chosen]
        leaving = generator.choice(k, min(size, len(outside)), replace=False)
        entering = generator.choice(outside, len(leaving), replace=False)
        candidate = x.copy()
        for place in leaving:
            for i in groups[chosen[place]]:
                candidate[i] = 0.0
        colour(generator, candidate, groups, list(entering), low=low, high=high)
        while len(entering) == 1 and all(candidate[i] == x[i] for i in groups[entering[0]]):
            colour(generator, candidate, groups, list(entering), low=low, high=high)
        asked.append(candidate.copy())
        value = f(candidate)
        if value < best:
            best, x = value, candidate
            for place, unit in zip(leaving, entering, strict=True):
                chosen[place] = unit
        values.append(best)
    return np.array(asked), np.array(values)
