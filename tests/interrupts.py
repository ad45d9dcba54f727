"""Calls that Ctrl-C ends."""

import pytest

from szoht import Status


def carried(call, *arguments, **options):
    """Return the result that the KeyboardInterrupt of a call carries."""
    with pytest.raises(KeyboardInterrupt) as stop:
        call(*arguments, **options)
    return stop.value.result


def interrupted(call, *arguments, **options):
    """Return the result of a run that Ctrl-C ends before anything else does."""
    result = carried(call, *arguments, **options)
    assert result.status is Status.INTERRUPTED
    return result
