"""Which experiments there are: every file of ``szoht.paper.experiments`` that has one."""

import importlib
import pkgutil

from szoht.errors import ParameterError
from szoht.paper import experiments
from szoht.paper.experiment import Experiment

__all__ = ["find", "names"]


def names() -> list[str]:
    """Return the experiments, in the order of the paper.

    >>> "conflict" in names()
    True
    """
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(experiments.__path__)}
    known = [name for name in experiments.ORDER if name in files]
    return known + sorted(files - set(known))


def find(name: str) -> Experiment:
    """Return an experiment by its name on the command line."""
    if name not in names():
        listed = ", ".join(names())
        raise ParameterError(f"`name` must be one of {listed}, or all; got name={name!r}.")
    module = importlib.import_module(f"{experiments.__name__}.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
