"""Programs as objectives: they read x from a file or standard input and write its value."""

import io
import json
import math
import os
import select
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from szoht.core.npy_files import read_npy
from szoht.core.validation import check_choice, check_flag, check_real
from szoht.errors import ParameterError, ProgramError
from szoht.evaluation.output_files import OutputFormat, Outputs, parse_answer, read_outputs
from szoht.evaluation.program_command import as_command, substituted
from szoht.evaluation.program_folders import PID_FILE, TaskCancelled, is_cancelled, program_folder
from szoht.types import Sample, Vector

if TYPE_CHECKING:
    import subprocess

__all__ = ["Format", "Program", "Returns", "as_json_point"]

Format: TypeAlias = Literal["json", "npy"]
Returns: TypeAlias = Literal["value", "outputs"]

STDERR_BYTES = 4096
"""How much of the end of a program's standard error is kept."""

ANSWER_BYTES = 2**16
"""How much of the end of its answer is read."""

SHOWN_BYTES = 80
"""How much of the end of an answer that cannot be read a message shows."""

START_SCRIPT = 'echo $$ > "$0" && exec "$@"'
"""Writes down the process group before the program begins, so that it can always be ended."""

CANCEL_POLL_SECONDS = 0.25
"""Between two checks whether the task of a running program was cancelled."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A function that runs a program, once for each point.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments. A string is split as a shell would split it, but no shell
        ever reads it. ``{input}`` in an argument becomes the path of a file that holds x; without
        it x comes on standard input. ``{output}`` becomes the path at which the program leaves
        the value; without it the value is read from standard output.
    input : {"json", "npy"}
        ``{"x": [...]}``, with ``x_as="dict"`` ``{"x": {name: number, ...}}``, or an array in
        NumPy's format.
    sparse : bool
        JSON with the non-zeros only: ``{"dim": d, "indices": [...], "values": [...]}``.
    output : {"json", "npy", "csv"}
        The value is a number, or JSON with the number under "value": all of the output, or its
        last line. Or an array of one entry in NumPy's format.
    timeout : float, optional
        Seconds after which the program and whatever it started are killed, > 0.
    returns : {"value", "outputs"}
        "outputs" is for `least_squares`: a JSON list, or an object of numbers by name; an array;
        or CSV, a number in each line, or a name and a number. null, NaN and an empty cell are
        outputs that are missing.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> code = "import json, sys; print(sum(v * v for v in json.load(sys.stdin)['x']))"
    >>> Program(command=[sys.executable, "-c", code])(np.array([3.0, 4.0]))
    25.0

    Notes
    -----
    A timeout, an exit status other than zero and an answer that is not a number raise
    `ProgramError`, with the end of the program's standard error. A stochastic program finds its
    integers under "sample".

    A program is the leader of a session of its own. When it ends, when the run is interrupted or
    its task timed out, and when the process that started it dies, all processes of its process
    group are killed and its temporary folder is removed. On Windows only the program itself is
    killed, and not if the process that started it dies.
    """

    command: Sequence[str] | str
    input: Format = "json"
    sparse: bool = False
    output: OutputFormat = "json"
    timeout: float | None = field(default=None, repr=False)  # does not affect the value
    returns: Returns = field(default="value", repr=False)  # 0.1 knew programs by their repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", as_command(self.command))
        check_choice("input", self.input, get_args(Format))
        check_choice("output", self.output, get_args(OutputFormat))
        check_choice("returns", self.returns, get_args(Returns))
        if self.output == "csv" and self.returns == "value":
            raise ParameterError("`output` must be 'json' or 'npy' for one value; got 'csv'.")
        object.__setattr__(self, "sparse", check_flag("sparse", self.sparse))
        if self.sparse and self.input != "json":
            raise ParameterError("`sparse` needs input='json'; got sparse=True with input='npy'.")
        if self.timeout is not None:
            check_real("timeout", self.timeout, low=0, open_low=True)

    def __call__(self, x: Vector | dict[str, float], sample: Sample = None) -> float | Outputs:
        """Return the value, or the outputs, that the program gives at ``x``."""
        if isinstance(x, dict) and (self.sparse or self.input == "npy"):
            raise ParameterError("numbers by name need input='json' and sparse=False.")
        if sample is not None and self.input == "npy":
            raise ParameterError("a stochastic program needs input='json'; got input='npy'.")
        with program_folder() as folder:
            source, answer = folder / f"x.{self.input}", folder / f"value.{self.output}"
            source.write_bytes(self._serialized(x, sample))
            self._run(folder, source, answer)
            written = answer if self._answers_in_file else folder / "stdout"
            if self.returns == "outputs":
                return self._outputs(written, folder)
            return self._value(written, folder)

    @property
    def _answers_in_file(self) -> bool:
        return any("{output}" in argument for argument in self.command)

    def _serialized(self, x: Vector | dict[str, float], sample: Sample) -> bytes:
        if self.input == "json" or isinstance(x, dict):
            return json.dumps(as_json_point(x, sample, sparse=self.sparse)).encode()
        file = io.BytesIO()
        np.save(file, x, allow_pickle=False)
        return file.getvalue()

    def _run(self, folder: Path, source: Path, answer: Path) -> None:
        import subprocess  # noqa: PLC0415  (slow to import)

        paths = {"{input}": str(source), "{output}": str(answer)}
        arguments = [substituted(argument, paths) for argument in self.command]
        if shutil.which(arguments[0]) is None:
            reason = f"the program {arguments[0]} cannot be started: there is no such program"
            raise ProgramError(reason, "")
        if os.name == "posix":
            arguments = ["/bin/sh", "-c", START_SCRIPT, str(folder / PID_FILE), *arguments]
        # files instead of pipes: no output is too long, and no grandchild can keep us waiting
        with (
            source.open("rb") as stdin,
            (folder / "stdout").open("wb") as stdout,
            (folder / "stderr").open("wb") as stderr,
        ):
            process = subprocess.Popen(  # noqa: S603  (the user's text is an argument, not code)
                arguments, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
            try:
                code = _wait(process, self.timeout)
            except subprocess.TimeoutExpired as error:
                reason = f"the program took longer than {self.timeout:g} seconds"
                raise ProgramError(reason, _tail(folder / "stderr")) from error
            finally:
                if process.returncode is None:
                    _kill(process)
        if code != 0:
            raise ProgramError(
                f"the program ended with {_describe_exit(code)}", _tail(folder / "stderr")
            )

    def _outputs(self, answer: Path, folder: Path) -> Outputs:
        try:
            return read_outputs(answer, self.output)
        except (OSError, ValueError) as error:
            reason = f"the program's answer has no outputs as {self.output.upper()}: "
            reason += _why_unreadable(answer, error)
            if answer.is_file() and self.output != "npy":
                reason += f"; got {_shown(answer)}"
            raise ProgramError(reason, _tail(folder / "stderr")) from error

    def _value(self, answer: Path, folder: Path) -> float:
        try:
            value = _npy(answer) if self.output == "npy" else _number(answer)
        except (OSError, ValueError, TypeError, KeyError) as error:
            shown = _why_unreadable(answer, error)
            if answer.is_file() and self.output == "json":
                shown = _shown(answer)
            reason = f"the program's answer is not a finite number: {shown}"
            raise ProgramError(reason, _tail(folder / "stderr")) from error
        if not math.isfinite(value):
            raise ProgramError(f"the program answered {value}", _tail(folder / "stderr"))
        return value


def as_json_point(x: Vector | dict[str, float], sample: Sample, *, sparse: bool) -> dict[str, Any]:
    """Return a point as JSON holds it: all entries, or the non-zeros and where they are.

    Entries by name are an object.

    >>> as_json_point(np.array([0.0, 1.5]), None, sparse=True)
    {'dim': 2, 'indices': [1], 'values': [1.5]}
    """
    point: dict[str, Any] = {"x": x if isinstance(x, dict) else x.tolist()}
    if sparse and not isinstance(x, dict):
        support = np.flatnonzero(x)
        point = {"dim": x.size, "indices": support.tolist(), "values": x[support].tolist()}
    return point if sample is None else point | {"sample": sample.tolist()}


def _wait(process: "subprocess.Popen[bytes]", timeout: float | None) -> int:
    """Wait for a program, but not longer than ``timeout``, and only until its task is cancelled."""
    cancelled = is_cancelled()
    if timeout is None and cancelled is None:
        return process.wait()
    deadline = None if timeout is None else time.monotonic() + timeout
    while not _ended_within(process, CANCEL_POLL_SECONDS, deadline):
        if cancelled is not None and cancelled():
            raise TaskCancelled
        if deadline is not None and time.monotonic() >= deadline:
            break
    return process.wait(0.0)


def _ended_within(
    process: "subprocess.Popen[bytes]", seconds: float, deadline: float | None
) -> bool:
    if deadline is not None:
        seconds = max(0.0, min(seconds, deadline - time.monotonic()))
    if hasattr(os, "pidfd_open"):  # wakes up at once, where `wait` sleeps up to 50 ms too long
        file = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(file, select.POLLIN)
            return bool(poll.poll(1e3 * seconds))
        finally:
            os.close(file)
    import subprocess  # noqa: PLC0415

    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a program that still runs, and whatever it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
    else:
        process.kill()
    process.wait()


def _describe_exit(code: int) -> str:
    return f"exit status {code}" if code > 0 else f"signal {-code}"


def _npy(path: Path) -> float:
    return float(read_npy(path, "it").item())


def _number(path: Path) -> float:
    answer = parse_answer(_tail(path, ANSWER_BYTES))
    if isinstance(answer, dict):
        answer = answer["value"]
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise TypeError(answer)
    return float(answer)


def _why_unreadable(answer: Path, error: Exception) -> str:
    return str(error).rstrip(".") if answer.exists() else "it wrote no file {output}"


def _shown(answer: Path) -> str:
    """Return the end of an answer, for a message."""
    cut = answer.stat().st_size > SHOWN_BYTES
    return ("... " if cut else "") + repr(_tail(answer, SHOWN_BYTES))


def _tail(path: Path, size: int = STDERR_BYTES) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read().decode(errors="replace")
