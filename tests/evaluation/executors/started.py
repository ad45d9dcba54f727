"""Runs scripts as `python script.py` would, in forks of one interpreter that has imported szoht.

Reads one JSON order per line: {"script" or "module", "arguments", "log", "tmp"}. Writes the
identifier of the process, and how it ended once it has. An interpreter of its own would spend most
of a case with imports.
"""

import json
import os
import runpy
import signal
import sys
from contextlib import suppress
from importlib import import_module

import_module("szoht")
with suppress(ImportError):
    import_module("szoht.cli.app")


def serve():
    """Return the order in the process that has to carry it out, and nothing at the end."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        report(child)
        _, status = os.waitpid(child, 0)
        report(os.waitstatus_to_exitcode(status))
    return None


def report(number):
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def become(order):
    os.setsid()
    with open(order["log"], "wb") as log, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ["TMPDIR"] = order["tmp"]
    # a background job has Ctrl-C switched off, one under nohup SIGHUP; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if "module" in order:
        sys.argv = ["", *order["arguments"]]
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [order["script"], *order["arguments"]]
        sys.path[0] = os.path.dirname(order["script"])  # noqa: PTH120
        runpy.run_path(order["script"], run_name="__main__")


if __name__ == "__main__":
    order = serve()
    if order is not None:
        become(order)
