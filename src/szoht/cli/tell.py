"""``szoht tell``: submit values for the points of stored runs."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from szoht.cli import options
from szoht.core.json_text import parse_json
from szoht.core.text_files import decode_text, read_bytes
from szoht.errors import ParameterError, SzohtError
from szoht.run.external import PointId, Reply, Told, answer
from szoht.store import Store

__all__ = ["tell"]


def tell(
    *,
    store: options.StorePath,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", help="File with the values; default: standard input."),
    ] = None,
) -> None:
    """Submit values, one JSON object per line: {"id": ..., "value": ...}, in any order.

    The outputs of a calibration are a list, or an object with their names. Repeated lines are
    ignored. A point that could not be evaluated has the value null, or an error
    message: {"id": ..., "error": ...}.
    """
    with options.cli_errors(), Store(store, create=False) as file:
        replies, bad = _replies(_read(answers))
        for run in sorted({reply.id.run for reply in replies}):
            told = answer(file, run, [reply for reply in replies if reply.id.run == run])
            bad |= _print_summary(run, told)
    if bad:
        raise typer.Exit(code=1)


def _read(answers: Path | None) -> bytes:
    if answers is None:
        return read_bytes(typer.get_binary_stream("stdin"), "standard input")
    with answers.open("rb") as file:
        return read_bytes(file, str(answers))


def _replies(lines: bytes) -> tuple[list[Reply], bool]:
    """Return the valid lines, and whether there were invalid ones, which are reported."""
    replies, bad = [], False
    for number, line in enumerate(lines.splitlines(), 1):
        if line.strip():
            try:
                replies.append(_reply(decode_text(line, "it")))
            except SzohtError as error:
                options.echo(f"line {number} is ignored: {error}", err=True)
                bad = True
    return replies, bad


def _reply(line: str) -> Reply:
    entry: Any = parse_json(line, "it")
    if not isinstance(entry, dict) or "id" not in entry:
        raise ParameterError('a line must read {"id": ..., "value": ...}')
    point = PointId.parse(entry["id"])
    error, value = entry.get("error"), entry.get("value")
    if error is not None or value is None:
        return Reply(point, math.nan, str(error or "no value"))
    if isinstance(value, list):
        return Reply(point, [_output(entry) for entry in value])
    if isinstance(value, dict):
        return Reply(point, {name: _output(entry) for name, entry in value.items()})
    return Reply(point, _number(value))


def _output(value: Any) -> float:
    return math.nan if value is None else _number(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"`value` must be a number, several, or null; got {value!r:.60}")
    return float(value)


def _print_summary(run: str, told: Told) -> bool:
    """Print what was done with the values; return whether any was rejected."""
    counts = f"{told.new} new, {told.repeated} known already, {told.failed} failed"
    options.echo(f"run {run}: {counts}", err=True)
    for line in told.contradictions:
        options.echo(f"contradiction: {line}", err=True)
    for name in told.unknown:
        options.echo(f"unknown point: {name}", err=True)
    for line in told.rejected:
        options.echo(f"rejected: {line}", err=True)
    if told.result is not None:
        options.echo(str(told.result if told.result.fit is None else told.result.fit))
    return bool(told.contradictions or told.unknown or told.rejected)
