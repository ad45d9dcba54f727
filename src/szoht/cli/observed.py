"""Options that state what the outputs of a simulator are compared with, and their parsing."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from szoht.algorithms.calibration.residuals import LOSS_NAMES
from szoht.core.text_files import read_text
from szoht.errors import ParameterError
from szoht.evaluation.output_files import OutputTable, read_outputs

__all__ = ["FScale", "LossName", "ObservedFile", "ObservedNumbers", "Sigma"]

ObservedFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--observed",
        help="Measurements: a CSV file with the column value and, if you like, name and sigma; "
        "or one number in each line; or a JSON or NPY file. An empty cell or NaN is a "
        "measurement that is missing.",
    ),
]
Sigma: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sigma",
        help="Standard deviations of the measurements: a number, or a file like that of "
        "--observed. Default: the column sigma of --observed, else 1.",
    ),
]
LossName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--loss",
        help=f"One of {', '.join(LOSS_NAMES)}; all but linear bear measurements that are wrong.",
        autocompletion=lambda: list(LOSS_NAMES),
    ),
]
FScale: TypeAlias = Annotated[
    float, typer.Option("--f-scale", help="Where outliers begin, in standard deviations.")
]


class ObservedNumbers(NamedTuple):
    """What `least_squares` takes as ``observed`` and ``sigma``."""

    observed: Any
    sigma: Any

    @classmethod
    def parse(cls, observed: Path | None, sigma: str | None) -> "ObservedNumbers":
        """Return what the options say, or raise."""
        if observed is None:
            raise ParameterError(
                "`observed` must be given: the file of measurements that outputs are compared with "
                "(--observed). Where the function returns residuals, a file of zeros."
            )
        values, deviations = _columns(observed)
        if sigma is None:
            return cls(values, deviations)
        if deviations is not None:
            raise ParameterError(
                f"`sigma` is a column of {observed} already; got --sigma {sigma} besides."
            )
        return cls(values, _sigma(sigma))


def _columns(path: Path) -> tuple[Any, Any]:
    """Return the observed values and, if the file has them, their standard deviations."""
    if path.suffix.lower() in (".json", ".npy"):
        return _outputs("observed", path), None
    try:
        table = OutputTable.parse(read_text(path, "it"))
    except ValueError as error:
        raise _unreadable("observed", path, error) from error
    return table.outputs, None if table.sigma is None else table.by_name(table.sigma)


def _sigma(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return _outputs("sigma", Path(text))


def _outputs(name: str, path: Path) -> Any:
    kinds = {".json": "json", ".npy": "npy"}
    try:
        return read_outputs(path, kinds.get(path.suffix.lower(), "csv"))  # type: ignore[arg-type]
    except ValueError as error:
        raise _unreadable(name, path, error) from error


def _unreadable(name: str, path: Path, error: Exception) -> ParameterError:
    return ParameterError(
        f"`{name}` must be a file with numbers; {path} is not: {str(error).rstrip('.')}."
    )
