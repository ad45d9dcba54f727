"""Commands of programs: what is for a shell, and placeholders that are misspelt."""

import pytest

from szoht import Program
from szoht.errors import ParameterError, ParameterTypeError
from szoht.evaluation.program_command import as_command, substituted


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("simulate {input} --out={output}", ("simulate", "{input}", "--out={output}")),
        ("sh -c 'cat {input} | wc -c'", ("sh", "-c", "cat {input} | wc -c")),
        ("awk -F '|' {print} {input}", ("awk", "-F", "|", "{print}", "{input}")),
        (r"grep a\|b {input}", ("grep", "a|b", "{input}")),
        ('run --text="a | b; c"', ("run", "--text=a | b; c")),
        ("curl http://host/?a=1&b=2", ("curl", "http://host/?a=1&b=2")),
        ('"C:\\sim\\run.exe" {input}', ("C:\\sim\\run.exe", "{input}")),
        ("C:/sim/run.exe {input}", ("C:/sim/run.exe", "{input}")),
        (["cat", "|", "{input}"], ("cat", "|", "{input}")),
        ("python -c \"print(f'{inputs}')\"", ("python", "-c", "print(f'{inputs}')")),
        ("jq {value}", ("jq", "{value}")),
    ],
)
def test_words(command, words):
    assert as_command(command) == words


@pytest.mark.parametrize("word", ["|", "||", "&&", ";", ">", ">>", "<", "2>&1"])
def test_what_is_for_a_shell_is_refused_with_the_remedy(word):
    with pytest.raises(ParameterError, match="not read by a shell") as caught:
        as_command(f"cat {{input}} {word} wc -c")
    assert str(caught.value).endswith(f"write sh -c 'cat {{input}} {word} wc -c'")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("{inptu}", "{input}"),
        ("{imput}", "{input}"),
        ("{inputs}", "{input}"),
        ("{INPUT}", "{input}"),
        ("{ input }", "{input}"),
        ("--out={ouput}", "{output}"),
        ("out/{outptu}.txt", "{output}"),
    ],
)
def test_misspelt_placeholders(word, meant):
    with pytest.raises(ParameterError, match=r"the placeholders .* Did you mean ") as caught:
        Program(command=["simulate", word])
    assert str(caught.value).endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("command", "error", "message"),
    [
        (r"C:\sim\run.exe {input}", ParameterError, "takes backslashes away; .*double quotation"),
        ("cat 'a", ParameterError, "cannot be split: No closing quotation"),
        ("", ParameterError, "must name a program"),
        ([], ParameterError, "must name a program"),
        (["a", 3], ParameterTypeError, "a string or several"),
        (3, ParameterTypeError, "a string or several; got 3"),
    ],
)
def test_commands_that_are_refused(command, error, message):
    with pytest.raises(error, match=message):
        as_command(command)


def test_placeholders_become_paths():
    paths = {"{input}": "folder/x", "{output}": "folder/y"}
    assert substituted("{input}:{output}:{other}", paths) == "folder/x:folder/y:{other}"
