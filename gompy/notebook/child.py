"""Run a cell's library in a process of its own, so that a fault in it is not the notebook's end.

``child.py LIBRARY FOLDER LANGUAGE NAME=VALUE…``: an array's value is empty, and its elements are in FOLDER/NAME.npy.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any


def main(library: str, folder: str, language: str, words: list[str]) -> None:
    """Call the function with the arrays as they lie in their files."""
    import numpy

    arguments: list[Any] = []
    arrays: list[Any] = []
    for word in words:
        name, _, value = word.partition("=")
        if value:
            number = ctypes.c_double(float(value)) if "." in value or "n" in value or "e" in value else None
            arguments.append(number or ctypes.c_long(int(value)))
            continue
        array: Any = numpy.load(os.path.join(folder, f"{name}.npy"), mmap_mode="r+")
        arrays.append(array)
        arguments.append(ctypes.c_void_p(array.ctypes.data))
        if language != "fortran":
            arguments.append(ctypes.c_long(array.size))
    ctypes.CDLL(library).gompy_cell(*arguments)
    for array in arrays:
        array.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
