"""``szoht attack``: test the robustness of a classifier in an ONNX file to sparse changes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from szoht.cli import options
from szoht.cli.interruption import run_until_stopped
from szoht.cli.results import write_or_print
from szoht.errors import MissingExtraError, ParameterError
from szoht.reporting.figures import load_matplotlib
from szoht.types import Vector

if TYPE_CHECKING:
    from szoht.applications.attack import AttackResult

__all__ = ["attack"]

COLOR_NDIM = 3


def attack(
    *,
    model: Annotated[Path, typer.Argument(help="ONNX file of the classifier.")],
    image: Annotated[Path, typer.Argument(help="Image file: PNG, JPEG and the like, or NPY.")],
    label: Annotated[int, typer.Option("--label", help="True class of the image.")],
    k: Annotated[
        int, typer.Option("-k", help="Maximum number of coordinates or pixels to change.")
    ] = 20,
    pixels: Annotated[
        bool, typer.Option("--pixels", help="Count pixels; all channels of a pixel may change.")
    ] = False,
    target: Annotated[
        int | None,
        typer.Option(
            "--target", help="Target class of the attack; default: any class but the true one."
        ),
    ] = None,
    scores: Annotated[
        str, typer.Option("--scores", help="What the model returns: logits, log_probs or probs.")
    ] = "logits",
    high: Annotated[float, typer.Option("--high", help="Pixel value of white; black is 0.")] = 1.0,
    method: Annotated[str, typer.Option("--method", help="Optimization method.")] = "corner_search",
    budget: Annotated[int, typer.Option("--budget", help="Maximum number of queries.")] = 10_000,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Images per call of the model.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Random seed; the same seed gives the same run.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    output: Annotated[
        Path, typer.Option("--output", help="Path of the output files, without suffix.")
    ] = Path("attack"),
) -> None:
    """Test your own classifier: search for a few pixel changes that it misclassifies.

    Writes OUTPUT.png, the original, the change and the adversarial image side by side, and
    OUTPUT.json.
    """
    with options.cli_errors():
        if not output.name:
            raise ParameterError(f"`output` must include a file name; got {str(output)!r}.")
        picture, record = output.with_suffix(".png"), output.with_suffix(".json")
        for path in (picture, record):
            options.check_output("output", path, make_folder=True)
        result, status = run_until_stopped(
            lambda: _attack(
                model,
                image,
                label,
                k=k,
                unit="pixels" if pixels else "coordinates",
                target=target,
                scores=scores,
                high=high,
                method=method,
                max_queries=budget,
                batch_size=batch_size,
                rng=seed,
                progress=not quiet,
            )
        )
        options.echo(str(result))
        output.parent.mkdir(parents=True, exist_ok=True)
        write_or_print(record, json.dumps(result.as_json(), indent=2) + "\n")
        result.plot().savefig(picture, dpi=150)
    typer.echo(f"written: {picture}, {record}")
    if status:
        raise typer.Exit(code=status)


def _attack(
    model: Path, image: Path, label: int, *, high: float, **settings: Any
) -> "AttackResult":
    from szoht.applications.attack import attack as run  # noqa: PLC0415  (not needed by other commands)

    session = _session(model)
    pixels = _image(image, high, session.get_inputs()[0].shape[1:])
    load_matplotlib()  # fail before the first query if it is missing
    return run(session, pixels, label, high=high, **settings)


def _session(path: Path) -> Any:
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "`szoht attack` needs the package onnxruntime: pip install 'szoht[attack]'"
        ) from error
    if not path.is_file():
        raise ParameterError(f"`model` must be an ONNX file; {path} does not exist.")
    try:
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has its own exceptions, without a common base
        raise ParameterError(f"`model` must be an ONNX file; {path}: {error}.") from error


def _image(path: Path, high: float, expected: list[Any]) -> Vector:
    """Return the image in the format of the model: gray or color, channels first or last."""
    from szoht.applications.attack.images import open_image  # noqa: PLC0415

    if path.suffix == ".npy":
        try:
            stored: Vector = np.load(path, allow_pickle=False, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise ParameterError(
                f"`image` must be a NPY file of numbers; {path}: {error}."
            ) from error
        _check_shape(stored.shape, expected, path)
        return np.array(stored)
    first = len(expected) == COLOR_NDIM and expected[0] in (1, 3)
    last = len(expected) == COLOR_NDIM and not first
    channels = (expected[0],) if first else (expected[-1],) if last else ()
    mode = "RGB" if channels == (COLOR_NDIM,) else "L"
    depth = (len(mode),) if channels else ()
    with open_image(path) as picture:
        size = picture.size[::-1]  # from the header: nothing has been decoded yet
        _check_shape((*depth, *size) if first else (*size, *depth), expected, path)
        values = np.asarray(picture.convert(mode), dtype=np.float32)
    pixels = np.minimum(values * np.float32(high / 255), np.float32(high))
    pixels = pixels.reshape((*size, *depth))
    return np.moveaxis(pixels, 2, 0) if first else pixels


def _check_shape(shape: tuple[int, ...], expected: list[Any], path: Path) -> None:
    """Raise unless the image has the shape that the model expects; names match any size."""
    fits = len(expected) == len(shape) and all(
        not isinstance(size, int) or size == given
        for size, given in zip(expected, shape, strict=True)
    )
    if not fits:
        raise ParameterError(
            f"`image` must have the shape {tuple(expected)} of the model; {path} has {shape}."
        )
