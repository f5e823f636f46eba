"""What getting a suite's sources shares: the folder where they are kept, and taking them out of an archive."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path


class SourceError(Exception):
    """The tests are not to be had; the text says why and what to do."""


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/gompy or ~/.cache/gompy."""
    return Path(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")) / "gompy"


def take_out(archive: tarfile.TarFile, folder: Path, place: Callable[[str], str | None]) -> None:
    """Write an archive's files below a folder: ``place`` says where each goes, None: nowhere.

    Raises OSError and tarfile.TarError.
    """
    for member in archive:
        where = place(member.name) if member.isfile() else None
        stream = archive.extractfile(member) if where is not None else None
        if where is None or stream is None:
            continue
        target = folder / where
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(stream.read())
