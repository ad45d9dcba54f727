"""The picture of one iteration in docs/design.md, drawn from the calls of a real run.

``python tests/iteration_trace.py`` prints it; `test_design.py` compares it with the document.
"""

import functools
import inspect
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import szoht

PACKAGE = Path(szoht.__file__).parent
COLUMN = 44
HELPERS = {"core/validation.py", "core/memory.py", "core/clock.py", "errors.py", "types.py"}
"""Files of small helpers, which would hide the plan of the house."""


@dataclass
class Call:
    """A call from one file into another, and those that follow from it."""

    file: str
    name: str
    inner: list["Call"] = field(default_factory=list)

    def lines(self, depth=0):
        where = "  " * depth + self.file
        yield f"{where:<{COLUMN}}{self.name}"
        for call in self.inner:
            yield from call.lines(depth + 1)

    def add(self, call):
        """Return the call of this name, which is new if there was none before."""
        known = next((c for c in self.inner if (c.file, c.name) == (call.file, call.name)), None)
        if known is None:
            self.inner.append(call)
        return known or call


def properties():
    """Return the code of all properties of the package: reading one is no step of the way."""
    found = set()
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "szoht"]:
        for kind in filter(inspect.isclass, vars(module).values()):
            for value in vars(kind).values():
                if isinstance(value, property) and value.fget is not None:
                    found.add(value.fget.__code__)
                elif isinstance(value, functools.cached_property):
                    found.add(value.func.__code__)
    return found


def trace(run):
    """Return the calls between files of the package while ``run()`` lasts, each of them once."""
    root = Call("", "")
    stack, hidden = [root], properties()

    def watch(frame, event, argument):
        if event == "call":
            path, code = Path(frame.f_code.co_filename), frame.f_code
            file = str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else ""
            inside = file and file not in HELPERS and code not in hidden
            shown = inside and file != stack[-1].file and code.co_name[0] != "<"
            stack.append(stack[-1].add(Call(file, code.co_name)) if shown else stack[-1])
        elif event == "return":
            stack.pop()

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return root


def picture():
    """Return the calls of two iterations of SZOHT, without the start and the end of the run."""
    target = np.zeros(20)
    target[[3, 7]] = 1.0
    calls = 0

    def fun(x):
        nonlocal calls
        calls += 1
        if calls > 2 * 4:  # q + 1 queries each
            raise KeyboardInterrupt
        return float(((x - target) ** 2).sum())

    def run():
        options = {"q": 3, "mu": 1e-6, "step_size": 0.2}
        with suppress(KeyboardInterrupt):
            szoht.minimize(fun, np.zeros(20), k=2, method="szoht", options=options, rng=0)

    (drive,) = [call for call in _all(trace(run)) if call.name == "drive_new"]
    steps = [call for call in drive.inner if call.name in ("solver_plan", "__call__", "receive")]
    lines = ["run/loop.py"]
    for step in steps:
        lines += step.lines(depth=1)
    return "\n".join(line.rstrip() for line in lines)


def _all(call):
    yield call
    for inner in call.inner:
        yield from _all(inner)


if __name__ == "__main__":
    sys.stdout.write(picture() + "\n")
