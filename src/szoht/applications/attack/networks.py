"""Classifiers as functions from images to scores: callables, ONNX sessions, PyTorch modules."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from szoht.errors import AnswerShapeError, EvaluationError, ParameterTypeError
from szoht.types import Indices, Vector

__all__ = ["Model", "Network", "as_network", "check_scores"]

Model: TypeAlias = Any
"""A callable ``images -> scores``, a PyTorch module, or an ONNX Runtime session."""

SCORES_NDIM, MIN_CLASSES = 2, 2


class Network(Protocol):
    """A classifier of flat images; images are built on the device of the classifier."""

    def dense(self, images: Vector) -> Vector:
        """Return the scores of the rows of ``images``, of shape (m, d)."""
        ...

    def sparse(self, base: Vector, indices: Indices, values: Vector) -> Vector:
        """Return the scores of m images like ``base``, but ``values[i]`` at ``indices[i]``."""
        ...


@dataclass(frozen=True, kw_only=True)
class ArrayNetwork:
    """A callable that takes and returns arrays."""

    call: Callable[[Any], Any]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def dense(self, images: Vector) -> Vector:
        """Return the scores of the rows of ``images``."""
        batch = images.astype(self.dtype).reshape(-1, *self.shape)
        return check_scores(self.call(batch), len(images))

    def sparse(self, base: Vector, indices: Indices, values: Vector) -> Vector:
        """Return the scores of images that differ from ``base`` in few entries."""
        batch = np.empty((len(values), base.size), dtype=self.dtype)
        batch[:] = base
        np.put_along_axis(batch, indices, values.astype(self.dtype), axis=1)
        return check_scores(self.call(batch.reshape(-1, *self.shape)), len(values))


@dataclass(frozen=True, kw_only=True)
class OnnxModel:
    """An ONNX Runtime session as a callable: its first input, its first output."""

    session: Any

    def __call__(self, batch: Any) -> Any:
        """Return the scores; a session with batch size one is called for each image."""
        model_input = self.session.get_inputs()[0]
        fixed = model_input.shape[0] if model_input.shape else None
        step = fixed if isinstance(fixed, int) else len(batch)
        if step != 1 and step != len(batch):
            raise AnswerShapeError(
                f"the session takes batches of exactly {step} images; export it with a dynamic "
                "batch dimension, or for one image."
            )
        name = self.session.get_outputs()[0].name
        try:
            parts = [
                self.session.run([name], {model_input.name: batch[i : i + step]})[0]
                for i in range(0, len(batch), step)
            ]
        except Exception as error:  # ONNX Runtime has its own exceptions, without a common base
            raise EvaluationError(
                f"the ONNX model cannot be evaluated for {len(batch)} images: {error}"
            ) from error
        return np.concatenate(parts)


def as_network(model: Model, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Network:
    """Return ``model`` as a network for images of ``shape``.

    A plain callable gets arrays of ``dtype``, a session float32, a module the type of its weights.
    """
    torch = sys.modules.get(
        "torch"
    )  # if PyTorch is not imported, `model` is not one of its modules
    if torch is not None and isinstance(model, torch.nn.Module):
        from szoht.applications.attack.torch_network import TorchNetwork  # noqa: PLC0415

        return TorchNetwork.of(model, shape)
    if hasattr(model, "get_inputs") and hasattr(model, "run"):
        return ArrayNetwork(call=OnnxModel(session=model), shape=shape, dtype=np.dtype(np.float32))
    if callable(model):
        return ArrayNetwork(call=model, shape=shape, dtype=dtype)
    raise ParameterTypeError(
        "`model` must be a callable from images to scores, a PyTorch module or an ONNX Runtime "
        f"session; got {model!r}."
    )


def check_scores(scores: Any, count: int) -> Vector:
    """Return scores as a float64 array of shape (count, n_classes), or raise."""
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AnswerShapeError(f"The model must return an array of scores: {error}.") from error
    fits = array.ndim == SCORES_NDIM and len(array) == count
    if not fits or array.shape[1] < MIN_CLASSES:
        raise AnswerShapeError(
            f"The model must return scores of shape ({count}, number of classes) for {count} "
            f"images, with at least two classes; got {array.shape}."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise EvaluationError(
            f"the model returned the score {array[row, column]} for class {column}; inspect "
            "`result.adversarial`, or clip the scores"
        )
    return array
