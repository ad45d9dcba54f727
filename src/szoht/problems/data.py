"""Finds a data file: an explicit path, ``SZOHT_DATA``, the user's cache, or a verified download."""

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from szoht.errors import DataNotFoundError, ParameterError

__all__ = ["REGISTRY", "DataFile", "cache_folder", "fetch", "find_local", "register"]

TIMEOUT_SECONDS = 30.0
"""For the download from the official address."""

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A public file: its official address and its checksum.

    Parameters
    ----------
    name : str
        ``dataset/file``, also its relative path in a folder of ``SZOHT_DATA`` or the cache.
    url : str
        The official address; empty if there is none, then nothing is downloaded.
    sha256 : str
        The checksum of the whole file.
    size : int
        Bytes.
    """

    name: str
    url: str
    sha256: str
    size: int


REGISTRY: dict[str, DataFile] = {}
"""All files that `fetch` knows, by name."""


def register(*files: DataFile) -> None:
    """Make files known to `fetch`; a dataset's module does this when it is imported."""
    REGISTRY.update({file.name: file for file in files})


def fetch(name: str, path: str | os.PathLike[str] | None = None) -> Path:
    """Return the local path of the file ``name``, after a download if necessary.

    Four places are tried in this order:

    1. ``path``, the file itself or a folder that holds it; if given, nothing else is tried.
    2. Each folder listed in the environment variable ``SZOHT_DATA``.
    3. The user's cache, see `cache_folder`; files that fail their checksum do not count.
    4. The official address, with checksum, into the cache; needs the extra ``data`` (pooch).

    Parameters
    ----------
    name : str
        A name in `REGISTRY`, such as ``"orlib/port1.txt"``.
    path : path, optional
        A file or a folder.

    Raises
    ------
    DataNotFoundError
        With all four ways to supply the file, and why each of them failed.
    """
    if (found := find_local(name, path)) is not None:
        return found
    file = REGISTRY[name]
    listed = os.environ.get("SZOHT_DATA", "")
    cached = cache_folder() / file.name
    damaged = cached.is_file() and _sha256(cached) != file.sha256
    if cached.is_file() and not damaged:
        return cached
    try:
        return _download(file)
    except _DownloadFailed as failure:
        cache = "holds a damaged copy" if damaged else "does not have it"
        raise DataNotFoundError(
            f"The data file {file.name} was not found. Four ways to supply it:\n"
            "  1. pass path=, the file or a folder that holds it (not given)\n"
            f"  2. list a folder in the environment variable SZOHT_DATA, as <folder>/{file.name} "
            f"({f'not in {listed}' if listed else 'not set'})\n"
            f"  3. put it into the cache as {cached} (which {cache})\n"
            f"  4. download it from {file.url or 'its official address'} ({failure})"
        ) from None


def find_local(name: str, path: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file ``name`` at ``path`` or in ``SZOHT_DATA``, or None."""
    if name not in REGISTRY:
        known = ", ".join(sorted(REGISTRY))
        raise ParameterError(
            f"`name` must be a registered data file, one of {known}; got {name!r}."
        )
    file = REGISTRY[name]
    if path is not None:
        return _at_path(file, Path(path))
    listed = os.environ.get("SZOHT_DATA", "")
    folders = map(Path, filter(None, listed.split(os.pathsep)))
    return next((found for folder in folders if (found := _in_folder(file, folder))), None)


def cache_folder() -> Path:
    """Return the folder of this library in the user's cache, which need not exist."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "szoht"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "szoht"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "szoht"


class _DownloadFailed(Exception):  # noqa: N818  (internal: becomes part of DataNotFoundError)
    """Why a download failed."""


def _at_path(file: DataFile, path: Path) -> Path:
    if path.is_file():
        return path
    found = _in_folder(file, path)
    if found is None:
        raise DataNotFoundError(
            f"`path` must be the file {file.name} or a folder that holds it; got {path}, "
            f"{'a folder without it' if path.is_dir() else 'which does not exist'}."
        )
    return found


def _in_folder(file: DataFile, folder: Path) -> Path | None:
    candidates = (folder / file.name, folder / Path(file.name).name)
    return next((path for path in candidates if path.is_file()), None)


def _download(file: DataFile) -> Path:
    if not file.url:
        raise _DownloadFailed("there is none")
    try:
        import pooch  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as error:
        raise _DownloadFailed("needs the package pooch: pip install 'szoht[data]'") from error
    target = cache_folder() / file.name
    try:
        return Path(
            pooch.retrieve(
                url=file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=target.name,
                path=target.parent,
                downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS),
            )
        )
    # a download can raise many kinds: sockets, proxies, checksums, disks
    except Exception as error:
        raise _DownloadFailed(f"failed: {error}") from error


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()
