"""The picture of one iteration in docs/design.md, drawn from the calls of a real run.

``python tests/iteration_trace.py`` prints it; `test_design.py` compares it with the document.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import szoht

PACKAGE = Path(szoht.__file__).parent
COLUMN = 34
HIDDEN = {"errors.py", "types.py", "core/validation.py", "core/memory.py", "core/clock.py"}
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
        """Add a call unless one like it is there already."""
        known = next((c for c in self.inner if (c.file, c.name) == (call.file, call.name)), None)
        if known is None:
            self.inner.append(call)
        return known or call


def trace(run):
    """Return the calls between files of the package while ``run()`` lasts, each way once."""
    root = Call("", "")
    stack = [root]

    def watch(frame, event, argument):
        if event == "call":
            path = Path(frame.f_code.co_filename)
            inside = path.is_relative_to(PACKAGE)
            file = str(path.relative_to(PACKAGE)) if inside else ""
            name = frame.f_code.co_name
            shown = inside and file != stack[-1].file and file not in HIDDEN and name[0] != "<"
            stack.append(stack[-1].add(Call(file, name)) if shown else stack[-1])
        elif event == "return":
            stack.pop()

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return root


def picture():
    """Return one iteration of SZOHT, without the start and the end of the run."""
    target = np.zeros(20)
    target[[3, 7]] = 1.0

    def fun(x):
        return float(((x - target) ** 2).sum())

    loops = []

    def find(call):
        if call.file.endswith("loop.py"):
            loops.append(call)
        for inner in call.inner:
            find(inner)

    find(
        trace(
            lambda: szoht.minimize(
                fun,
                np.zeros(20),
                k=2,
                method="szoht",
                options={"q": 3, "step_size": 0.2},
                max_iterations=3,
                rng=0,
            )
        )
    )
    return "\n".join(loops[0].lines())


if __name__ == "__main__":
    sys.stdout.write(picture() + "\n")
