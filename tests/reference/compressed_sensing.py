"""CoSaMP, ZORO and AdaZORO, transcribed line by line from their pseudo-code. Slow and obvious."""

import math

import numpy as np


def cosamp_passes(matrix, y, *, s, passes):
    """Yield (g, ||y - Z g|| / ||y||) after each pass of Needell and Tropp's algorithm."""
    d = matrix.shape[1]
    support, residual = set(), y
    for _ in range(passes):
        proxy = np.abs(matrix.T @ residual)
        order = sorted(range(d), key=lambda j: (-proxy[j], j))
        support |= {j for j in order[: 2 * s] if proxy[j] > 1e-12}
        columns = sorted(support)
        b = np.zeros(d)
        b[columns] = np.linalg.lstsq(matrix[:, columns], y, rcond=None)[0]
        kept = sorted(columns, key=lambda j: (-abs(b[j]), j))[:s]
        g = np.zeros(d)
        g[kept] = b[kept]
        support = set(kept)
        residual = y - matrix @ g
        yield g, np.linalg.norm(residual) / np.linalg.norm(y)


def cosamp(matrix, y, *, s, tol, passes):
    """Return g and its residual: of the first pass that meets tol, else of the best one."""
    if not np.any(y):
        return np.zeros(matrix.shape[1]), 0.0
    results = []
    for g, ratio in cosamp_passes(matrix, y, s=s, passes=passes):
        results.append((g, ratio))
        if ratio <= tol:
            break
    return min(results, key=lambda result: result[1])


def soft(v, threshold):
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)


def with_intercept(matrix, y):
    """Return both without what a constant added to y could change."""
    m = len(y)
    centre = np.eye(m) - np.ones((m, m)) / m
    return centre @ matrix, centre @ y


def zoro(f, x0, signs, iterations, *, s, mu, step_size, penalty, tol, passes, centered=False):
    """Return the iterates of ZORO, Algorithm 1, with the factors 1 / sqrt(m) of the paper."""
    x, iterates = x0.copy(), []
    m = len(signs)
    for _ in range(iterations):
        y = np.array([(f(x + mu * z) - f(x)) / (mu * math.sqrt(m)) for z in signs])
        matrix = signs / math.sqrt(m)
        if centered:
            matrix, y = with_intercept(matrix, y)
        g, _ = cosamp(matrix, y, s=s, tol=tol, passes=passes)
        x = soft(x - step_size * g, step_size * penalty)
        iterates.append(x)
    return iterates


def ada_zoro(f, x0, signs, iterations, *, mu, step_size, b, growth, phi_lstsq, phi_cosamp, tol):
    """Return iterates, evaluations and s after each iteration, without centring.

    The opportunistic step is ours: n + max(n, 10) probes, residual per degree of freedom.
    """
    d = x0.size
    x, s, support, dense = x0.copy(), 2, [], False
    iterates, costs, sizes = [], [], []

    def rows(s):
        return math.ceil(b * s * max(1.0, math.log(d / s))) + 10

    def measure(x, n):
        return np.array([(f(x + mu * z) - f(x)) / mu for z in signs[:n]])

    for _ in range(iterations):
        g, asked = None, 0
        if support and not dense:
            asked = min(rows(s), len(support) + max(len(support), 10))
            fit, ratio = on_support(signs[:asked], measure(x, asked), support)
            g = fit if ratio <= phi_lstsq else None
        while g is None and not dense:
            asked = max(asked, rows(s))
            found, ratio = cosamp(signs[:asked], measure(x, asked), s=s, tol=tol, passes=10)
            if ratio <= phi_cosamp:
                g, support = found, list(np.flatnonzero(found))
            else:
                s = max(s + 1, math.floor(growth * s))
                dense = rows(s) > d
        costs.append(1 + asked + (d if g is None else 0))
        x = x - step_size * (along_axes(f, x, mu * math.sqrt(d)) if g is None else g)
        iterates.append(x)
        sizes.append(s)
    return iterates, costs, sizes


def on_support(signs, y, support):
    """Return the least-squares fit, and its residual per degree of freedom, relative to y."""
    m, n = len(y), len(support)
    g = np.zeros(signs.shape[1])
    g[support] = np.linalg.lstsq(signs[:, support], y, rcond=None)[0]
    rest = y - signs @ g
    return g, math.sqrt((rest @ rest / (m - n)) / (y @ y / m))


def along_axes(f, x, radius):
    return np.array([(f(x + radius * e) - f(x)) / radius for e in np.eye(x.size)])
