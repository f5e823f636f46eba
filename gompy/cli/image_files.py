"""Device images as files: what ``gompy images extract`` and ``gompy inspect --extract`` write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gompy.cli.inspect_report import AnyImage


def write_images(images: Iterable[tuple[str, int, AnyImage]], folder: Path) -> list[Path]:
    """Write images to a folder, which is made; the files' paths.

    ``images``: name of the file that has the image, its number there, the image.  An ELF image is one file, PTX one for
    each object.  Raises OSError, Damaged.
    """
    used: set[str] = set()
    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for file, index, image in images:
        for number, data in enumerate(image.files):
            # Names in order are files in order, as a shell's *.ptx has them, for gompy images replace.
            middle = f".{number:0{len(str(len(image.files) - 1))}}" if len(image.files) > 1 else ""
            name = unique(f"{Path(file).name}.{index}.{image.target}{middle}", f".{image.extension}", used)
            (folder / name).write_bytes(data)
            written.append(folder / name)
    return written


def unique(stem: str, extension: str, used: set[str]) -> str:
    """A file name that no image before it has: two files of one name come from different folders."""
    name, count = stem + extension, 1
    while name in used:
        count += 1
        name = f"{stem}-{count}{extension}"
    used.add(name)
    return name
