"""PyTorch modules on their own device; images are formed there."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from szoht.applications.attack.networks import checked
from szoht.types import Indices, Vector

__all__ = ["TorchNetwork"]


@dataclass(frozen=True, kw_only=True)
class TorchNetwork:
    """A module in evaluation mode; it is used where it is and as it is."""

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
        return self._scores(self._here(images))

    def sparse(self, base: Vector, indices: Indices, values: Vector) -> Vector:
        """Return the scores of images that differ from ``base`` in few entries."""
        batch = self._here(base).repeat(len(values), 1)
        places = torch.from_numpy(np.array(indices, dtype=np.int64)).to(self.device)
        batch.scatter_(1, places, self._here(values))
        return self._scores(batch)

    def _here(self, array: Vector) -> torch.Tensor:
        # float32 on the way: half of the bytes to move, and enough for any image
        narrow = np.asarray(array, dtype=np.float64 if self.dtype is torch.float64 else np.float32)
        if not narrow.flags.writeable:
            narrow = narrow.copy()
        return torch.from_numpy(narrow).to(self.device, self.dtype)

    def _scores(self, batch: torch.Tensor) -> Vector:
        # switching visits every layer, which is felt beside a small network
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
        return checked(scores, len(batch))
