"""Entries of the cache of links: what front.c answers a link by that was made before.

An entry has the objects that lto-wrapper gave to the linker, and what the files that had a part in them were like.
lto_wrapper/front.h has its layout.
"""

from __future__ import annotations

import os

from gompy.objects.elf import split_member
from gompy.tools import entries
from gompy.tools.entries import number, string
from gompy.tools.process import is_temporary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAGIC = b"gompylk1"
LIMIT = 128 << 20
"""Bytes that all entries may have together; those that have not been used for longest go."""


class Store(entries.Store):
    """Where front.c wants an entry: ``--store=KEY:FOLDER:BEGAN``."""

    def __init__(self, word: str) -> None:
        super().__init__(word.partition("=")[2], MAGIC, LIMIT)

    def keep_link(self, objects: Sequence[str], parts: Iterable[str], files: Sequence[str]) -> None:
        """Make an entry: ``objects`` were read for the key, ``parts`` had a part (or are missing), ``files`` came out.

        None is made where one of the former is too young for it to be sure what has been read.  gcc's temporary objects
        are young, but nobody else writes them, and they are whole when the link begins.
        """
        body = []
        try:
            if not all(_is_private(name) or self.settled(split_member(name)[0]) for name in objects):
                return
            for name in files:
                with open(name, "rb") as file:
                    data = file.read()
                body += [string("." + os.path.basename(name).partition(".")[2]), number(len(data)), data]
        except OSError:
            return
        self.keep(parts, len(files), b"".join(body))


def _is_private(name: str) -> bool:
    """Whether an object is a temporary one of gcc's."""
    path, offset = split_member(name)
    return offset is None and is_temporary(path)
