"""The best portfolio of k assets by brute force: one convex program per support, from textbooks."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog, minimize


def best_portfolio(returns, k, cost_on, *, long_only):
    """Return the least cost over all supports of k columns, and its weights."""
    d = returns.shape[1]
    best, weights = np.inf, None
    for support in map(list, combinations(range(d), k)):
        value, part = cost_on(returns[:, support], long_only, support)
        if value < best:
            best, weights = value, np.zeros(d)
            weights[support] = part
    return best, weights


def smooth(cost):
    """Turn cost(w, returns on the support, support) into a solve by SLSQP from several starts."""

    def solve(returns, long_only, support):
        n = returns.shape[1]
        found = minimize(
            lambda w: cost(w, returns, support),
            np.full(n, 1 / n),
            bounds=[(0 if long_only else None, None)] * n,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        return found.fun, found.x

    return solve


def cvar(level):
    """Minimise CVaR as the linear program of Rockafellar and Uryasev (2000)."""

    def solve(returns, long_only, support):
        rows, n = returns.shape
        share = 1 / ((1 - level) * rows)
        # variables: weights, tau, and one excess loss per row
        found = linprog(
            np.concatenate([np.zeros(n), [1.0], np.full(rows, share)]),
            A_ub=np.hstack([-returns, -np.ones((rows, 1)), -np.eye(rows)]),
            b_ub=np.zeros(rows),
            A_eq=np.concatenate([np.ones(n), np.zeros(1 + rows)])[None],
            b_eq=[1.0],
            bounds=[(0 if long_only else None, None)] * n + [(None, None)] + [(0, None)] * rows,
        )
        return (found.fun, found.x[:n]) if found.status == 0 else (-np.inf, None)

    return solve
