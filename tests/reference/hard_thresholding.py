"""Hard-thresholding methods, transcribed line by line from their pseudo-code. Slow on purpose."""

from itertools import combinations

import numpy as np


def hard_threshold(v, k):
    """Keep the k largest magnitudes, ties to the lowest index: one comparison at a time."""
    order = sorted(range(len(v)), key=lambda i: (-abs(v[i]), i))
    x = np.zeros(len(v))
    for i in order[:k]:
        x[i] = v[i]
    return x


def szoht(f, x0, directions, *, k, mu, step_size):
    """Algorithm 1 of the paper; ``directions[t][i]`` is u_i of iteration t."""
    d = len(x0)
    x = np.array(x0, dtype=float)
    iterates = []
    for us in directions:
        q = len(us)
        estimate = np.zeros(d)
        for u in us:
            estimate += d / mu * (f(x + mu * u) - f(x)) * u
        estimate /= q
        x = hard_threshold(x - step_size * estimate, k)
        iterates.append(x)
    return iterates


def szoht_central(f, x0, directions, *, k, mu, step_size):
    """The same with central differences."""
    d = len(x0)
    x = np.array(x0, dtype=float)
    iterates = []
    for us in directions:
        estimate = np.zeros(d)
        for u in us:
            estimate += d / (2 * mu) * (f(x + mu * u) - f(x - mu * u)) * u / len(us)
        x = hard_threshold(x - step_size * estimate, k)
        iterates.append(x)
    return iterates


def truncated_zsgd(f, x0, directions, *, k, mu, step_size):
    """Algorithm 5 of Balasubramanian and Ghadimi: Gaussian directions, no factor d."""
    x = np.array(x0, dtype=float)
    iterates = []
    for us in directions:
        estimate = np.zeros(len(x0))
        for u in us:
            estimate += (f(x + mu * u) - f(x)) / mu * u / len(us)
        x = hard_threshold(x - step_size * estimate, k)
        iterates.append(x)
    return iterates


def stoiht(gradient, x0, samples, *, k, step_size):
    """StoIHT with uniform blocks: b = x - gamma grad f_i(x), x = H_k(b)."""
    x = np.array(x0, dtype=float)
    iterates = []
    for sample in samples:
        b = x - step_size * gradient(x, sample)
        x = hard_threshold(b, k)
        iterates.append(x)
    return iterates


def project_sparse_box(y, k, low, high):
    """The nearest k-sparse point of a box, by trying every support."""
    d = len(y)
    best, best_distance = np.zeros(d), float((y**2).sum())
    for support in combinations(range(d), min(k, d)):
        x = np.zeros(d)
        for i in support:
            x[i] = min(max(y[i], low[i]), high[i])
        distance = float(((x - y) ** 2).sum())
        if distance < best_distance:
            best, best_distance = x, distance
    return best


def project_l1_ball(y, radius):
    """The nearest point with l1 norm at most ``radius``, by bisection on the shrinkage."""
    if np.abs(y).sum() <= radius:
        return y.copy()
    low, high = 0.0, float(np.abs(y).max())
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(np.abs(y) - middle, 0).sum() > radius:
            low = middle
        else:
            high = middle
    return np.sign(y) * np.maximum(np.abs(y) - high, 0)
