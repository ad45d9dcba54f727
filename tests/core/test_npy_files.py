"""Arrays from files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import CONTENTS
from szoht.core.npy_files import read_npy
from szoht.errors import DataError


@pytest.mark.parametrize(
    "array",
    [np.arange(5), np.float32(2.5), np.array([[1.0, 2.0]]).T, np.zeros(0), np.array([True])],
)
def test_arrays_come_back(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    back = read_npy(tmp_path / "x.npy")
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)
    assert type(back) is np.ndarray


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing", "^f is not an array in NPY format. Write it with numpy.save"),
        ("an archive of arrays", r"but an archive of arrays \(NPZ\)"),
        ("a bomb", r"but an archive of arrays \(NPZ\)"),
        ("a short array", "^f is not a whole array in NPY format: "),
        ("a huge array", "not a whole array"),
        ("an array beyond 64 bits", "not a whole array"),
        ("a header of signs", "^f is not a whole array in NPY format: "),
        ("items without size", "^f must hold real numbers; its array is of type |V0"),
        ("an array of objects", "not a whole array"),
        ("an array of complex numbers", "its array is of type complex128"),
    ],
)
def test_files_that_are_refused(tmp_path, content, message):
    (tmp_path / "x.npy").write_bytes(CONTENTS[content])
    with pytest.raises(DataError, match=message):
        read_npy(tmp_path / "x.npy", "f")


@given(st.binary(max_size=200), st.text("{}()',:0123456789<f8descrshapefortran_order FalseTrue -"))
@settings(deadline=None)
def test_any_bytes_are_an_array_or_refused(tmp_path_factory, data, header):
    path = tmp_path_factory.getbasetemp() / "any.npy"
    for start in (b"", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()):
        path.write_bytes(start + data)
        try:
            array = read_npy(path, "f")
        except DataError as error:
            assert str(error).startswith("f ")  # noqa: PT017
        else:
            assert array.nbytes <= len(data)
