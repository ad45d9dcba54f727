"""The experiments by name: every module of ``szoht.paper.experiments`` defines one."""

import importlib
import pkgutil

from szoht.errors import ParameterError
from szoht.paper import experiments
from szoht.paper.experiment import Experiment

__all__ = ["experiment_names", "get_experiment"]


def experiment_names() -> list[str]:
    """Return the names of the experiments, in the order of the paper.

    >>> "conflict" in experiment_names()
    True
    """
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(experiments.__path__)}
    ordered = [name for name in experiments.ORDER if name in files]
    return ordered + sorted(files - set(ordered))


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name on the command line."""
    if name not in experiment_names():
        listed = ", ".join(experiment_names())
        raise ParameterError(f"`name` must be one of {listed}, or all; got name={name!r}.")
    module = importlib.import_module(f"{experiments.__name__}.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
