"""Sparse attacks as an attack of the Adversarial Robustness Toolbox."""

from typing import Any

import numpy as np

from szoht.applications.attack import AttackResult, AttackResults, attack
from szoht.errors import MissingExtraError, ParameterError
from szoht.types import Vector

try:
    from art.attacks.attack import EvasionAttack  # type: ignore[import-untyped]
    from art.estimators import BaseEstimator  # type: ignore[import-untyped]
    from art.estimators.classification import (  # type: ignore[import-untyped]
        ClassifierMixin,
    )
except ImportError as missing:
    raise MissingExtraError(
        "this attack needs the Adversarial Robustness Toolbox: "
        "pip install adversarial-robustness-toolbox"
    ) from missing

__all__ = ["FewPixelAttack"]

ONE_HOT_NDIM = 2


class FewPixelAttack(EvasionAttack):  # type: ignore[misc, no-any-unimported, unused-ignore]
    """Change at most k coordinates or pixels until the image is misclassified; see `szoht.attack`.

    Parameters
    ----------
    estimator : art.estimators.BaseEstimator
        A classifier of the toolbox, with ``clip_values``; only its ``predict`` is used.
    targeted : bool
        Whether the labels given to ``generate`` are the target classes.
    settings
        Other arguments of `szoht.attack`, such as ``k``, ``unit`` and ``max_queries``.

    Attributes
    ----------
    results : AttackResults
        Of the last call of ``generate``, even if Ctrl-C ended it.
    """

    attack_params = (*EvasionAttack.attack_params, "settings")
    _estimator_requirements = (BaseEstimator, ClassifierMixin)

    def __init__(self, estimator: Any, *, targeted: bool = False, **settings: Any) -> None:
        super().__init__(estimator=estimator)
        self._targeted = targeted
        self.settings = settings
        self.results = AttackResults([])
        if estimator.clip_values is None:
            raise ParameterError("the estimator must have `clip_values`, the range of its inputs.")

    def generate(self, x: Vector, y: Vector | None = None, **kwargs: Any) -> Vector:
        """Return the adversarial images; where the attack failed, the original."""
        predictions = np.argmax(self.estimator.predict(x), axis=1)
        given = None if y is None else np.asarray(y)
        if given is not None and given.ndim == ONE_HOT_NDIM:
            given = np.argmax(given, axis=1)
        if self._targeted and given is None:
            raise ParameterError("a targeted attack needs `y`, the target classes.")
        labels = predictions if given is None or self._targeted else given
        low, high = (float(np.max(bound)) for bound in self.estimator.clip_values)
        settings = {"low": low, "high": high, **self.settings, **kwargs}
        results: list[AttackResult] = []
        for i, (image, label) in enumerate(zip(x, labels, strict=True)):
            target = int(given[i]) if self._targeted and given is not None else None
            if (
                target is not None and target == label
            ):  # already the target class: treated as misclassified before
                label = (target + 1) % self.estimator.nb_classes  # noqa: PLW2901
            try:
                results.append(
                    attack(self.estimator.predict, image, int(label), target=target, **settings)
                )
            except KeyboardInterrupt as stop:
                self.results = AttackResults.cut(results, stop, len(x))
                raise
        self.results = AttackResults(results)
        changed = [
            result.adversarial if result.success else image
            for result, image in zip(results, x, strict=True)
        ]
        stacked: Vector = np.stack(changed).astype(x.dtype)
        return stacked
