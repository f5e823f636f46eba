"""A device that is put together when a program starts: a backend, and implementations of single regions.

``GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Virtual`` (docs/virtual.md).
"""

from gompy.virtual.backend import Backend, Implementation, Memory, RefusedError
from gompy.virtual.manager import Virtual

__all__ = ("Backend", "Implementation", "Memory", "RefusedError", "Virtual")
