"""Image files of strangers: only formats that Pillow decodes itself, and typed errors."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from szoht.errors import MissingExtraError, ParameterError, SzohtError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["open_image"]

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")
"""For others Pillow starts programs: Ghostscript for PostScript, whatever the file is called."""


@contextmanager
def open_image(path: Path) -> Iterator["Image"]:
    """Open an image file; its pixels are decoded when they are asked for, inside the block."""
    try:
        from PIL import Image  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "reading images needs Pillow: pip install 'szoht[attack]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as picture:
                yield picture
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ParameterError(
            f"`image` must have at most {Image.MAX_IMAGE_PIXELS:,} pixels; {path} has more."
        ) from error
    except (SzohtError, MemoryError):
        raise
    except Exception as error:  # decoders raise whatever happens to them in a broken file
        if isinstance(error, OSError) and error.errno is not None:  # of the system
            raise
        raise ParameterError(
            f"`image` must be an image file ({', '.join(FORMATS)}) or NPY; {path}: {error}."
        ) from error
