"""Options that state the variables of a problem, and their parsing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from szoht.cli import options
from szoht.core.json_text import read_json
from szoht.core.variables import Variables
from szoht.errors import ParameterError
from szoht.types import Vector

__all__ = [
    "AlwaysFree",
    "BoundsOption",
    "Integer",
    "Maximize",
    "Reference",
    "Stated",
    "Unit",
    "VariablesFile",
]

VariablesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--variables",
        help="CSV file with a line for each variable, and the columns name, nominal, low, high, "
        "unit, log, integer, values, start; only nominal is required. At most k are changed.",
    ),
]
Reference: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        help="Values from which changes are counted, default 0: a NPY file or a JSON list.",
    ),
]
BoundsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        help="LOW:HIGH for all variables, either may be empty; or a JSON file with a pair for each "
        "variable, null for no bound.",
    ),
]
Unit: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="A natural change of a variable: a number, or a NPY or JSON file with one for each.",
    ),
]
Integer: TypeAlias = Annotated[
    str | None,
    typer.Option("--integer", help="Which variables are integers: all, or 0,3,7 for some."),
]
AlwaysFree: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--always",
        help="Variables that are free and not counted, by number or name: 0 or intercept,offset.",
    ),
]
Maximize: TypeAlias = Annotated[
    bool, typer.Option("--maximize", help="Maximize the function instead.")
]


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the options say: the start, and keyword arguments of `minimize`."""

    start: Vector | Variables
    keywords: dict[str, Any]

    @classmethod
    def parse(
        cls,
        *,
        dim: int | None,
        x0: Path | None,
        variables: Path | None,
        reference: Path | None,
        bounds: str | None,
        unit: str | None,
        integer: str | None,
        always: str | None = None,
    ) -> "Stated":
        """Return what the options say, or raise."""
        texts = {"reference": reference, "bounds": bounds, "unit": unit, "integer": integer}
        free = {} if always is None else {"always": _numbers_or_names(always)}
        if variables is not None:
            others = {"dim": dim, "x0": x0, **texts}
            for name, value in others.items():
                if value is not None:
                    raise ParameterError(f"`{name}` is part of the file of --variables.")
            return cls(start=Variables.from_csv(variables), keywords=free)
        nominal = None if reference is None else options.read_vector("reference", reference)
        if nominal is not None and dim is None and x0 is None:
            start = nominal
        else:
            start = options.initial_point(dim, x0)
        keywords = {
            "reference": nominal,
            "bounds": None if bounds is None else _bounds(bounds),
            "unit": None if unit is None else _unit(unit),
            "integer": None if integer is None else _integers(integer, start.size),
            **free,
        }
        return cls(start=start, keywords=keywords)

    def for_least_squares(self) -> dict[str, Any]:
        """Return keyword arguments of `least_squares`, where changes are counted from the start."""
        if self.keywords.get("reference") is not None:
            raise ParameterError(
                "`reference` cannot be given for a calibration: changes are counted from --x0."
            )
        return {name: value for name, value in self.keywords.items() if name != "reference"}


def _bounds(text: str) -> Any:
    if Path(text).suffix == ".json":
        return read_json(Path(text), f"`bounds` {text}")
    try:
        low, high = (float(part) if part.strip() else None for part in text.split(":"))
    except ValueError as error:
        raise ParameterError(
            f"`bounds` must read LOW:HIGH, or name a .json file; got {text!r}."
        ) from error
    return low, high


def _unit(text: str) -> float | Vector:
    try:
        return float(text)
    except ValueError:
        return options.read_vector("unit", Path(text))


def _numbers_or_names(text: str) -> list[int | str]:
    parts = [part.strip() for part in text.split(",")]
    return [int(part) if part.isdecimal() else part for part in parts]


def _integers(text: str, d: int) -> Vector | Sequence[bool]:
    if text == "all":
        return [True] * d
    flags = np.zeros(d, dtype=bool)
    try:
        flags[[int(part) for part in text.split(",")]] = True
    except (ValueError, IndexError) as error:
        raise ParameterError(
            f"`integer` must be all, or numbers below {d} separated by commas; got {text!r}."
        ) from error
    return list(flags)
