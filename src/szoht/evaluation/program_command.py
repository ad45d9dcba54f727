"""The command of a program: its words, and the placeholders among them."""

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence

from szoht.core.validation import shown
from szoht.errors import ParameterError, ParameterTypeError

__all__ = ["as_command", "substituted"]

PLACEHOLDERS = ("input", "output")
PLACEHOLDER = re.compile(r"[^\s'\"()]*\{\s*(\w+)\s*\}[^\s'\"()]*")
"""An argument that is a path or an option, and no code, with a word in braces."""

PLACEHOLDER_CUTOFF = 0.75
"""Of likeness: {inptu} and {inputs} are nearly {input}, and {print} of awk is not."""

SHELL_WORDS = frozenset(("|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1", "&>"))
QUOTED_TEXT = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
DRIVE = re.compile(r"[A-Za-z]:\\\w")


def as_command(command: object) -> tuple[str, ...]:
    """Return the words of a command, or raise where they are not what the user means.

    >>> as_command("simulate --quick {input}")
    ('simulate', '--quick', '{input}')
    """
    if isinstance(command, str):
        command = _split(command)
    if not isinstance(command, Sequence) or not all(isinstance(part, str) for part in command):
        raise ParameterTypeError(f"`command` must be a string or several; got {shown(command)}.")
    if not command:
        raise ParameterError(f"`command` must name a program; got {command!r}.")
    for argument in command:
        _check_placeholder(argument)
    return tuple(command)


def substituted(argument: str, paths: Mapping[str, str]) -> str:
    """Return an argument with paths in place of placeholders."""
    for placeholder, path in paths.items():
        argument = argument.replace(placeholder, path)
    return argument


def _split(command: str) -> list[str]:
    """Return the words as a shell would split them; whatever else is for a shell is refused."""
    for word in QUOTED_TEXT.sub("_", command).split():
        if word in SHELL_WORDS:
            raise ParameterError(
                f"`command` is not read by a shell, to which {word} is addressed; got {command!r}. "
                f"To use one, write {shlex.join(['sh', '-c', command])}"
            )
    if DRIVE.match(command):
        raise ParameterError(
            f"`command` is split as a shell would, which takes backslashes away; got {command!r}. "
            "Write / in their place, or put the path in double quotation marks."
        )
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ParameterError(f"`command` cannot be split: {error}; got {command!r}.") from error


def _check_placeholder(argument: str) -> None:
    """Raise at a word in braces that is nearly one of the two; others may mean something else."""
    found = PLACEHOLDER.fullmatch(argument)
    if found is None or any(f"{{{name}}}" in argument for name in PLACEHOLDERS):
        return
    near = difflib.get_close_matches(found[1].lower(), PLACEHOLDERS, n=1, cutoff=PLACEHOLDER_CUTOFF)
    if near:
        raise ParameterError(
            f"`command` may have the placeholders {{input}} and {{output}}; got {argument!r}. Did "
            f"you mean {{{near[0]}}}?"
        )
