"""Contents of files that nobody in their right mind writes, and that somebody will."""

import io
import pickle
import struct
import zipfile

import numpy as np

ROWS = "\n".join(f"2020-01-{i:02d},{100 + i % 7},{50 + i % 5},{20 + i % 4}" for i in range(1, 29))


def _npy(header, data=b"\0" * 64):
    header = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _saved(array, save=np.save):
    file = io.BytesIO()
    save(file, array)
    return file.getvalue()


def _bomb():
    """Return an archive of 100 kB that claims to hold 80 MB of zeros."""
    file = io.BytesIO()
    head = _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000,), }\n", b"")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", head + b"\0" * 80_000_000)
    return file.getvalue()


def _shape(text):
    return _npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {text}, }}\n")


TEXTS = {
    "nothing": "",
    "a mark of byte order": "\ufeff",
    "blank lines": "\n \n\t\n",
    "carriage returns": "name\ra\rb\r",
    "a NUL": "name,nominal\na\0b,1\n",
    "a long cell": f"name,nominal\n{'a' * 200_000},1\n",
    "a long number": f"name,nominal,value\n{'1' * 200_000},2,3\n",
    "many values": "name,nominal,values\na,1," + "|".join(map(str, range(200_000))) + "\n",
    "a quotation mark": 'name,nominal\n"a,1\nb,2\n',
    "quotation marks": 'name,nominal\n"a"b,1\n',
    "ragged lines": "a,b,value\n1,2\n1,2,3,4\n",
    "commas": ",,,,\n,,,,\n",
    "one header": "name,nominal,low,high\n",
    "a header twice": "value,value\n1,2\n",
    "infinite numbers": "name,nominal,value\na,inf,1e400\n",
    "words": "name,nominal,low\na,red,green\n",
    "formulas": "=cmd|'/c calc'!A0,nominal\n@a,1\n",
    "prices with a long cell": f"date,A,B,C\n{ROWS}\n2020-02-01,{'1' * 200_000},1,1\n",
    "prices without dates": "date,A,B\nx,1,2\n2020-01-01,2,3\ny,3,4\n",
    "dates twice": "date,A,B\n2020-01-01,1,2\n2020-01-01,2,3\n2020-01-01,3,4\n",
    "a market of many": "1e300\n0.1 0.1\n",
    "half of JSON": "[1, 2",
    "deep lists, open": "[" * 100_000,
    "deep lists": "[" * 50_000 + "]" * 50_000,
    "lists in lists": "[" * 200 + "1" + "]" * 200,
    "deep objects": '{"set":' * 3_000 + "1" + "}" * 3_000,
    "a deep parameter": '{"set":"sparse","k":' + "[" * 100_000 + "}",
    "a deep value": '{"id":"run:0:0","value":' + "[" * 5_000 + "]" * 5_000 + "}",
    "an integer of 400 digits": "1" + "0" * 400,
    "a list of it": "[1" + "0" * 400 + ", 2]",
    "an object of it": '{"a": 1' + "0" * 400 + ', "value": 1' + "0" * 400 + "}",
    "an integer of 5,000 digits": "[1" + "0" * 5_000 + "]",
    "a large float": "[1e400, -1e400]",
    "not a number": "[NaN, Infinity]",
    "null": "null",
    "true": "true",
    "a string": '"text"',
    "an empty list": "[]",
    "an empty object": "{}",
    "a list of lists": "[[1, 2], [3]]",
    "a list of objects": '[{"a": 1}, null, "b"]',
    "half a character": '{"id":"\\ud800:0:0","value":1, "\\ud800": 2}',
    "a set that is a module": '{"set":"os.system"}',
    "a set in a list": '{"set":["sparse"],"k":1}',
    "a set of sets": '{"set":"sparse","k":{"set":"sparse","k":2}}',
    "a file in a set": '{"set":"sparse_box","k":1,"low":"/etc/passwd.npy","high":1}',
    "an id of many digits": '{"id":"run:' + "9" * 5_000 + ':0","value":1}',
    "an id beyond 64 bits": '{"id":"run:99999999999999999999:0","value":1}',
    "an id that is a list": '{"id":["run"],"value":[[1]]}',
    "control characters": '{"id":"\\u001b[2J:0:0","value":"\\u001b"}',
}

BYTES = {
    "not UTF-8": b"name,nominal\n\xff\xfe,1\n",
    "UTF-16": "name,nominal\na,1\n".encode("utf-16"),
    "UTF-16 without a mark": "name,nominal\na,1\n".encode("utf-16-le"),
    "UTF-32": "[1, 2]".encode("utf-32"),
    "all bytes": bytes(range(256)) * 20,
    "a pickle": pickle.dumps([1, 2]),
    "an archive of arrays": _saved(np.zeros(3), np.savez),
    "a bomb": _bomb(),
    "the start of an archive": b"PK\x03\x04",
    "the start of an array": b"\x93NUMPY",
    "a short array": _shape("(40000,)"),
    "a huge array": _shape("(1000000000000,)"),
    "an array beyond 64 bits": _shape("(10000000000000000000000000,)"),
    "a negative shape": _shape("(-1,)"),
    "many axes": _shape("(" + "1," * 70 + ")"),
    "a deep header": _npy("(" * 9_000 + "1\n"),
    "a header of signs": _npy("-" * 9_000 + "1\n"),
    "a header that is a list": _npy("[1]\n"),
    "items without size": _npy(
        "{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000,), }\n"
    ),
    "an array of objects": _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"),
    "an array of words": _saved(np.array(["a", "b"])),
    "an array of records": _saved(np.zeros(2, dtype=[("a", "f8")])),
    "an array of complex numbers": _saved(np.array([1j])),
    "an array of nothing": _saved(np.zeros(0)),
    "a matrix": _saved(np.zeros((2, 2))),
    "an array of NaN": _saved(np.array([np.nan, np.inf])),
}

CONTENTS = {name: text.encode() for name, text in TEXTS.items()} | BYTES
