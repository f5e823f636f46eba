"""A compiled plugin's functions, called from Python: for what drives a device without libgompy's mappings."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final

LIBDIR: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_native", "lib")
p, n, i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
CALLS: Final = (
    ("version", ctypes.c_uint),
    ("get_num_devices", i, ctypes.c_uint),
    ("init_device", ctypes.c_bool, i),
    ("fini_device", ctypes.c_bool, i),
    ("load_image", i, i, ctypes.c_uint, p, p, p, p),
    ("alloc", p, i, n),
    ("free", ctypes.c_bool, i, p),
    ("host2dev", ctypes.c_bool, i, p, p, n),
    ("dev2host", ctypes.c_bool, i, p, p, n),
    ("run", None, i, p, p, p),
    ("openacc_get_property", n, i, i),
    ("openacc_exec", None, p, n, p, p, p, p),
)
"""Functions of a plugin (GCC 12: libgomp-plugin.h): name, result, arguments."""


class Pair(ctypes.Structure):
    """struct addr_pair."""

    _fields_ = [("start", ctypes.c_size_t), ("end", ctypes.c_size_t)]


def load_runtime() -> ctypes.CDLL:
    """libgompy, whose services plugins call; the program's own, if it has one."""
    return ctypes.CDLL(os.path.join(LIBDIR, "libgompy.so.1"), ctypes.RTLD_GLOBAL)


def open_plugin(kind: str, own: bool = False) -> dict[str, Any]:
    """A plugin's functions by their names without GOMP_OFFLOAD_.  Raises OSError if it is not there.

    own: in an instance that nothing else in the process has; its gompy_remote_use is "remote_use".
    """
    path = os.path.join(LIBDIR, f"libgomp-plugin-{kind}.so.1")
    if own:
        copy = os.memfd_create(f"gompy-{kind}")
        with open(path, "rb") as file, open(copy, "wb", closefd=False) as written:
            written.write(file.read())
        path = f"/proc/self/fd/{copy}"
    plugin = ctypes.CDLL(path)
    calls: dict[str, Any] = {}
    for name, result, *arguments in CALLS:
        calls[name] = function = getattr(plugin, f"GOMP_OFFLOAD_{name}")
        function.restype, function.argtypes = result, arguments
    if own:
        calls["remote_use"] = plugin.gompy_remote_use
        calls["remote_use"].restype, calls["remote_use"].argtypes = None, [ctypes.c_char_p, ctypes.c_char_p]
    calls["version"]()
    return calls
