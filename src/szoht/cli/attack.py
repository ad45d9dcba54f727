"""``szoht attack``: test a classifier in an ONNX file with changes of a few pixels."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from szoht.cli import options
from szoht.errors import MissingExtraError, ParameterError
from szoht.types import Vector

if TYPE_CHECKING:
    from szoht.problems.attack import AttackResult

__all__ = ["attack"]

COLOUR_DIMENSIONS = 3


def attack(
    *,
    model: Annotated[Path, typer.Argument(help="The classifier, an ONNX file.")],
    image: Annotated[Path, typer.Argument(help="The image: PNG or another format, or NPY.")],
    label: Annotated[int, typer.Option("--label", help="Its true class.")],
    k: Annotated[int, typer.Option("-k", help="Coordinates or pixels to change at most.")] = 20,
    pixels: Annotated[
        bool, typer.Option("--pixels", help="Count pixels, all channels of which may change.")
    ] = False,
    target: Annotated[
        int | None, typer.Option("--target", help="The class to be led to; any if not given.")
    ] = None,
    scores: Annotated[
        str, typer.Option("--scores", help="What the model returns: logits, log_probs or probs.")
    ] = "logits",
    high: Annotated[
        float, typer.Option("--high", help="The model's value of white; black is 0.")
    ] = 1.0,
    method: Annotated[str, typer.Option("--method", help="How to search.")] = "corner_search",
    budget: Annotated[int, typer.Option("--budget", help="Queries at most.")] = 10_000,
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
        typer.echo(str(result))
        output.parent.mkdir(parents=True, exist_ok=True)
        result.plot().savefig(output.with_suffix(".png"), dpi=150)
        record = json.dumps(result.as_json(), indent=2)
        output.with_suffix(".json").write_text(record + "\n", encoding="utf-8")
    typer.echo(f"written: {output.with_suffix('.png')}, {output.with_suffix('.json')}")


def _attack(
    model: Path, image: Path, label: int, *, high: float, **settings: Any
) -> "AttackResult":
    from szoht.problems.attack import attack as run  # noqa: PLC0415  (the other commands go without)

    session = _session(model)
    pixels = _image(image, high, session.get_inputs()[0].shape[1:])
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
    """Return the image as the model wants it: grey or in colour, channels first or last."""
    if path.suffix == ".npy":
        try:
            stored: Vector = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise ParameterError(
                f"`image` must be a NPY file of numbers; {path}: {error}."
            ) from error
        return stored
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("pictures need Pillow: pip install 'szoht[attack]'") from error
    first = len(wanted) == COLOUR_DIMENSIONS and wanted[0] in (1, 3)
    last = len(wanted) == COLOUR_DIMENSIONS and not first
    channels = wanted[0] if first else wanted[-1] if last else 1
    try:
        with Image.open(path) as picture:
            grey = np.asarray(picture.convert("RGB" if channels == COLOUR_DIMENSIONS else "L"))
    except UnidentifiedImageError as error:
        raise ParameterError(f"`image` must be a picture; {path}: {error}.") from error
    pixels = grey.astype(np.float32) * np.float32(high / 255)
    if pixels.ndim == COLOUR_DIMENSIONS:
        pixels = pixels.transpose(2, 0, 1) if first else pixels
    elif first or last:
        pixels = pixels[np.newaxis] if first else pixels[..., np.newaxis]
    return _checked(np.minimum(pixels, np.float32(high)), wanted, path)


def _checked(pixels: Any, wanted: list[Any], path: Path) -> Vector:
    """Raise unless the picture has the size that the model asks for."""
    fits = len(wanted) == pixels.ndim and all(
        not isinstance(size, int) or size == given
        for size, given in zip(wanted, pixels.shape, strict=True)
    )
    if not fits:
        raise ParameterError(
            f"`image` must have the shape {tuple(wanted)} that the model takes; {path} has "
            f"{pixels.shape}."
        )
    checked: Vector = pixels
    return checked
