"""A device that is put together when a program starts: a backend, and implementations of single regions.

``GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Virtual`` (docs/virtual.md).  ``Swap``: a device that is
changed while the program runs (docs/swap.md).
"""

from gompy.virtual.backend import Backend, Implementation, Memory, RefusedError
from gompy.virtual.manager import Virtual
from gompy.virtual.swapping import Swap

__all__ = ("Backend", "Implementation", "Memory", "RefusedError", "Swap", "Virtual")
