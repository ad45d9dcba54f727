"""Where data files are looked for, in which order, and what is said when there are none."""

import hashlib
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from szoht.errors import DataNotFoundError, ParameterError, SzohtError
from szoht.problems import data

CONTENT = b"a small file\n"
FILE = data.DataFile(
    name="test/small.txt",
    url="http://127.0.0.1:9/small.txt",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Give folders for each way, all empty, and a download that fails as if offline."""
    monkeypatch.setattr(data, "REGISTRY", {FILE.name: FILE})
    cache = tmp_path / "cache"
    monkeypatch.setattr(data, "cache_folder", lambda: cache)
    monkeypatch.setenv("SZOHT_DATA", f"{tmp_path / 'one'}{data.os.pathsep}{tmp_path / 'two'}")
    calls = []
    pretend(monkeypatch, calls)
    return SimpleNamespace(root=tmp_path, cache=cache, calls=calls)


def pretend(monkeypatch, calls, content=None):
    """Put a stand-in in place of pooch: offline, or with something at the address."""

    def retrieve(*, url, known_hash, fname, path, downloader):
        calls.append((url, known_hash))
        if content is None:
            raise ConnectionError("no route to host")
        if "sha256:" + hashlib.sha256(content).hexdigest() != known_hash:
            raise ValueError("SHA256 hash of downloaded file does not match the known hash")
        return str(put(path / fname, content))

    stand_in = SimpleNamespace(retrieve=retrieve, HTTPDownloader=lambda timeout: None)
    monkeypatch.setitem(sys.modules, "pooch", stand_in)


def put(path, content=CONTENT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_order_is_path_variable_cache_download(places, monkeypatch):
    pretend(monkeypatch, places.calls, CONTENT)
    downloaded = data.fetch(FILE.name)
    assert downloaded == places.cache / FILE.name
    assert places.calls == [(FILE.url, f"sha256:{FILE.sha256}")]
    assert data.fetch(FILE.name) == downloaded  # from the cache now
    assert len(places.calls) == 1
    second = put(places.root / "two" / FILE.name)
    assert data.fetch(FILE.name) == second
    first = put(places.root / "one" / FILE.name)
    assert data.fetch(FILE.name) == first
    own = put(places.root / "mine.txt")
    assert data.fetch(FILE.name, own) == own
    assert data.fetch(FILE.name, places.root / "two") == second


def test_a_folder_may_hold_the_file_itself(places):
    flat = put(places.root / "one" / "small.txt")
    assert data.fetch(FILE.name) == flat


def test_offline_all_four_ways_are_listed(places):
    with pytest.raises(DataNotFoundError) as caught:
        data.fetch(FILE.name)
    message = str(caught.value)
    assert "1. pass path=" in message
    assert "2. list a folder in the environment variable SZOHT_DATA" in message
    assert str(places.root / "one") in message
    assert f"3. put it into the cache as {places.cache / FILE.name}" in message
    assert f"4. download it from {FILE.url} (failed: no route to host)" in message
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, SzohtError)


def test_without_the_variable_that_is_said(places, monkeypatch):
    monkeypatch.delenv("SZOHT_DATA")
    with pytest.raises(DataNotFoundError, match="not set"):
        data.fetch(FILE.name)


def test_a_damaged_cache_is_downloaded_again_or_told(places, monkeypatch):
    put(places.cache / FILE.name, CONTENT[:5])
    with pytest.raises(DataNotFoundError, match="which holds a damaged copy"):
        data.fetch(FILE.name)
    pretend(monkeypatch, places.calls, CONTENT)
    assert data.fetch(FILE.name).read_bytes() == CONTENT


def test_a_wrong_checksum_is_told(places, monkeypatch):
    pretend(monkeypatch, places.calls, b"something else")
    with pytest.raises(DataNotFoundError, match="does not match the known hash"):
        data.fetch(FILE.name)
    assert not (places.cache / FILE.name).exists()


def test_without_pooch_the_extra_is_named(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataNotFoundError, match=r"pip install 'szoht\[data\]'"):
        data.fetch(FILE.name)


def test_without_an_address_nothing_is_downloaded(places, monkeypatch):
    nowhere = data.DataFile(name=FILE.name, url="", sha256=FILE.sha256, size=FILE.size)
    data.register(nowhere)
    with pytest.raises(DataNotFoundError, match="there is none"):
        data.fetch(FILE.name)
    assert places.calls == []


@pytest.mark.parametrize(("name", "why"), [("empty", "a folder without it"), ("no", "not exist")])
def test_an_explicit_path_that_does_not_have_it(places, name, why):
    (places.root / "empty").mkdir()
    put(places.root / "one" / FILE.name)  # is not tried: the path was explicit
    with pytest.raises(DataNotFoundError, match=why):
        data.fetch(FILE.name, places.root / name)


def test_unknown_names():
    with pytest.raises(ParameterError, match=r"registered data file.*orlib/port1.txt"):
        data.fetch("orlib/port6.txt")


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "szoht"),
        ("win32", "LOCALAPPDATA", "szoht"),
        ("darwin", "HOME", "Library/Caches/szoht"),
    ],
)
def test_the_cache_is_where_the_system_wants_it(
    tmp_path, monkeypatch, platform, variable, expected
):
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(data, "sys", SimpleNamespace(platform=platform))
    assert data.cache_folder() == tmp_path / expected


def test_the_real_pooch_downloads_with_checksum(tmp_path, monkeypatch):
    """Against a server on this machine, once with the right content and once with a wrong one."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    put(tmp_path / "served" / "good.txt")
    put(tmp_path / "served" / "bad.txt", b"not it")
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    monkeypatch.setattr(data, "REGISTRY", {})
    monkeypatch.setattr(data, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("SZOHT_DATA", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        for name in ("good", "bad"):
            data.register(
                data.DataFile(
                    name=f"test/{name}.txt",
                    url=f"{address}/{name}.txt",
                    sha256=FILE.sha256,
                    size=FILE.size,
                )
            )
        assert data.fetch("test/good.txt").read_bytes() == CONTENT
        with pytest.raises(DataNotFoundError, match="hash"):
            data.fetch("test/bad.txt")
        server.shutdown()
        thread.join()
