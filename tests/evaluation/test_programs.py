"""`Program`: how x gets there, how the value comes back, and everything that can go wrong."""

import json
import os
import pickle
import sys
import time

import numpy as np
import pytest

from szoht import Program
from szoht.errors import ParameterError, ParameterTypeError, ProgramError

X = np.array([0.0, 1.5, 0.0, -2.0])


def python(code, *arguments, **options):
    return Program(command=[sys.executable, "-c", code, *arguments], **options)


def test_json_file_in_and_file_out():
    code = (
        "import json, sys; x = json.load(open(sys.argv[1]))['x']; "
        "print('noise'); open(sys.argv[2], 'w').write(json.dumps({'value': sum(x)}))"
    )
    assert python(code, "{input}", "{output}")(X) == -0.5


def test_sparse_on_standard_input():
    code = "import sys; print('log'); print(sys.stdin.read())"
    program = python(code, sparse=True)
    with pytest.raises(ProgramError, match="not a finite number") as caught:
        program(X)
    assert '{"dim": 4, "indices": [1, 3], "values": [1.5, -2.0]}'[-40:] in str(caught.value)


def test_npy_both_ways():
    code = (
        "import numpy as np, sys; x = np.load(sys.argv[1][3:]); np.save(sys.argv[2], x.sum() ** 2)"
    )
    assert python(code, "in={input}", "{output}", input="npy", output="npy")(X) == 0.25


def test_the_last_line_counts_and_bits_survive():
    value = 0.1 + 0.2
    assert python(f"print('a log line'); print({value!r})")(X) == value


def test_a_sample_travels_along():
    code = "import json, sys; print(sum(json.load(sys.stdin)['sample']))"
    assert python(code)(X, np.array([3, 4])) == 7.0


def test_no_shell_is_involved(tmp_path):
    mark = tmp_path / "mark"
    program = Program(command=["echo", f"1; touch {mark}", "$(touch mark)"])
    with pytest.raises(ProgramError, match=r"\$\(touch mark\)"):
        program(X)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("code", "match"),
    [
        ("import sys; print('why', file=sys.stderr); sys.exit(3)", "ended with exit status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended with signal 11"),
        ("print('abc')", "answer is not a finite number: 'abc"),
        ("print('true')", "answer is not a finite number"),
        ("print('[1]')", "answer is not a finite number"),
        ("print('{}')", "answer is not a finite number"),
        ("pass", "answer is not a finite number: ''"),
        ("print('NaN')", "answered nan"),
        ("print(1e999)", "answer is not a finite number: 'inf"),
        ("print('begin' + 'x' * 90 + 'end')", r"finite number: \.\.\. 'x+end"),  # cut visibly
    ],
)
def test_faults(code, match):
    with pytest.raises(ProgramError, match=match):
        python(code)(X)


def test_stderr_is_kept_and_survives_travelling():
    code = "import sys; print('x' * 9000 + 'the licence has expired', file=sys.stderr); sys.exit(1)"
    with pytest.raises(ProgramError) as caught:
        python(code)(X)
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert error.stderr == caught.value.stderr
    assert error.stderr.endswith("the licence has expired\n")
    assert len(error.stderr) <= 4096


def test_a_timeout_kills_what_the_program_started(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    note = tmp_path / "pid"
    with pytest.raises(ProgramError, match="took longer than 2 seconds"):
        python(code, str(note), timeout=2)(X)
    if note.exists():  # on a very slow machine it did not come so far
        child = int(note.read_text())
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and _runs(child):
            time.sleep(0.02)
        assert not _runs(child)


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    python("print(1)")(X)
    with pytest.raises(ProgramError):
        python("import sys; sys.exit(1)", "{input}")(X)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "kind", "match"),
    [
        ({"command": ""}, ParameterError, "must name a program"),
        ({"command": "a 'b"}, ParameterError, "cannot be split"),
        ({"command": 3}, ParameterTypeError, "a string or several"),
        ({"command": ["a", 3]}, ParameterTypeError, "a string or several"),
        ({"command": "a", "input": "xml"}, ParameterError, "`input` must be one of"),
        ({"command": "a", "sparse": True, "input": "npy"}, ParameterError, "`sparse` needs"),
        ({"command": "a", "timeout": 0}, ParameterError, "`timeout` must be"),
    ],
)
def test_bad_parameters(options, kind, match):
    with pytest.raises(kind, match=match):
        Program(**options)


def test_a_program_that_is_not_there():
    with pytest.raises(ProgramError, match="no-such-program cannot be started"):
        Program(command="no-such-program {input}")(X)
    with pytest.raises(ParameterError, match="stochastic program needs input='json'"):
        Program(command="a", input="npy")(X, np.array([1]))


def test_a_string_is_split_into_arguments():
    program = Program(command="run 'two words' --in {input}")
    assert program.command == ("run", "two words", "--in", "{input}")
    assert json.dumps(program.command)


def test_a_program_with_many_outputs():
    code = "import json, sys; x = json.load(sys.stdin)['x']; print({'a': x[0], 'b': None})"
    code = code.replace("print(", "print(json.dumps(").replace("})", "}))")
    program = Program(command=[sys.executable, "-I", "-S", "-c", code], returns="outputs")
    assert program(np.array([2.0]))["a"] == 2.0
    assert np.isnan(program(np.array([2.0]))["b"])


def test_returns_does_not_change_what_stores_of_old_know_programs_by():
    assert repr(Program(command="true", returns="outputs")) == repr(Program(command="true"))


def test_csv_is_for_outputs():
    with pytest.raises(ParameterError, match="`output` must be 'json' or 'npy' for one value"):
        Program(command="true", output="csv")
    with pytest.raises(ParameterError, match="`returns` must be one of"):
        Program(command="true", returns="numbers")
