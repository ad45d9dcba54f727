"""Find which five of the 325 reactions of burning methane explain nine measurements.

Cantera simulates ignition at constant volume under three conditions, with the mechanism GRI-Mech
3.0. The knobs are factors on the rates of its reactions, the outputs three numbers per condition.

Run with ``python examples/combustion.py --out combustion.png``; it needs ``pip install
"szoht[bench]"``.
"""

import argparse
from pathlib import Path

import numpy as np
from calibration_figure import draw

import szoht

SIGMA = 0.002  # of the logarithm: measurements to 0.2 %
CONDITIONS = ((1400.0, 20.0, 0.5), (1600.0, 5.0, 1.0), (1800.0, 1.0, 2.0))  # K, atm, equivalence
OUTPUTS = [
    f"{quantity}, {temperature:.0f} K"
    for temperature, _, _ in CONDITIONS
    for quantity in ("delay", "peak OH", "peak CH3")
]
TRUTH = {31: 1.8, 37: 0.65, 52: 2.0, 118: 0.6, 157: 1.7}  # factors on the rates of reactions


class Ignition:
    """Log of ignition delay, peak OH and peak CH3 at three conditions, from factors on the rates.

    The delay is the time at which the gas is 400 K hotter than at the start. A simulation takes
    about 0.1 s.
    """

    def __init__(self) -> None:
        try:
            import cantera  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415
        except ImportError:
            raise SystemExit(
                'This needs Cantera, which is part of the extra "bench": pip install "szoht[bench]"'
            ) from None
        self._cantera = cantera
        self._gas = cantera.Solution("gri30.yaml")
        self._tracked = [3 + self._gas.species_index(name) for name in ("OH", "CH3")]
        self.names = [
            f"{i}: {equation}" for i, equation in enumerate(self._gas.reaction_equations())
        ]

    def __call__(self, factors: np.ndarray) -> np.ndarray:
        """Simulate all conditions."""
        for i, factor in enumerate(factors):
            self._gas.set_multiplier(factor, i)
        return np.concatenate([self._ignite(*condition) for condition in CONDITIONS])

    def _ignite(self, temperature: float, pressure: float, equivalence: float) -> np.ndarray:
        cantera, gas = self._cantera, self._gas
        gas.TP = temperature, pressure * cantera.one_atm
        gas.set_equivalence_ratio(equivalence, "CH4", "O2:1, N2:3.76")
        network = cantera.ReactorNet([cantera.IdealGasReactor(gas, clone=False)])
        network.rtol, network.atol = 1e-6, 1e-16
        times, rows, end = [0.0], [[temperature, 0.0, 0.0]], 0.1
        while network.time < end:
            network.step()
            state = network.get_state()  # mass, volume, temperature, mass fractions
            times.append(network.time)
            rows.append([state[2], *state[self._tracked]])
            if end == 0.1 and state[2] > temperature + 400:
                end = min(end, 10 * network.time)
        return _features(np.array(times), np.array(rows))


def _features(times: np.ndarray, rows: np.ndarray) -> np.ndarray:
    hot = int(np.argmax(rows[:, 0] > rows[0, 0] + 400))
    if hot == 0:
        return np.full(3, np.nan)  # no ignition
    delay = np.interp(rows[0, 0] + 400, rows[hot - 1 : hot + 1, 0], times[hot - 1 : hot + 1])
    return np.log([delay, _peak(times, rows[:, 1]), _peak(times, rows[:, 2])])


def _peak(times: np.ndarray, values: np.ndarray) -> float:
    """Return the maximum of the parabola through the largest value and its neighbors."""
    top = min(max(int(np.argmax(values)), 1), values.size - 2)
    t = times[top - 1 : top + 2] - times[top]
    a, b, c = np.polyfit(t / t[2], values[top - 1 : top + 2], 2)
    return float(c - b**2 / (4 * a)) if a < 0 else float(values[top])


def main() -> None:
    """Make data with noise, calibrate, print the answer and save the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/combustion.png"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    simulate = Ignition()
    knobs = szoht.Variables(
        np.ones(len(simulate.names)), low=0.1, high=10.0, log=True, names=simulate.names
    )
    truth = np.ones(len(simulate.names))
    truth[list(TRUTH)] = list(TRUTH.values())
    noise = np.random.default_rng(arguments.seed).standard_normal(len(OUTPUTS))
    observed = dict(zip(OUTPUTS, simulate(truth) + SIGMA * noise, strict=True))
    result = szoht.least_squares(
        lambda x: dict(zip(OUTPUTS, simulate(x), strict=True)),
        knobs,
        k=len(TRUTH),
        observed=observed,
        sigma=SIGMA,
        max_queries=300,
        rng=arguments.seed,
        progress=True,
    )
    print(f"true factors {TRUTH}\n")
    print(result)
    print(result.changes)
    for alternative in result.alternatives[:3]:
        print(f"as good: {', '.join(alternative.names)}; {alternative.output} would tell")
    draw(result, simulate(knobs.nominal), truth, arguments.out)
    print(f"figure saved to {arguments.out}")


if __name__ == "__main__":
    main()
