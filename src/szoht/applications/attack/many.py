"""`attack_many`: one attack per image, with a progress bar and a table."""

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from szoht.applications.attack.attempt import Attempt
from szoht.applications.attack.networks import Model
from szoht.applications.attack.result import AttackResult, AttackResults, AttackStatus
from szoht.applications.attack.run import attack
from szoht.applications.attack.together import attack_together
from szoht.core.interrupts import attach
from szoht.core.random import as_seed
from szoht.core.validation import check_integer
from szoht.errors import MissingExtraError, ParameterError

__all__ = ["attack_many"]


def attack_many(
    model: Model,
    images: ArrayLike,
    labels: Sequence[int],
    *,
    rng: int | np.random.Generator | np.random.SeedSequence | None = None,
    at_once: int = 1,
    progress: bool = False,
    **settings: Any,
) -> AttackResults:
    """Attack each of several images; see `attack`.

    Parameters
    ----------
    model : callable, torch.nn.Module or onnxruntime.InferenceSession
        As in `attack`.
    images : array of shape (n, ...)
        Images of one shape.
    labels : sequence of n integers
        Their true classes.
    rng : None, int, Generator or SeedSequence
        The seed of the i-th attack depends only on this and i.
    at_once : int
        How many images are attacked at the same time, >= 1: their queries share batches, which is
        faster for methods that ask for few points at a time, and changes only the rounding.
    progress : bool
        Show a progress bar over the images; needs the extra ``cli``.
    settings
        Other arguments of `attack`.

    Returns
    -------
    AttackResults
        A sequence of `AttackResult` with ``success_rate``, ``median_queries`` and ``table()``;
        as text, a table. After Ctrl-C it is the ``result`` of the KeyboardInterrupt and ends with
        the interrupted images; ``not_tried`` is the number of images that are missing.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.random.default_rng(0).standard_normal((64, 3))
    >>> model = lambda images: images.reshape(len(images), -1) @ weights
    >>> images = np.random.default_rng(1).random((4, 8, 8))
    >>> results = attack_many(model, images, model(images).argmax(axis=1), k=8, rng=0)
    >>> results.success_rate
    1.0
    """
    stack = np.asarray(images)
    if stack.ndim < 2 or len(stack) != len(labels):  # noqa: PLR2004 - images, and what they hold
        raise ParameterError(
            f"`images` must be an array of as many images as there are labels; got shape "
            f"{stack.shape} and {len(labels)} labels."
        )
    seeds = np.random.SeedSequence(as_seed(rng)).spawn(len(stack))
    check_integer("at_once", at_once, low=1)
    results: list[AttackResult] = []
    with ExitStack() as bars:
        bar = bars.enter_context(_ProgressBar(len(stack))) if progress else None
        for start in range(0, len(stack), at_once):
            part = slice(start, start + at_once)
            tasks = list(zip(stack[part], labels[part], seeds[part], strict=True))
            try:
                if at_once == 1:
                    ((image, label, seed),) = tasks
                    results.append(attack(model, image, int(label), rng=seed, **settings))
                else:
                    _attack_group(model, tasks, settings, results)
            except KeyboardInterrupt as stop:
                attach(stop, AttackResults.cut(results, stop, len(stack)))
                raise
            if bar is not None:
                bar.show(results)
    return AttackResults(results)


def _attack_group(
    model: Model,
    tasks: Sequence[tuple[Any, int, Any]],
    settings: dict[str, Any],
    results: list[AttackResult],
) -> None:
    """Attack images at the same time, and append their results, after Ctrl-C too."""
    attempts = []
    for image, label, seed in tasks:
        call = inspect.signature(attack).bind(model, image, int(label), rng=seed, **settings)
        call.apply_defaults()
        del call.arguments["progress"]
        attempts.append(Attempt.begin(**call.arguments))
    try:
        attack_together(attempts)
    finally:
        results.extend(attempt.result(interrupted=attempt.is_open) for attempt in attempts)


class _ProgressBar:
    """A progress bar over images with the number of successful attacks."""

    def __init__(self, count: int) -> None:
        try:
            import rich.progress as bars  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                "`progress=True` needs the package rich: pip install 'szoht[cli]'"
            ) from error
        self._bar = bars.Progress(
            bars.TextColumn("[bold]szoht attack"),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[found]}"),
            bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("", total=count, found="")

    def __enter__(self) -> "_ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, results: Sequence[AttackResult]) -> None:
        """Update the bar."""
        succeeded = sum(result.success for result in results)
        before = sum(result.status is AttackStatus.MISCLASSIFIED for result in results)
        found = f"{succeeded} succeeded, {before} misclassified before"
        self._bar.update(self._task, completed=len(results), found=found)
