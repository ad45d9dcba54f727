"""``szoht attack``: test a classifier in an ONNX file with changes of a few pixels."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from szoht.cli import options
from szoht.errors import MissingExtraError, ParameterError
from szoht.reporting.drawing import load_matplotlib
from szoht.types import Vector

if TYPE_CHECKING:
    from szoht.applications.attack import AttackResult

__all__ = ["attack"]

COLOUR_DIMENSIONS = 3


def attack(
    *,
    model: Annotated[Path, typer.Argument(help="The classifier, an ONNX file.")],
    image: Annotated[Path, typer.Argument(help="The image: PNG or another format, or NPY.")],
    label: Annotated[int, typer.Option("--label", help="Its true class.")],
    k: Annotated[
        int, typer.Option("-k", help="The largest number of coordinates or pixels to change.")
    ] = 20,
    pixels: Annotated[
        bool, typer.Option("--pixels", help="Count pixels; all channels of a pixel may change.")
    ] = False,
    target: Annotated[
        int | None,
        typer.Option(
            "--target", help="The class that the model shall answer; by default any wrong one."
        ),
    ] = None,
    scores: Annotated[
        str, typer.Option("--scores", help="What the model returns: logits, log_probs or probs.")
    ] = "logits",
    high: Annotated[
        float, typer.Option("--high", help="The model's value of white; black is 0.")
    ] = 1.0,
    method: Annotated[str, typer.Option("--method", help="How to search.")] = "corner_search",
    budget: Annotated[
        int, typer.Option("--budget", help="The largest number of queries.")
    ] = 10_000,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Images per call of the model.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed, the same run.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    output: Annotated[
        Path, typer.Option("--output", help="Where the picture and the JSON file go.")
    ] = Path("attack"),
) -> None:
    """Test your own classifier: look for a few pixels that make it wrong.

    Writes OUTPUT.png, the original, the change and the adversarial image side by side, and
    OUTPUT.json.
    """
    with options.complaints():
        if not output.name:
            raise ParameterError(f"`output` must have a name; got {str(output)!r}.")
        picture, record = output.with_suffix(".png"), output.with_suffix(".json")
        for path in (picture, record):
            options.check_output("output", path, make_folder=True)
        result = _attack(
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
        options.echo(str(result))
        output.parent.mkdir(parents=True, exist_ok=True)
        options.write(record, json.dumps(result.as_json(), indent=2) + "\n")
        result.plot().savefig(picture, dpi=150)
    typer.echo(f"written: {picture}, {record}")
    if result.interrupted:
        raise typer.Exit(code=options.INTERRUPTED)


def _attack(
    model: Path, image: Path, label: int, *, high: float, **settings: Any
) -> "AttackResult":
    from szoht.applications.attack import attack as run  # noqa: PLC0415  (the other commands go without)

    session = _session(model)
    pixels = _image(image, high, session.get_inputs()[0].shape[1:])
    load_matplotlib()  # if it is missing, no query is spent
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
    except Exception as error:  # ONNX Runtime has exceptions of its own, without a common base
        raise ParameterError(f"`model` must be an ONNX file; {path}: {error}.") from error


def _image(path: Path, high: float, wanted: list[Any]) -> Vector:
    """Return the image as the model wants it: grey or in color, channels first or last."""
    if path.suffix == ".npy":
        try:
            stored: Vector = np.load(path, allow_pickle=False, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise ParameterError(
                f"`image` must be a NPY file of numbers; {path}: {error}."
            ) from error
        _check_shape(stored.shape, wanted, path)
        return np.array(stored)
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("pictures need Pillow: pip install 'szoht[attack]'") from error
    first = len(wanted) == COLOUR_DIMENSIONS and wanted[0] in (1, 3)
    last = len(wanted) == COLOUR_DIMENSIONS and not first
    channels = (wanted[0],) if first else (wanted[-1],) if last else ()
    mode = "RGB" if channels == (COLOUR_DIMENSIONS,) else "L"
    depth = (len(mode),) if channels else ()
    too_large = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                size = picture.size[::-1]  # from the header: nothing has been decoded yet
                _check_shape((*depth, *size) if first else (*size, *depth), wanted, path)
                values = np.asarray(picture.convert(mode), dtype=np.float32)
    except too_large as error:
        raise ParameterError(
            f"`image` must have at most {Image.MAX_IMAGE_PIXELS:,} pixels; {path} has more."
        ) from error
    except (UnidentifiedImageError, SyntaxError) as error:
        raise ParameterError(f"`image` must be a picture; {path}: {error}.") from error
    pixels = np.minimum(values * np.float32(high / 255), np.float32(high))
    pixels = pixels.reshape((*size, *depth))
    return np.moveaxis(pixels, 2, 0) if first else pixels


def _check_shape(shape: tuple[int, ...], wanted: list[Any], path: Path) -> None:
    """Raise unless the image has the size that the model asks for; names stand for any size."""
    fits = len(wanted) == len(shape) and all(
        not isinstance(size, int) or size == given
        for size, given in zip(wanted, shape, strict=True)
    )
    if not fits:
        raise ParameterError(
            f"`image` must have the shape {tuple(wanted)} that the model takes; {path} has {shape}."
        )
