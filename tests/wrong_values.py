"""Values of every kind, to be given where another kind is expected."""

import datetime
import decimal
import fractions
import math
import sys

import numpy as np
import pandas as pd

import szoht


class Thing:
    """An object that nobody expects."""


class Wordless:
    """Has no words for itself."""

    def __repr__(self):
        raise RuntimeError("no words")


class Undecided:
    """Is neither true nor false, and equal to nothing and everything, as arrays are."""

    __hash__ = None

    def __bool__(self):
        raise ValueError("neither true nor false")

    def __eq__(self, other):
        return self


VALUES = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "3": 3,
    "-1": -1,
    "2.5": 2.5,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "2**63": 2**63,
    "400 digits": 10**400,
    "minus 400 digits": -(10**400),
    "5,000 digits": 10**5000,
    "a string": "a",
    "an empty string": "",
    "half a character": "\ud800",
    "bytes": b"ab",
    "a list": [1, 2],
    "an empty list": [],
    "a list of strings": ["a", "b"],
    "a list of Nones": [None, None],
    "a mixed list": [1, "a", None],
    "a ragged list": [[1, 2], [3]],
    "halves of characters": ["\ud800"] * 5,
    "a tuple": (0.0, 1.0),
    "a dict": {"a": 1},
    "an empty dict": {},
    "a dict of numbers": {0: 1},
    "a set": {1, 2},
    "an array of nothing": np.zeros(0),
    "an array of 2": np.zeros(2),
    "an array of 5": np.zeros(5),
    "a matrix": np.zeros((2, 2)),
    "an array of no axis": np.array(3),
    "flags": np.ones(5, dtype=bool),
    "an array of strings": np.array(["a", "b"]),
    "an array of objects": np.array([None, 1], dtype=object),
    "a complex number": 1j,
    "complex numbers": np.ones(5) * 1j,
    "an object": Thing(),
    "an object without words": Wordless(),
    "an undecided object": Undecided(),
    "...": ...,
    "NotImplemented": NotImplemented,
    "a slice": slice(1, 2),
    "a range": range(3),
    "a date": datetime.date(2020, 1, 1),
    "a date of NumPy": np.datetime64("2020-01-01"),
    "a decimal": decimal.Decimal("1.5"),
    "a fraction": fractions.Fraction(1, 3),
    "a Series": pd.Series([1.0, 2.0]),
    "a named Series": pd.Series([1.0, 2.0], index=["a", "b"]),
    "a DataFrame": pd.DataFrame({"a": [1.0]}),
    "a string of NumPy": np.str_("x"),
    "an integer of NumPy": np.int64(3),
    "a float of NumPy": np.float32(1.5),
    "an exception": ValueError("x"),
    "a module": sys,
    "a set of vectors": szoht.Sparse(2),
    "variables": szoht.Variables([1.0, 2.0]),
}

CALLABLES = {
    "a function": len,
    "a type": int,
    "a class": Thing,
    "a lambda": lambda *_: 1.0,
}
"""They are called where functions are expected, and what they raise is their own."""
