"""Where a report comes from: the commit that ran, versions of packages, and the machine."""

import os
import platform
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from szoht.core.version import __version__

__all__ = ["commit", "machine"]

REPORTED_PACKAGES = ("numpy", "scipy", "matplotlib", "torch")
COMMIT_DIGITS = 12


@cache
def commit() -> str:
    """Return the commit of the git checkout that this package runs from, or its version.

    "+ changes" is added if a file of the package differs from the commit. A package that was
    installed from an archive has no checkout, even if its folder lies inside another one.
    """
    package = Path(__file__).parent.parent
    try:
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        name = _git(package, "rev-parse", "HEAD")[:COMMIT_DIGITS]
        changed = _git(package, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"
    return f"{name} + changes" if changed else name


def _git(folder: Path, *arguments: str) -> str:
    git = shutil.which("git")
    if git is None:
        raise FileNotFoundError("git")
    run = subprocess.run(  # noqa: S603 - fixed arguments, in this package's own folder
        [git, "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=20
    )
    return run.stdout.strip()


def machine() -> dict[str, str]:
    """Return the versions and hardware of this run.

    >>> list(machine())[:2]
    ['szoht', 'Python']
    """
    versions = {name: _version(name) for name in REPORTED_PACKAGES}
    return {
        "szoht": __version__,
        "Python": platform.python_version(),
        **{name: version for name, version in versions.items() if version},
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(os.cpu_count()),
        "byte order": sys.byteorder,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
