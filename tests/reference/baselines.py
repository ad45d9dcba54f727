"""Baselines and variance-reduced methods, transcribed line by line. Slow on purpose."""

import numpy as np

from reference.hard_thresholding import hard_threshold, project_l1_ball


def gaussian_estimate(f, x, us, mu):
    """G = (1/m) sum_j [F(x + mu u_j) - F(x)] / mu * u_j."""
    total = np.zeros(len(x))
    for u in us:
        total += (f(x + mu * u) - f(x)) / mu * u
    return total / len(us)


def sphere_estimate(f, x, us, mu):
    """(d/q) sum_i [f(x + mu u_i) - f(x)] / mu * u_i."""
    return len(x) * gaussian_estimate(f, x, us, mu)


def soft(v, threshold):
    return np.array([np.sign(e) * max(abs(e) - threshold, 0.0) for e in v])


def rspgf(f, x0, directions, *, mu, step_size, penalty):
    x, iterates = np.array(x0, dtype=float), []
    for us in directions:
        x = soft(x - step_size * gaussian_estimate(f, x, us, mu), step_size * penalty)
        iterates.append(x)
    return iterates


def projected_gradient(f, x0, directions, *, mu, step_size, radius):
    x, iterates = np.array(x0, dtype=float), []
    for us in directions:
        x = project_l1_ball(x - step_size * gaussian_estimate(f, x, us, mu), radius)
        iterates.append(x)
    return iterates


def vertex(g, radius):
    """argmin over the l1 ball of <g, u>, by trying all its 2 d vertices."""
    candidates = [s * radius * e for e in np.eye(len(g)) for s in (-1.0, 1.0)]
    return min(candidates, key=lambda u: g @ u)


def zscg(f, x0, directions, *, mu, radius):
    """Algorithm 1 with a_t = 2 / (t + 2), t from 0."""
    z, iterates = np.array(x0, dtype=float), []
    for t, us in enumerate(directions):
        a = 2 / (t + 2)
        z = (1 - a) * z + a * vertex(gaussian_estimate(f, z, us, mu), radius)
        iterates.append(z)
    return iterates


def icg(x, g, gamma, tol, radius):
    y, r = x, 1
    while True:
        p = g + gamma * (y - x)
        v = vertex(p, radius)
        if p @ (v - y) >= -tol:
            return y
        y = (r - 1) / (r + 1) * y + 2 / (r + 1) * v
        r += 1


def zscg_accelerated(f, x0, directions, *, mu, radius, smoothness, distance, horizon):
    """Algorithm 3; returns the sequence z_t."""
    x = z = np.array(x0, dtype=float)
    outputs = []
    for t, us in enumerate(directions, start=1):
        a = 2 / (t + 1)
        w = (1 - a) * z + a * x
        g = gaussian_estimate(f, w, us, mu)
        x = icg(x, g, 4 * smoothness / t, smoothness * distance / (t * horizon), radius)
        z = (1 - a) * z + a * x
        outputs.append(z)
    return outputs


def momentum(f, x0, directions, *, k, mu, step_size, beta):
    x, m, iterates = np.array(x0, dtype=float), np.zeros(len(x0)), []
    for t, us in enumerate(directions, start=1):
        m = beta * m + (1 - beta) * sphere_estimate(f, x, us, mu)
        x = hard_threshold(x - step_size * m / (1 - beta**t), k)
        iterates.append(x)
    return iterates


def adamm(f, x0, directions, *, k, mu, step_size, b1, b2, floor):
    """ZO-AdaMM; the projection keeps the k largest sqrt(vhat_i) y_i^2."""
    d = len(x0)
    x, m = np.array(x0, dtype=float), np.zeros(d)
    v = vhat = np.full(d, floor)
    iterates = []
    for us in directions:
        g = sphere_estimate(f, x, us, mu)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        vhat = np.maximum(vhat, v)
        y = x - step_size * m / np.sqrt(vhat)
        order = sorted(range(d), key=lambda i: (-np.sqrt(vhat[i]) * y[i] ** 2, i))
        x = np.zeros(d)
        x[order[:k]] = y[order[:k]]
        iterates.append(x)
    return iterates


def svrg(fs, x0, draws, *, k, mu, step_size, every):
    """``draws[t]`` is (sample, directions) of iteration t; fs is the list of components."""
    x, iterates = np.array(x0, dtype=float), []
    for t, (sample, us) in enumerate(draws):
        mean = _mean(fs, sample)
        if t % every == 0:
            anchor, known = x, sphere_estimate(mean, x, us, mu)
        v = sphere_estimate(mean, x, us, mu) - sphere_estimate(mean, anchor, us, mu) + known
        x = hard_threshold(x - step_size * v, k)
        iterates.append(x)
    return iterates


def sarah(fs, x0, draws, *, k, mu, step_size, every):
    x, iterates, before, v = np.array(x0, dtype=float), [], None, None
    for t, (sample, us) in enumerate(draws):
        mean = _mean(fs, sample)
        here = sphere_estimate(mean, x, us, mu)
        v = here if t % every == 0 else here - sphere_estimate(mean, before, us, mu) + v
        before = x
        x = hard_threshold(x - step_size * v, k)
        iterates.append(x)
    return iterates


def saga(fs, x0, draws, *, k, mu, step_size):
    """``draws[t]`` lists (component, directions); the first one names all components."""
    x, iterates = np.array(x0, dtype=float), []
    points, table = {}, {}
    for t, members in enumerate(draws):
        here = {i: sphere_estimate(fs[i], x, us, mu) for i, us in members}
        if t == 0:
            v = np.mean(list(here.values()), axis=0)
        else:
            corrections = [here[i] - sphere_estimate(fs[i], points[i], us, mu) for i, us in members]
            v = np.mean(corrections, axis=0) + np.mean(list(table.values()), axis=0)
        for i, _ in members:
            points[i], table[i] = x, here[i]
        x = hard_threshold(x - step_size * v, k)
        iterates.append(x)
    return iterates


def _mean(fs, sample):
    return lambda x: float(np.mean([fs[i](x) for i in sample]))
