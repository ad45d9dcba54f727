"""Stores runs of every method, or goes on with them: started under the arithmetic of a processor.

``python elsewhere.py make STORE`` stores a run of each method, interrupted in its middle;
``python elsewhere.py resume STORE`` goes on with them. Both write what became of each as JSON.
"""

import json
import sys
import warnings

import numpy as np

import szoht
from every_method import method_settings

D = 60
DESIGN = np.random.default_rng(3).standard_normal((40, D))
TRUTH = np.zeros(D)
TRUTH[[4, 30, 57]] = 1.5, -1.0, 0.7
METHODS = sorted(szoht.algorithms.METHODS)


class Counted:
    """A mean of squares, which rounds as the machine does, and is interrupted at some call."""

    def __init__(self, stop_at=None):
        self.calls, self.stop_at = 0, stop_at

    def __call__(self, x, sample=None):
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        return float(np.mean((DESIGN @ (x - TRUTH)) ** 2)) + 0.05 * float(np.sin(9 * x).sum())


def gradient(x, sample=None):
    return 2 * DESIGN.T @ (DESIGN @ (x - TRUTH)) / len(DESIGN) + 0.45 * np.cos(9 * x)


def settings_of(method):
    settings = method_settings(
        method, k=3, reach=2.0, gradient=gradient, component_gradient=gradient
    )
    return settings | {"max_queries": 1200 if "n_samples" in settings else 300, "rng": 0}


def make(store):
    made = {}
    for method in METHODS:
        fun = Counted(stop_at=130)
        try:
            szoht.minimize(fun, np.zeros(D), store=store, **settings_of(method))
        except KeyboardInterrupt as stop:
            made[stop.result.run] = {"method": method, "calls": fun.calls - 1}
    return made


def resume(store):
    resumed = {}
    with szoht.Store(store) as file:
        runs = [run.name for run in file.runs()]
    for name in runs:
        with szoht.Store(store) as file:
            uses_gradient = "gradient" in file.spec(name).method.requires
        fun = Counted()
        result = szoht.resume(store, fun, run=name, gradient=gradient if uses_gradient else None)
        resumed[name] = {
            "calls": fun.calls,
            "evaluations": len(result.ledger),
            "nfev": result.nfev,
            "fun": result.fun,
            "value": Counted()(result.x),
            "status": result.status.name,
            "warnings": list(result.warnings),
        }
    return resumed


if __name__ == "__main__":
    warnings.simplefilter("error")
    action = {"make": make, "resume": resume}[sys.argv[1]]
    sys.stdout.write(json.dumps(action(sys.argv[2])))
