"""Sparse attacks as an attack of Foolbox."""

from typing import Any

import numpy as np

from szoht.applications.attack import AttackResult, AttackResults, attack
from szoht.errors import MissingExtraError, ParameterTypeError

try:
    import eagerpy
    from eagerpy.astensor import astensor_
    from foolbox.attacks.base import MinimizationAttack, get_criterion
    from foolbox.criteria import Misclassification, TargetedMisclassification
    from foolbox.distances import LpDistance
except ImportError as missing:
    raise MissingExtraError("this attack needs Foolbox: pip install foolbox") from missing

__all__ = ["FewPixelAttack"]


class FewPixelAttack(MinimizationAttack):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """Change at most k coordinates or pixels until the image is misclassified; see `szoht.attack`.

    Call it as any attack of Foolbox, with ``epsilons=None``: how many entries may change is ``k``.

    Parameters
    ----------
    settings
        Arguments of `szoht.attack`, such as ``k``, ``unit`` and ``max_queries``.

    Attributes
    ----------
    results : AttackResults
        Of the last call, even if Ctrl-C ended it.
    """

    distance = LpDistance(0)

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.results = AttackResults([])

    def run(
        self,
        model: Any,
        inputs: Any,
        criterion: Any,
        *,
        early_stop: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the adversarial images; where the attack failed, the original."""
        del early_stop
        images, restore = astensor_(inputs)
        labels, targets = _classes(get_criterion(criterion), model, images)

        def predict(batch: Any) -> Any:
            return model(eagerpy.from_numpy(images, batch.astype(np.float32))).numpy()

        settings = {
            "low": model.bounds.lower,
            "high": model.bounds.upper,
            **self.settings,
            **kwargs,
        }
        results: list[AttackResult] = []
        for image, label, target in zip(images.numpy(), labels, targets, strict=True):
            try:
                results.append(attack(predict, image, int(label), target=target, **settings))
            except KeyboardInterrupt as stop:
                self.results = AttackResults.cut(results, stop, len(images))
                raise
        self.results = AttackResults(results)
        changed = [
            result.adversarial if result.success else image
            for result, image in zip(results, images.numpy(), strict=True)
        ]
        return restore(eagerpy.from_numpy(images, np.stack(changed).astype(np.float32)))


def _classes(criterion: Any, model: Any, images: Any) -> tuple[Any, Any]:
    """Return the true classes, and the target classes, or None for each."""
    if isinstance(criterion, Misclassification):
        return criterion.labels.numpy(), [None] * len(images)
    if isinstance(criterion, TargetedMisclassification):
        predictions = model(images).argmax(axis=-1).numpy()
        targets = [int(target) for target in criterion.target_classes.numpy()]
        # an image already in the target class counts as misclassified before
        pairs = zip(predictions, targets, strict=True)
        labels = [label if label != t else abs(t - 1) for label, t in pairs]
        return labels, targets
    raise ParameterTypeError(
        f"`criterion` must be Misclassification or TargetedMisclassification; got {criterion!r}."
    )
