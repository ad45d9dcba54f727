"""What a solver reaches, judged by most of five seeds: one seed, or the last bit, proves nothing.

A limit that holds for most of the seeds is one that their median keeps.
"""

import contextlib
import functools
import inspect
import sys

import pytest

SEEDS = range(5)


def most_seeds(test=None, *, seeds=SEEDS):
    """Run a test with several values of its argument ``seed``; it passes if it does for most.

    It ends as soon as that is decided, so that usually three of five are run. What must hold for
    every seed is checked by `always`, or by a test of its own.
    """
    if test is None:
        return functools.partial(most_seeds, seeds=seeds)
    needed = len(seeds) // 2 + 1

    @functools.wraps(test)
    def judged(*args, **kwargs):
        passed, failed = 0, []
        for seed in seeds:
            try:
                with _untraced() if passed else contextlib.nullcontext():
                    test(*args, seed=seed, **kwargs)
            except AssertionError as error:
                failed.append(seed)
                if len(seeds) - len(failed) < needed:
                    error.add_note(f"It fails for the seeds {failed} of {list(seeds)}.")
                    raise
            else:
                passed += 1
                if passed == needed:
                    return

    signature = inspect.signature(test)
    others = [one for name, one in signature.parameters.items() if name != "seed"]
    judged.__signature__ = signature.replace(parameters=others)
    return judged


def always(holds):
    """Fail a test of most seeds at once: this holds for every seed."""
    if not holds:
        pytest.fail("does not hold, and should for every seed")


@contextlib.contextmanager
def _untraced():
    """Let coverage rest: it doubles the time, and has seen one seed."""
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)
