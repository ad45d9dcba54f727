"""Text from files."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from szoht.core import text_files
from szoht.core.text_files import decode_text, read_bytes, read_text
from szoht.errors import DataError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", r"^f is not UTF-8: byte 3 is 0xe9\. Save it as UTF-8\.$"),
        ("a".encode("utf-16"), "^f is UTF-16. Save it as UTF-8"),
        ("a".encode("utf-16-be"), "^f is not text: character 0 is NUL, as in binary files"),
        (b"a\0b", "^f is not text: character 1 is NUL"),
        (b"\xed\xa0\x80", "is not UTF-8"),
    ],
)
def test_bytes_that_are_no_text(data, message):
    with pytest.raises(DataError, match=message):
        decode_text(data, "f")


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(deadline=None)
def test_text_comes_back(text):
    assert decode_text(text.encode(), "f") == text.removeprefix("\ufeff")
    assert decode_text(text.encode("utf-8-sig"), "f") == text


@given(st.binary())
@settings(deadline=None)
def test_any_bytes_are_text_or_refused(data):
    try:
        text = decode_text(data, "f")
    except DataError as error:
        assert str(error).startswith("f is ")  # noqa: PT017
    else:
        assert text.encode() == data.removeprefix(b"\xef\xbb\xbf")
        assert "\0" not in text


def test_no_more_is_read_than_memory_bears(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "MOST_MEGABYTES", 1)
    (tmp_path / "long.csv").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(DataError, match=r"long\.csv has more than 1 MB"):
        read_text(tmp_path / "long.csv")
    file = io.BytesIO(b"a" * (2**22))
    with pytest.raises(DataError, match=r"^f has more than 1 MB"):
        read_bytes(file, "f")
    assert file.tell() == 2**20 + 1
    (tmp_path / "long.csv").write_bytes(b"a" * 2**20)
    assert len(read_text(tmp_path / "long.csv")) == 2**20
