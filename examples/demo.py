"""A simulator with 1,000 parameters of which 8 matter: find them and their values.

Run with ``make demo``, or ``python examples/demo.py --out demo.png``.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import szoht

N_KNOBS, N_TIMES, N_RELEVANT, BUDGET = 1_000, 400, 8, 2_000


class Simulator:
    """An amplifier that saturates: knob i adds its own waveform, the sum passes through tanh.

    Only the mismatch with a recorded signal can be observed.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.waveforms = rng.standard_normal((N_TIMES, N_KNOBS)) / np.sqrt(N_RELEVANT)
        self.truth = np.zeros(N_KNOBS)
        relevant = rng.choice(N_KNOBS, N_RELEVANT, replace=False)
        self.truth[relevant] = rng.choice([-1, 1], N_RELEVANT) * rng.uniform(0.4, 1.2, N_RELEVANT)
        self.recording = self.run(self.truth) + 0.01 * rng.standard_normal(N_TIMES)

    def run(self, knobs: np.ndarray) -> np.ndarray:
        """Return the signal that the knobs produce."""
        signal: np.ndarray = np.tanh(self.waveforms @ knobs)
        return signal

    def mismatch(self, knobs: np.ndarray) -> float:
        """Return the mean squared difference from the recording."""
        return float(((self.run(knobs) - self.recording) ** 2).mean())


def plot(simulator: Simulator, result: szoht.Result, path: Path) -> None:
    """Plot the descent and the recovered settings."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    start = simulator.mismatch(np.zeros(N_KNOBS))
    queries, best = (
        np.append(1, result.history["queries"]),
        np.append(start, result.history["best"]),
    )
    left.semilogy(queries, best, "o-", drawstyle="steps-post", markersize=3, color="#1b6ca8")
    left.set(xlabel="queries", ylabel="best mismatch so far", title="Descent")
    left.grid(alpha=0.3)
    relevant = np.flatnonzero((simulator.truth != 0) | (result.x != 0))
    positions = np.arange(relevant.size)
    right.bar(positions - 0.2, simulator.truth[relevant], width=0.4, color="#c9c9c9", label="true")
    right.bar(positions + 0.2, result.x[relevant], width=0.4, color="#1b6ca8", label="found")
    right.axhline(0, color="black", linewidth=0.8)
    right.set_xticks(positions, [str(i) for i in relevant], rotation=45)
    right.set(xlabel="knob", ylabel="setting", title=f"{N_RELEVANT} of {N_KNOBS:,} knobs")
    right.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Solve the problem, print the solution, save the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo.png"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    simulator = Simulator(arguments.seed)
    print(f"A simulator with {N_KNOBS:,} knobs, {N_RELEVANT} of them relevant; {BUDGET:,} queries.")
    result = szoht.minimize(
        simulator.mismatch,
        np.zeros(N_KNOBS),
        k=N_RELEVANT,
        max_queries=BUDGET,
        rng=arguments.seed,
        progress=True,
    )
    print(result)
    relevant = np.flatnonzero(simulator.truth)
    n_found = np.intersect1d(result.support, relevant).size
    print(f"\nmismatch {simulator.mismatch(np.zeros(N_KNOBS)):.4f} -> {result.fun:.6f}")
    print(f"relevant knobs {relevant.tolist()}\nfound          {result.support.tolist()}")
    print(f"{n_found} of {N_RELEVANT} found with {result.nfev:,} queries")
    plot(simulator, result, arguments.out)
    print(f"figure saved to {arguments.out}")


if __name__ == "__main__":
    main()
