"""What users' code may rely on, as data: ``python tests/public_api.py > tests/public_api.json``.

The file beside it was written by version 0.1 and grows only by hand. `test_public_api.py` compares.
"""

import dataclasses
import enum
import importlib
import inspect
import json
import re
import sys
from importlib import metadata

import click
import numpy as np
import typer.main

import szoht
from szoht import errors

MODULES = (
    "szoht",
    "szoht.executors",
    "szoht.stopping",
    "szoht.schedules",
    "szoht.samplers",
    "szoht.operators",
    "szoht.estimators",
    "szoht.updates",
    "szoht.algorithms",
    "szoht.theory",
    "szoht.testing",
    "szoht.problems",
    "szoht.reporting",
    "szoht.adapters",
    "szoht.adapters.scipy",
    "szoht.adapters.art",
    "szoht.adapters.foolbox",
)

FOR_AUTHORS = {
    "szoht.executors": {"Task", "WorkerPool"},
    "szoht.algorithms": {"build"},
    "szoht.problems": {"attack", "assets", "data"},
}
"""Names that only authors of parts see; they may change, and the change log says how."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

RECORDS = ("Result", "Progress", "Counts", "Failure", "Faults")


def public_names(path):
    """Return the public names of a module: classes, functions and constants of the library."""
    module = importlib.import_module(path)
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and (getattr(value, "__module__", "szoht") or "").startswith("szoht")
    ]
    if path == "szoht":
        names = [*names, "__version__", "executors", "attack", "attack_many", "AttackResult"]
    return sorted(set(names) - {"TYPE_CHECKING"} - FOR_AUTHORS.get(path, set()))


def signature(called):
    """Return name, kind and default of each parameter of a function or class."""
    return {
        p.name: [p.kind.name, None if p.default is p.empty else ADDRESS.sub("", repr(p.default))]
        for p in inspect.signature(called).parameters.values()
        if p.name != "self"
    }


def signatures():
    """Return the signature of everything public that can be called."""
    found = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in public_names(path):
            value = getattr(module, name)
            is_protocol = getattr(value, "_is_protocol", False)
            is_closed = inspect.isclass(value) and issubclass(value, enum.Enum | BaseException)
            if callable(value) and not is_protocol and not is_closed:
                try:
                    found[f"{path}.{name}"] = signature(value)
                except (ValueError, TypeError):  # a type alias has none
                    continue
    return found


def commands():
    """Return the options of each command, and its arguments."""
    group = typer.main.get_command(importlib.import_module("szoht.cli.app").app)
    context = click.Context(group)
    return {
        name: sorted(
            spelling
            for parameter in group.get_command(context, name).params
            for spelling in (
                parameter.opts if parameter.param_type_name == "option" else [parameter.name]
            )
        )
        for name in group.list_commands(context)
    }


def records():
    """Return the fields of what comes out of a run."""
    result = importlib.import_module("szoht.result")
    store = importlib.import_module("szoht.store")
    kinds = [getattr(result, name) for name in RECORDS] + [store.RunSummary]
    found = {kind.__name__: [field.name for field in dataclasses.fields(kind)] for kind in kinds}
    found["Result"] += ["support", "knee"]
    found["Progress"] += ["queries", "best_value", "best_x", "support"]
    return found


def history_columns():
    """Return the columns of the history of a run with a monitor."""
    result = szoht.minimize(
        lambda x: float(x @ x), np.ones(3), k=3, max_queries=20, rng=0, monitor=lambda x: 0.0
    )
    return sorted(result.history)


def describe():
    """Return all that is pinned."""
    return {
        "names": {path: public_names(path) for path in MODULES},
        "signatures": signatures(),
        "options": {
            name: [p for p in signature(factory) if p not in ("k", "constraint", "d")]
            for name, factory in szoht.algorithms.METHODS.items()
        },
        "records": records(),
        "history": history_columns(),
        "status": {status.name: status.code for status in szoht.Status},
        "errors": {
            name: sorted(base.__name__ for base in getattr(errors, name).__mro__)
            for name in errors.__all__
            if inspect.isclass(getattr(errors, name))
        },
        "commands": commands(),
        "extras": sorted(metadata.metadata("szoht").get_all("Provides-Extra")),
    }


if __name__ == "__main__":
    sections = []
    for title, entries in describe().items():  # one line for each entry
        rows = entries.items() if isinstance(entries, dict) else [(None, entries)]
        lines = [
            json.dumps(row) if key is None else f"{json.dumps(key)}: {json.dumps(row)}"
            for key, row in rows
        ]
        body = ",\n  ".join(lines)
        sections.append(
            f'"{title}": ' + (f"{{\n  {body}\n }}" if isinstance(entries, dict) else body)
        )
    sys.stdout.write("{\n " + ",\n ".join(sections) + "\n}\n")
