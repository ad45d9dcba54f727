"""Every tuned number is in one record: not too many, all of them explained, all of them used."""

import ast
import inspect
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import szoht
from szoht.algorithms.auto import Policy, policy
from szoht.algorithms.auto.policy import NoisePolicy


def numbers(record):
    for entry in fields(record):
        value = getattr(record, entry.name)
        yield from numbers(value) if is_dataclass(value) else [(type(record), entry.name)]


def test_there_are_at_most_forty():
    assert len(list(numbers(Policy()))) <= 40


def test_each_says_what_it_is():
    for kind in (Policy, NoisePolicy):
        body = ast.parse(inspect.getsource(policy)).body
        (source,) = [node for node in body if getattr(node, "name", "") == kind.__name__]
        for before, after in zip(source.body, source.body[1:], strict=False):
            if isinstance(before, ast.AnnAssign):
                explained = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                assert explained, before.target.id


def test_each_is_read_somewhere():
    folder = Path(policy.__file__).parent
    everything = "".join(path.read_text() for path in folder.rglob("*.py"))
    unread = [name for _, name in numbers(Policy()) if f".{name}" not in everything]
    assert not unread


@pytest.mark.parametrize("k", [2, None])
def test_it_is_an_option_of_the_method(k):
    target = np.zeros(80)
    target[[3, 50]] = [1.0, -2.0]
    mix = np.random.default_rng(0).standard_normal((120, 80))

    def spent(numbers):
        result = szoht.minimize(
            lambda x: float(((mix @ (x - target)) ** 2).mean()),
            np.zeros(80),
            k=k,
            options={"policy": numbers},
            target=1e-6,
            max_queries=2_000,
            rng=0,
        )
        return result.nfev

    usual = Policy()
    assert spent(usual) == spent(None)
    assert spent(replace(usual, rows_first=0.6, rows_most=0.7, looks_dense=0.1)) != spent(usual)
