"""Noisy control tasks for `control.py`: a linear policy of 50 to 100 weights, one episode a value.

The tasks of our own need nothing but NumPy; those of gymnasium are there where it is installed. A
seed fixes everything that is random in an episode, so that two policies can be compared on it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from szoht.types import Vector

Step = Callable[[Vector, Vector], tuple[Vector, float, bool]]
"""The next observation, the reward, and whether the episode is over, from state and action."""


@dataclass
class Normalizer:
    """The mean and the deviation of all features so far, as ARS-V2 keeps them."""

    size: int
    count: int = 0
    total: Vector = field(init=False)
    squares: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.total, self.squares = np.zeros(self.size), np.zeros(self.size)

    def add(self, rows: Vector) -> None:
        """Count the features of an episode."""
        self.count += len(rows)
        self.total += rows.sum(axis=0)
        self.squares += (rows**2).sum(axis=0)

    @property
    def mean(self) -> Vector:
        """The mean of each feature."""
        return self.total / max(self.count, 1)

    @property
    def scale(self) -> Vector:
        """One over the deviation of each feature; one where it does not vary."""
        variance = self.squares / max(self.count, 1) - self.mean**2
        return 1 / np.sqrt(np.where((variance < 1e-12) | (self.count == 0), 1.0, variance))


@dataclass(frozen=True)
class Task:
    """Episodes of a policy: ``actions`` linear functions of ``features``.

    ``begin`` returns the features of the first state and a function from actions to features,
    reward and end.
    """

    name: str
    features: int
    actions: int
    begin: Callable[[int], tuple[Vector, Callable[[Vector], tuple[Vector, float, bool]]]]
    bonus: float = 0.0

    @property
    def d(self) -> int:
        """How many weights a policy has."""
        return self.features * self.actions

    def run(self, weights: Vector, seed: int, offset: Vector | float = 0.0) -> tuple[float, Vector]:
        """Return the sum of rewards of an episode, and the features of all its states."""
        matrix = np.reshape(weights, (self.actions, self.features))
        now, step = self.begin(seed)
        rows, total, over = [], 0.0, False
        while not over:
            rows.append(now)
            now, reward, over = step(matrix @ now - offset)
            total += reward
        return total, np.array(rows)

    def episode(self, weights: Vector, seed: int) -> float:
        """Return the sum of rewards of an episode."""
        return self.run(weights, seed)[0]


def monomials(n: int, degree: int) -> Callable[[Vector], Vector]:
    """Return a function to all products of 1 to ``degree`` of n numbers."""
    groups = [
        np.array(list(combinations_with_replacement(range(n), order)))
        for order in range(1, degree + 1)
    ]

    def features(x: Vector) -> Vector:
        return np.concatenate([x[group].prod(axis=1) for group in groups])

    return features


# --- tasks of our own ----------------------------------------------------------------------------


def regulator(masses: int = 8, forces: int = 4, steps: int = 60) -> Task:
    """Return a chain of masses between springs, pushed about, of which some can be forced."""
    n, dt = 2 * masses, 0.2
    springs = 2 * np.eye(masses) - np.eye(masses, k=1) - np.eye(masses, k=-1)
    places = np.linspace(0, masses - 1, forces).round().astype(int)

    def begin(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        state = rng.standard_normal(n)
        shocks = 0.2 * rng.standard_normal((steps, masses))
        time = 0

        def step(action: Vector) -> tuple[Vector, float, bool]:
            nonlocal state, time
            position, speed = state[:masses], state[masses:]
            force = np.zeros(masses)
            force[places] = np.clip(action, -10, 10)
            cost = float(state @ state) / n + 0.1 * float(force @ force) / forces
            speed = speed + dt * (force - springs @ position + 0.05 * speed) + shocks[time]
            state = np.clip(np.concatenate([position + dt * speed, speed]), -1e3, 1e3)
            time += 1
            return state, -cost, time == steps

        return state, step

    return Task(f"{masses} masses", n, forces, begin)


def plant(n: int = 8, steps: int = 40) -> Task:
    """Return a linear system with unstable modes, an input next to each state."""
    fixed = np.random.default_rng(5)
    dynamics = np.diag(fixed.uniform(0.9, 1.1, n)) + 0.1 * fixed.standard_normal((n, n))
    dynamics *= 1.05 / np.abs(np.linalg.eigvals(dynamics)).max()

    def begin(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        state, shocks, time = rng.standard_normal(n), 0.3 * rng.standard_normal((steps, n)), 0

        def step(action: Vector) -> tuple[Vector, float, bool]:
            nonlocal state, time
            cost = float(state @ state) + 0.3 * float(action @ action)
            state = np.clip(dynamics @ state + action + shocks[time], -1e3, 1e3)
            time += 1
            return state, -min(cost, 1e6), time == steps

        return state, step

    return Task("unstable plant", n, n, begin)


def cart_pole(steps: int = 200, sensors: int = 30) -> Task:
    """Return a pole to balance on a cart that is pushed left or right; some sensors show noise."""
    features, dt = monomials(4, 3), 0.02
    count = features(np.zeros(4)).size + sensors

    def begin(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        state, time = rng.uniform(-0.1, 0.1, 4), 0
        noise = rng.standard_normal((steps + 1, sensors))

        def step(action: Vector) -> tuple[Vector, float, bool]:
            nonlocal state, time
            x, v, angle, spin = state
            force = 10.0 if action[0] > 0 else -10.0
            sine, cosine = math.sin(angle), math.cos(angle)
            push = (force + 0.05 * spin**2 * sine) / 1.1
            turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
            along = push - 0.05 * turn * cosine / 1.1
            state = np.array([x + dt * v, v + dt * along, angle + dt * spin, spin + dt * turn])
            time += 1
            over = abs(state[0]) > 2.4 or abs(state[2]) > 0.21 or time == steps
            return np.append(features(state), noise[time]), 1.0, over

        return np.append(features(state), noise[0]), step

    return Task("cart-pole", count, 1, begin)


def pendulum(steps: int = 150, waves: int = 4) -> Task:
    """Return a pendulum to be swung up by a weak motor, and to be held there."""
    dt = 0.05
    angles, speeds = np.arange(1, waves + 1), np.linspace(-1, 1, 7)

    def features(angle: float, speed: float) -> Vector:
        bumps = np.exp(-4 * (speed / 8 - speeds) ** 2)
        return np.concatenate(
            [np.outer(wave(angles * angle), bumps).ravel() for wave in (np.sin, np.cos)]
        )

    def begin(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        angle, speed, time = rng.uniform(-math.pi, math.pi), rng.uniform(-1, 1), 0

        def step(action: Vector) -> tuple[Vector, float, bool]:
            nonlocal angle, speed, time
            torque = float(np.clip(action[0], -2, 2))
            off = (angle + math.pi) % (2 * math.pi) - math.pi
            cost = off**2 + 0.1 * speed**2 + 0.001 * torque**2
            speed = float(np.clip(speed + dt * (15 * math.sin(angle) + 3 * torque), -8, 8))
            angle += dt * speed
            time += 1
            return features(angle, speed), -cost, time == steps

        return features(angle, speed), step

    return Task("pendulum", 2 * waves * 7, 1, begin)


def stocks(products: int = 8, steps: int = 40) -> Task:
    """Return products to order in time: demands are related, late ones are lost."""
    fixed = np.random.default_rng(7)
    mix = np.eye(products) + 0.3 * (fixed.random((products, products)) < 0.2)

    def begin(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        demands = rng.exponential(1.0, (steps + 1, products)) @ mix.T
        stock, time = rng.uniform(0, 4, products), 0

        def step(action: Vector) -> tuple[Vector, float, bool]:
            nonlocal stock, time
            stock = np.minimum(stock + np.clip(2 + action, 0, 5), 20)
            lost = np.maximum(demands[time] - stock, 0)
            stock = np.maximum(stock - demands[time], 0)
            time += 1
            cost = 0.2 * float(stock.sum()) + 2 * float(lost.sum())
            return np.append(stock / 4 - 0.5, 1.0), -cost, time == steps

        return np.append(stock / 4 - 0.5, 1.0), step

    return Task(f"stocks of {products}", products + 1, products, begin)


def own_tasks() -> list[Task]:
    """Return the tasks that need no other package."""
    return [regulator(), plant(), cart_pole(), pendulum(), stocks()]


# --- tasks of gymnasium --------------------------------------------------------------------------

GYMNASIUM = {
    "CartPole-v1": (4, 500, 0.0),
    "Acrobot-v1": (2, 500, 0.0),
    "Pendulum-v1": (5, 200, 0.0),
    "InvertedDoublePendulum-v5": (2, 300, 0.0),
    "Swimmer-v5": (2, 300, 0.0),
    "HalfCheetah-v5": (1, 300, 0.0),
    "Walker2d-v5": (1, 300, 1.0),
}
"""The degree of the monomials that make features, the steps of an episode, the bonus per step."""


def gymnasium_task(name: str) -> Task:
    """Return a task of gymnasium; ImportError if it, or its simulator, is not installed."""
    gymnasium: Any = import_module("gymnasium")

    degree, steps, bonus = GYMNASIUM[name]
    try:
        world = gymnasium.make(name, max_episode_steps=steps, disable_env_checker=True)
    except gymnasium.error.DependencyNotInstalled as missing:
        raise ImportError(str(missing)) from missing
    n = int(np.prod(world.observation_space.shape))
    features = monomials(n, degree)
    discrete = hasattr(world.action_space, "n")
    actions = int(world.action_space.n) if discrete else int(np.prod(world.action_space.shape))
    if discrete and actions == 2:
        actions = 1

    def act(action: Vector) -> Any:
        if not discrete:
            return np.clip(action, world.action_space.low, world.action_space.high)
        return int(action[0] > 0) if actions == 1 else int(np.argmax(action))

    def begin(seed: int) -> Any:
        first, _ = world.reset(seed=int(seed))

        def step(action: Vector) -> tuple[Vector, float, bool]:
            now, reward, ended, cut, _ = world.step(act(action))
            return features(np.asarray(now, dtype=float)), float(reward), bool(ended or cut)

        return features(np.asarray(first, dtype=float)), step

    return Task(name, features(np.zeros(n)).size, actions, begin, bonus)


def gymnasium_tasks() -> Iterator[Task]:
    """Yield the tasks that are installed."""
    for name in GYMNASIUM:
        try:
            yield gymnasium_task(name)
        except ImportError:
            continue
