"""Which experiments there are: every file of ``szoht.experiments.paper`` that has one."""

import importlib
import pkgutil

from szoht.errors import ParameterError
from szoht.experiments import paper
from szoht.experiments.experiment import Experiment

__all__ = ["find", "names"]


def names() -> list[str]:
    """Return the experiments, in the order of the paper.

    >>> "conflict" in names()
    True
    """
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(paper.__path__)}
    known = [name for name in paper.ORDER if name in files]
    return known + sorted(files - set(known))


def find(name: str) -> Experiment:
    """Return an experiment by its name on the command line."""
    if name not in names():
        listed = ", ".join(names())
        raise ParameterError(f"`name` must be one of {listed}, or all; got name={name!r}.")
    module = importlib.import_module(f"{paper.__name__}.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
