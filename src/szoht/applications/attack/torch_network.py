"""PyTorch modules as networks; images are built on the device of the module."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from szoht.applications.attack.networks import check_scores
from szoht.types import Indices, Vector

__all__ = ["TorchNetwork"]


@dataclass(frozen=True, kw_only=True)
class TorchNetwork:
    """A module in evaluation mode, on its own device and in its own precision."""

    module: torch.nn.Module
    shape: tuple[int, ...]
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, module: torch.nn.Module, shape: tuple[int, ...]) -> Self:
        """Take device and precision from the first floating-point weight, if there is one."""
        weights = (p for p in module.parameters() if p.is_floating_point())
        weight = next(weights, torch.empty(0))
        return cls(module=module, shape=shape, device=weight.device, dtype=weight.dtype)

    def dense(self, images: Vector) -> Vector:
        """Return the scores of the rows of ``images``."""
        return self._scores(self._to_device(images))

    def sparse(self, base: Vector, indices: Indices, values: Vector) -> Vector:
        """Return the scores of images that differ from ``base`` in few entries."""
        batch = self._to_device(base).repeat(len(values), 1)
        positions = torch.from_numpy(np.array(indices, dtype=np.int64)).to(self.device)
        batch.scatter_(1, positions, self._to_device(values))
        return self._scores(batch)

    def _to_device(self, array: Vector) -> torch.Tensor:
        # float32 halves the transfer, and is precise enough for images
        narrow = np.asarray(array, dtype=np.float64 if self.dtype is torch.float64 else np.float32)
        if not narrow.flags.writeable:
            narrow = narrow.copy()
        return torch.from_numpy(narrow).to(self.device, self.dtype)

    def _scores(self, batch: torch.Tensor) -> Vector:
        # switching modes visits every layer, which is slow for a small network
        training = self.module.training
        if training:
            self.module.eval()
        try:
            with torch.inference_mode():
                scores: Any = self.module(batch.reshape(-1, *self.shape))
        finally:
            if training:
                self.module.train()
        if isinstance(scores, torch.Tensor):
            scores = scores.to("cpu", torch.float64).numpy()
        return check_scores(scores, len(batch))
