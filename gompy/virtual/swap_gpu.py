"""An emulated GPU behind the device that is changed while a program runs, in a process of its own.

There its memory can be where the other backends have theirs: the emulated driver takes an address.  The process is a
``gompy device serve`` of this machine, which ends with the program.  The program needs an nvptx image besides.
"""

from __future__ import annotations

import ctypes
import functools
import os
import secrets
import tempfile
import threading
from typing import Any, NamedTuple

from gompy.abi import gomp
from gompy.objects import tables
from gompy.objects.view import ElfView
from gompy.plugins.compiled import load_runtime, open_plugin
from gompy.remote.started import ClusterError, Secrets, StartedServer
from gompy.virtual.swap_backends import FIRST, PluginBackend, SwapError

SLACK = 64 << 20
"""Bytes by which the driver's memory begins before the data's, for what it allocates itself."""


STARTING = threading.Lock()
"""Several threads of a program may want the first change to it at once."""


class PtxFunction(ctypes.Structure):
    """A region of struct nvptx_tdata (GCC 12: plugin-nvptx.c, targ_fn_launch)."""

    _fields_ = [("name", ctypes.c_char_p), ("dim", ctypes.c_uint16 * 3)]


class PtxData(ctypes.Structure):
    """struct nvptx_tdata."""

    _fields_ = [
        ("objects", ctypes.c_void_p),
        ("num_objects", ctypes.c_uint),
        ("variables", ctypes.POINTER(ctypes.c_char_p)),
        ("num_variables", ctypes.c_uint),
        ("functions", ctypes.POINTER(PtxFunction)),
        ("num_functions", ctypes.c_uint),
    ]


class PtxImage(NamedTuple):
    """An nvptx image of the program: its registration, the names in its tables' order."""

    version: int
    address: int
    functions: list[str]
    variables: list[str]


def plain(name: str) -> str:
    """A name as the host's assembler has it: PTX has no dots."""
    return name.replace("$", ".")


def ptx_images() -> list[PtxImage]:
    """Those that the program has registered."""
    ask = load_runtime().gompy_image_data
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    found: list[PtxImage] = []
    version = ctypes.c_uint()
    while address := ask(gomp.GOMP_DEVICE_NVIDIA_PTX, len(found), ctypes.byref(version)):
        data = PtxData.from_address(address)
        functions = [plain((data.functions[i].name or b"").decode()) for i in range(data.num_functions)]
        variables = [plain((data.variables[i] or b"").decode()) for i in range(data.num_variables)]
        found.append(PtxImage(version.value, address, functions, variables))
    return found


def order(own: list[str], others: list[str]) -> list[int] | None:
    """Where each of our names is among the others; None if they are not the same, or one is there twice."""
    places = {name: place for place, name in enumerate(others)}
    if len(places) != len(others) or len(set(own)) != len(own) or places.keys() != set(own):
        return None
    return [places[name] for name in own]


@functools.cache
def served() -> tuple[dict[str, Any], Any]:
    """The functions of a plugin that reaches the emulated GPU's process, which is started; and what has to be kept.

    Raises ClusterError, OSError.
    """
    token = secrets.token_hex(32)
    variables = {
        "GOMPY_CUDA": "emulated",
        "GOMPY_CUDA_ADDRESS": f"{FIRST - SLACK:x}",
        "GOMPY_CUDA_DEVICES": "1",
        "GOMPY_CHECK": "0",
    }
    server = StartedServer("127.0.0.1", Secrets(token, "", ""), "nvptx", len(os.sched_getaffinity(0)), variables)
    calls = open_plugin("remote", own=True)
    with tempfile.NamedTemporaryFile("w", prefix="gompy-token-") as file:
        file.write(f"{token}\n")
        file.flush()
        names = (ctypes.c_char_p(server.address().encode()), ctypes.c_char_p(file.name.encode()))
        calls["remote_use"](*names)
        found = calls["get_num_devices"](0)  # which reads the token
    if found != 1:
        raise ClusterError("the emulated GPU's process gives no device")
    return calls, (server, names)


class GpuBackend(PluginBackend):
    """``nvptx``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = 0
        self.keep: list[Any] = []
        try:
            with STARTING:
                self.calls, _ = served()
        except (ClusterError, OSError) as error:
            raise SwapError(f"{name}: {error}") from None

    def open(self, size: int) -> int:
        start = super().open(size + 2 * SLACK)
        if not start <= FIRST <= start + 2 * SLACK:
            self.close()
            raise SwapError(f"{self.name}: its memory is at {start:#x}, the program's data at {FIRST:#x}")
        return FIRST

    def load(self, data: bytes) -> list[tuple[int, int]]:
        table = tables.read_tables(ElfView(data, "image"))
        own = ([entry.name or "" for entry in table.funcs], [entry.name or "" for entry in table.vars])
        for image in ptx_images():
            functions, variables = order(own[0], image.functions), order(own[1], image.variables)
            if functions is not None and variables is not None:
                pairs = self.load_at(image.version, image.address)
                return [pairs[i] for i in functions] + [pairs[len(functions) + i] for i in variables]
        raise SwapError(
            f"{self.name}: the program has no nvptx image with the same regions and variables, each of a name of its "
            "own (gompcc -foffload=x86_64-intelmicemul-linux-gnu,nvptx-none)"
        )
