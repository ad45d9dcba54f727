"""The competitors, by name: each file has one or more ``run(problem, seed, budget, ask)``."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

from asking import Ask
from problems import Problem

__all__ = ["OURS", "SOLVERS", "Entry", "Run", "find", "missing"]

Run: TypeAlias = Callable[[Problem, int, int, Ask], None]


class Entry(NamedTuple):
    """Where a solver is, the package it needs, and the largest dimension it is run at."""

    module: str
    function: str = "run"
    package: str | None = None
    largest: int = 10**9


SOLVERS = {
    "auto": Entry("solvers.library", "auto"),
    "szoht": Entry("solvers.library", "szoht"),
    "szoht-tuned": Entry("solvers.tuned"),
    "hzo_ht": Entry("solvers.library", "hzo_ht"),
    "truncated_zsgd": Entry("solvers.library", "truncated_zsgd"),
    "rspgf": Entry("solvers.library", "rspgf"),
    "zoro": Entry("solvers.library", "zoro"),
    "ada_zoro": Entry("solvers.library", "ada_zoro"),
    "fd-iht": Entry("solvers.differences"),
    "scipy-lbfgsb": Entry("solvers.scipy_lbfgsb", package="scipy"),
    "scipy-cobyqa": Entry("solvers.scipy_cobyqa", package="scipy", largest=100),
    "cma-sep": Entry("solvers.cma_separable", package="cma"),
    "ng-ngopt": Entry("solvers.nevergrad_all", "ngopt", "nevergrad", 20_000),
    "ng-diagonalcma": Entry("solvers.nevergrad_all", "diagonal", "nevergrad", 20_000),
    "pypop-sepcmaes": Entry("solvers.pypop", "separable", "pypop7"),
    "pypop-gs": Entry("solvers.pypop", "smoothing", "pypop7"),
    "skscope-scope": Entry("solvers.skscope_differences", "scope", "skscope", 40_000),
    "skscope-grasp": Entry("solvers.skscope_differences", "grasp", "skscope"),
}

OURS = "auto"


def missing(name: str) -> str | None:
    """Return the package that the solver lacks, if any."""
    package = SOLVERS[name].package
    return package if package is not None and find_spec(package) is None else None


def find(name: str) -> Run:
    """Import a solver; a package that does not import raises what it raises."""
    entry = SOLVERS[name]
    run: Run = getattr(import_module(entry.module), entry.function)
    return run
