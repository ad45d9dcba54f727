"""Noisy control: `minimize(..., stochastic=True)` against augmented random search (ARS).

    python benchmarks/control.py [--smoke] [--episodes 400] [--seeds 5] [--only text]

A value is minus the return of one episode of a linear policy (`control_tasks.py`), and every method
may ask for the same number of them. Its answer is judged by the mean return of 200 fresh episodes.
Ours has at most 20 non-zero weights. ARS (Mania, Guy, Recht 2018: V1-t, and V2-t, which normalizes
features) has as many as it likes; "k" keeps the 20 largest weights after each step. Its settings
are published ones; "tuned" is the best of several for each task, chosen in hindsight by the same
fresh episodes. Tasks of gymnasium, pycma and nevergrad take part where they are installed.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from control_tasks import Normalizer, Task, gymnasium_tasks, own_tasks

import szoht
from szoht.types import Vector

K = 20
FRESH = range(10**6, 10**6 + 200)
"""Seeds of the episodes that judge an answer; methods draw theirs from other numbers."""

PUBLISHED = (0.02, 0.03, 8, 4)
"""Step size, deviation of the noise, directions and directions used."""

TUNED = (
    PUBLISHED,
    (0.02, 0.01, 1, 1),
    (0.05, 0.1, 8, 4),
    (0.2, 0.1, 8, 4),
    (0.2, 0.5, 8, 4),
    (0.5, 0.5, 16, 8),
)

Answer = Callable[[int], float]
"""The return of an episode of the policy that a method has found."""


def ours(task: Task, episodes: int, seed: int, *, k: int = K) -> Answer:
    """Return the policy of the default solver."""

    def fun(x: Vector, sample: Vector) -> float:
        return -task.episode(x, int(sample[0]) % 10**6)

    result = szoht.minimize(
        fun, np.zeros(task.d), k=min(k, task.d), stochastic=True, max_queries=episodes, rng=seed
    )
    return partial(task.episode, result.x)


def ars(
    task: Task,
    episodes: int,
    seed: int,
    *,
    setting: tuple[float, float, int, int] = PUBLISHED,
    normalize: bool = False,
    k: int | None = None,
) -> Answer:
    """Return the policy of augmented random search."""
    step, deviation, n, best = setting
    rng, seen = np.random.default_rng(seed), Normalizer(task.features)
    weights, left = np.zeros((task.actions, task.features)), episodes

    def policy(matrix: Vector) -> tuple[Vector, Vector]:
        """Return weights and an offset for features as they are."""
        scaled = matrix * seen.scale if normalize else matrix
        return scaled, scaled @ seen.mean if normalize else np.zeros(task.actions)

    while left >= 2 * n:
        noise = rng.standard_normal((n, *weights.shape))
        returns = np.empty((n, 2))
        rows = []
        for i, sign in np.ndindex(n, 2):
            move = (1 - 2 * sign) * deviation * noise[i]
            scaled, offset = policy(weights + move)
            total, features = task.run(scaled, int(rng.integers(10**6)), offset)
            returns[i, sign] = total - task.bonus * len(features)
            rows.append(features)
        for features in rows:
            seen.add(features)
        left -= 2 * n
        top = np.argsort(-returns.max(axis=1))[:best]
        spread = float(returns[top].std()) or 1.0
        change = np.tensordot(returns[top, 0] - returns[top, 1], noise[top], axes=1)
        weights = weights + step / (best * spread) * change
        if k is not None:
            weights = np.where(
                np.abs(weights) >= np.sort(np.abs(weights), axis=None)[-k], weights, 0
            )
    scaled, offset = policy(weights)
    return lambda fresh: task.run(scaled, fresh, offset)[0]


def pycma(task: Task, episodes: int, seed: int) -> Answer:
    """Return the last mean of pycma's CMA-ES, with its own settings but for the first deviation."""
    cma: Any = import_module("cma")

    rng = np.random.default_rng(seed)
    search = cma.CMAEvolutionStrategy(np.zeros(task.d), 0.3, {"seed": seed + 1, "verbose": -9})
    left = episodes
    while left >= search.popsize:
        points = search.ask()
        search.tell(points, [-task.episode(x, int(rng.integers(10**6))) for x in points])
        left -= search.popsize
    return partial(task.episode, search.result.xfavorite)


def nevergrad(task: Task, episodes: int, seed: int) -> Answer:
    """Return the recommendation of nevergrad's TBPSA, its method for noisy functions."""
    ng: Any = import_module("nevergrad")

    rng = np.random.default_rng(seed)
    space = ng.p.Array(shape=(task.d,))
    space.random_state.seed(seed)
    search = ng.optimizers.registry["TBPSA"](space, budget=episodes)
    found = search.minimize(lambda x: -task.episode(x, int(rng.integers(10**6))))
    return partial(task.episode, found.value)


METHODS: dict[str, list[Callable[[Task, int, int], Answer]]] = {
    "ours": [ours],
    "V1-t": [ars],
    "V2-t": [partial(ars, normalize=True)],
    "V1-t tuned": [partial(ars, setting=setting) for setting in TUNED],
    "V2-t tuned": [partial(ars, setting=setting, normalize=True) for setting in TUNED],
    "V1-t tuned, k": [partial(ars, setting=setting, k=K) for setting in TUNED],
    "pycma": [pycma],
    "nevergrad": [nevergrad],
}


def judged(
    method: Callable[[Task, int, int], Answer], task: Task, episodes: int, seeds: int
) -> list[float]:
    """Return the mean return of fresh episodes, one for each seed."""
    found = []
    for seed in range(seeds):
        answer = method(task, episodes, seed)
        found.append(float(np.mean([answer(fresh) for fresh in FRESH])))
    return found


def row(task: Task, episodes: int, seeds: int, names: list[str]) -> Iterator[str]:
    """Yield the cells of a task: the mean over seeds, and the worst."""
    zero = float(np.mean([task.episode(np.zeros(task.d), fresh) for fresh in FRESH]))
    yield f"{task.name} ({task.d})"
    yield f"{zero:.4g}"
    for name in names:
        try:
            runs = [judged(method, task, episodes, seeds) for method in METHODS[name]]
        except ImportError:
            yield "-"
            continue
        best = max(runs, key=np.mean)
        yield f"{np.mean(best):.4g} ({min(best):.4g})"


def main() -> None:
    """Print one row for each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--smoke", action="store_true", help="tasks of our own, tiny, one seed")
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="tasks whose name holds this text")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by semicolons")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names, episodes, seeds = options.methods.split(";"), options.episodes, options.seeds
    tasks = [*own_tasks(), *([] if options.smoke else gymnasium_tasks())]
    if options.smoke:
        names, episodes, seeds = ["ours", "V1-t", "V2-t"], 48, 1
    print(f"| {episodes} episodes | zero | {' | '.join(names)} | s |")
    print("|---|" + "---|" * (len(names) + 2))
    for task in tasks:
        if options.only in task.name:
            begin = time.perf_counter()
            cells = list(row(task, episodes, seeds, names))
            print(f"| {' | '.join(cells)} | {time.perf_counter() - begin:.0f} |", flush=True)


if __name__ == "__main__":
    main()
