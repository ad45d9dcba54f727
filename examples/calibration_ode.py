"""Calibrate the three-step pathway: find which 4 of its 36 kinetic parameters differ, and how.

A public benchmark of parameter estimation: three genes, three enzymes and two metabolites, in 16
experiments with other concentrations of substrate and product. C. G. Moles, P. Mendes and J. R.
Banga, "Parameter estimation in biochemical pathways: a comparison of global optimization methods",
Genome Research 13 (2003) 2467-2474.

Run with ``python examples/calibration_ode.py --out pathway.png``.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from calibration_figure import draw

import szoht

SUBSTRATE, PRODUCT = (
    grid.ravel() for grid in np.meshgrid([0.1, 0.46416, 2.1544, 10.0], [0.05, 0.13572, 0.3684, 1.0])
)
START = np.array([0.66667, 0.57254, 0.41758, 0.4, 0.36409, 0.29457, 1.419, 0.93464])
NOMINAL = {
    **{
        f"{name}{i}": value
        for i in (1, 2, 3)
        for name, value in zip(
            ("V", "Ki", "ni", "Ka", "na", "k"), (1.0, 1.0, 2.0, 1.0, 2.0, 1.0), strict=True
        )
    },
    **{
        f"{name}{i}": value
        for i in (4, 5, 6)
        for name, value in zip(("V", "K", "k"), (0.1, 1.0, 0.1), strict=True)
    },
    **{name: 1.0 for i in (1, 2, 3) for name in (f"kcat{i}", f"Km{2 * i - 1}", f"Km{2 * i}")},
}
TRUTH = {"Ki1": 1.5, "k3": 0.7, "V5": 1.3, "Km3": 0.6}  # factors on the nominal values
ERROR = 0.03  # of each state's mean in an experiment


def pathway(parameters: np.ndarray) -> np.ndarray:
    """Return the eight states in 16 experiments at six times until t = 120."""
    v, ki, ni, ka, na, rate = parameters[:18].reshape(3, 6).T[..., None]
    v_enzyme, k_enzyme, rate_enzyme = parameters[18:27].reshape(3, 3).T[..., None]
    kcat, km, km_product = parameters[27:].reshape(3, 3).T[..., None]
    inhibition = (PRODUCT / ki) ** ni

    def slope(y: np.ndarray, t: float) -> np.ndarray:
        del t
        genes, enzymes = y[:3], y[3:6]
        levels = np.vstack([SUBSTRATE, y[6:], PRODUCT])  # S, M1, M2, P
        before, after = levels[:3], levels[1:]
        made = v / (1 + inhibition + (ka / before) ** na) - rate * genes
        grown = v_enzyme * genes / (k_enzyme + genes) - rate_enzyme * enzymes
        flow = kcat * enzymes * (before - after) / km / (1 + before / km + after / km_product)
        return np.vstack([made, grown, flow[:2] - flow[1:]])

    start = np.repeat(START[:, None], SUBSTRATE.size, axis=1)
    return runge_kutta(slope, start, step=0.25, count=480, every=80)


def runge_kutta(
    slope: Callable[[np.ndarray, float], np.ndarray],
    y: np.ndarray,
    *,
    step: float,
    count: int,
    every: int,
) -> np.ndarray:
    """Return the states after every so many steps of the classical method of order 4."""
    states = []
    for i in range(count):
        t = i * step
        first = slope(y, t)
        second = slope(y + step / 2 * first, t + step / 2)
        third = slope(y + step / 2 * second, t + step / 2)
        fourth = slope(y + step * third, t + step)
        y = y + step / 6 * (first + 2 * second + 2 * third + fourth)
        if (i + 1) % every == 0:
            states.append(y)
    return np.array(states)


def main() -> None:
    """Make data with noise, calibrate, print the answer and save the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/pathway.png"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    knobs = szoht.Variables(
        NOMINAL,
        low={name: value / 5 for name, value in NOMINAL.items()},
        high={name: 5 * value for name, value in NOMINAL.items()},
        log=True,
    )
    truth = np.array([TRUTH.get(name, 1.0) for name in NOMINAL])
    exact = pathway(knobs.nominal * truth)
    sigma = ERROR * np.abs(exact).mean(axis=0, keepdims=True) * np.ones_like(exact)
    noise = np.random.default_rng(arguments.seed).standard_normal(exact.shape)
    result = szoht.least_squares(
        lambda x: pathway(x).ravel(),
        knobs,
        k=len(TRUTH),
        observed=(exact + sigma * noise).ravel(),
        sigma=sigma.ravel(),
        max_queries=100,
        rng=arguments.seed,
    )
    print(f"true factors {TRUTH}\n")
    print(result)
    for interval in result.intervals:
        print(
            f"{interval.name:<6}{interval.value:8.4f}   {interval.low:.4f} to {interval.high:.4f}"
        )
    draw(result, pathway(knobs.nominal).ravel(), truth, arguments.out)
    print(f"figure saved to {arguments.out}")


if __name__ == "__main__":
    main()
