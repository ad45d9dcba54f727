"""Sparse feedback from a few hundred noisy episodes: which sensors drive which motors.

A chain of eight masses between springs is pushed about at random; four motors may act on what
sixteen sensors show: 64 weights, of which at most 20 are used.

Run with ``python examples/feedback.py``.
"""

import argparse
from typing import Any

import numpy as np

import szoht
from szoht.types import Vector

MASSES, MOTORS, STEPS = 8, np.array([0, 2, 5, 7]), 60
SPRINGS = 2 * np.eye(MASSES) - np.eye(MASSES, k=1) - np.eye(MASSES, k=-1)


def cost(weights: Vector, sample: Any) -> float:
    """Return the cost of one episode; all that is random in it comes from the seed."""
    rng = np.random.default_rng(sample)
    gain = weights.reshape(MOTORS.size, 2 * MASSES)
    position, speed = rng.standard_normal((2, MASSES))
    total = 0.0
    for _ in range(STEPS):
        state = np.concatenate([position, speed])
        force = np.zeros(MASSES)
        force[MOTORS] = np.clip(gain @ state, -10, 10)
        total += float(state @ state) / 16 + 0.1 * float(force @ force) / 4
        speed = speed + 0.2 * (force - SPRINGS @ position + 0.05 * speed)
        speed = np.clip(speed + 0.2 * rng.standard_normal(MASSES), -1e3, 1e3)
        position = np.clip(position + 0.2 * speed, -1e3, 1e3)
    return total


def mean_cost(weights: Vector) -> float:
    """Return the mean of 200 episodes that no search has seen."""
    return float(np.mean([cost(weights, [1, seed]) for seed in range(200)]))


def main() -> None:
    """Search, and print what was found."""
    parser = argparse.ArgumentParser(description="Sparse feedback from noisy episodes.")
    parser.add_argument("--episodes", type=int, default=400)
    episodes = parser.parse_args().episodes
    start = np.zeros(MOTORS.size * 2 * MASSES)
    result = szoht.minimize(cost, start, k=20, stochastic=True, max_queries=episodes, rng=0)
    print("\n".join(result.explain))
    print(f"cost of an episode without feedback {mean_cost(start):.0f}, with {result.support.size}")
    print(f"weights {mean_cost(result.x):.0f}; the search says {result.fun:.0f} +- ", end="")
    print(f"{result.fun_error:.0f}, after {result.nfev} episodes")


if __name__ == "__main__":
    main()
