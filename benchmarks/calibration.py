"""Simulations until hidden changes of few parameters are found, from all outputs of a simulator.

The figure of a case is the median over five truths of the simulations after which the best point
with at most k changes has a misfit within 3 x that of the truth; a run that never does counts as
infinitely many. `szoht.least_squares` may use twice its limit, all others four times, or a
simulation per parameter and 20 k more where they begin with that. ``--ours`` leaves the
others out, ``--held-out`` takes truths that no choice was made on, and names of cases select some.
"""

import statistics
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from calibration_methods import METHODS, PACKAGES, Record, knobs, run
from calibration_problems import CASES, Calibration, Case, observe, pathway, signed
from core import SMOKE, Row, report, sized

import szoht
from szoht.types import Vector

TRUTHS = range(100, 105) if "--held-out" in sys.argv else range(sized(5, 1))
COVERAGE_TRUTHS = sized(40, 1)
OURS = "least_squares"
WITHIN = 3.0
DIFFERENCES = ("sensitivities", "all parameters")


def rows() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    selected = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for case in CASES:
        if (not selected or case.name in selected) and available(case.package, case.name):
            yield measured(case)
            compare(case)
    if not selected:
        yield coverage()


def available(package: str | None, what: str) -> bool:
    if package == "cantera" and SMOKE:
        return False  # its sensitivities alone take a minute
    if package is None or find_spec(package) is not None:
        return True
    print(f"{what} not measured for want of {package}: install szoht[bench]", file=sys.stderr)
    return False


def measured(case: Case) -> Row:
    budget = sized(2 * case.limit, 12)
    records = [run(OURS, case.problem(seed), budget, seed) for seed in TRUTHS]
    found = [record.within(WITHIN, exact_support=case.exact_support) for record in records]
    lost = int(np.isinf(found).sum())
    detail = f"{', '.join(f'{n:g}' for n in found)}; {lost} of {len(found)} lost"
    what = f"{case.name}, d = {records[0].problem.d}"
    return Row(what, statistics.median(found), "runs", case.limit, detail)


def compare(case: Case) -> None:
    """Print what the other methods reach."""
    for name in METHODS:
        if name != OURS and "--ours" not in sys.argv and available(PACKAGES.get(name), name):
            records = [other(name, case, seed) for seed in TRUTHS]
            found = [record.within(WITHIN, exact_support=case.exact_support) for record in records]
            ratios = [
                f"{statistics.median(record.ratio(n) for record in records):.3g} at {n}"
                for n in (case.limit, 4 * case.limit)
            ]
            median = statistics.median(found)
            print(
                f"    {name:<20}{median:>8g}    misfit / truth's: {', '.join(ratios)}", flush=True
            )


def other(name: str, case: Case, seed: int) -> Record:
    problem = case.problem(seed)
    budget = sized(4 * case.limit, 12)
    if name in DIFFERENCES and not SMOKE:
        budget = max(budget, problem.d + 20 * problem.k)
    return run(name, problem, budget, seed)


# confidence intervals


def coverage() -> Row:
    """Return how far from 94 % of the intervals of level 95 % hold the truth; 90 to 98 are fine.

    Data with noise, simulations without: smooth functions of 60 parameters, and the pathway. Only
    answers with the true support count, for intervals speak of nothing else.
    """
    held = []
    for seed in range(COVERAGE_TRUTHS):
        held += covered(smooth(seed), seed)
        if seed % 4 == 0 and not SMOKE:
            held += covered(pathway(seed), seed)
    share = statistics.mean(held) if held else 0.0
    detail = f"{sum(held)} of {len(held)} intervals hold the truth"
    return Row("coverage of 95 % intervals, off 94 %", abs(100 * share - 94), "%", 4, detail)


def covered(problem: Calibration, seed: int) -> list[bool]:
    result = szoht.least_squares(
        problem.outputs,
        knobs(problem),
        k=problem.k,
        observed=problem.observed,
        sigma=problem.sigma,
        max_queries=sized(150, 20),
        rng=seed,
    )
    if not np.array_equal(result.support, np.flatnonzero(problem.truth)):
        return []
    truths = problem.truth[result.support]
    return [
        bool(interval.low <= truth <= interval.high)
        for interval, truth in zip(result.intervals, truths, strict=True)
    ]


def smooth(seed: int) -> Calibration:
    """Return 30 outputs that saturate, of 60 parameters."""
    rng = np.random.default_rng((seed, 7))
    slopes = rng.standard_normal((30, 60))
    truth = np.zeros(60)
    truth[rng.choice(60, 3, replace=False)] = signed(rng, 0.4, 0.8, 3)

    def outputs(x: Vector) -> Vector:
        answer: Vector = np.tanh(slopes @ x / 4)
        return answer

    return observe(outputs, truth, sigma=lambda y: np.full(y.size, 0.01), k=3, bound=2.0, seed=seed)


if __name__ == "__main__":
    report(list(rows()))
