"""``gompy devices --usage``: how busy the emulated GPUs are and who uses them, asked of NVML as any monitor does."""

from __future__ import annotations

import ctypes
import os
from ctypes import Structure, byref, c_char_p, c_uint, c_uint64, c_void_p
from typing import Any

from gompy.abi import nvml
from gompy.driver import paths

MAX_PROCESSES = 512


class Memory(Structure):
    """nvmlMemory_t."""

    _fields_ = (("total", c_uint64), ("unused", c_uint64), ("used", c_uint64))


class Utilization(Structure):
    """nvmlUtilization_t."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class ProcessInfo(Structure):
    """nvmlProcessInfo_v2_t."""

    _fields_ = (("pid", c_uint), ("used", c_uint64), ("gpu_instance", c_uint), ("compute_instance", c_uint))


class ProcessSample(Structure):
    """nvmlProcessUtilizationSample_t."""

    _fields_ = (
        ("pid", c_uint),
        ("when", c_uint64),
        ("sm", c_uint),
        ("memory", c_uint),
        ("encoder", c_uint),
        ("decoder", c_uint),
    )


class UsageError(Exception):
    """Why there is nothing to show."""


class Nvml:
    """The library, begun."""

    def __init__(self) -> None:
        path = os.path.join(paths.CUDALIBDIR, "libnvidia-ml.so.1")
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise UsageError(str(error)) from None
        self._library.nvmlErrorString.restype = c_char_p
        self.none = bool(self.call("nvmlInit_v2", but=("NVML_ERROR_GPU_NOT_FOUND",)))

    def call(self, name: str, *words: Any, but: tuple[str, ...] = ()) -> int:
        """Call a function; UsageError for any result but success and those named."""
        result = int(getattr(self._library, name)(*words))
        if result and result not in [nvml.RESULTS[known][0] for known in but]:
            raise UsageError(f"{name}: {self._library.nvmlErrorString(result).decode()}")
        return result


def _text(library: Nvml, name: str, device: c_void_p) -> str:
    buffer = ctypes.create_string_buffer(96)
    library.call(name, device, buffer, c_uint(len(buffer)))
    return buffer.value.decode()


def _processes(library: Nvml, device: c_void_p) -> list[dict[str, Any]]:
    """Who uses a device."""
    count, rows = c_uint(MAX_PROCESSES), (ProcessInfo * MAX_PROCESSES)()
    library.call("nvmlDeviceGetComputeRunningProcesses_v3", device, byref(count), rows)
    room, samples = c_uint(MAX_PROCESSES), (ProcessSample * MAX_PROCESSES)()
    none = library.call(
        "nvmlDeviceGetProcessUtilization", device, samples, byref(room), c_uint64(0), but=("NVML_ERROR_NOT_FOUND",)
    )
    busy = {sample.pid: sample.sm for sample in samples[: 0 if none else room.value]}
    found = []
    for row in rows[: count.value]:
        hidden = row.used == 2**64 - 1
        name = ctypes.create_string_buffer(4096)
        library.call(
            *("nvmlSystemGetProcessName", c_uint(row.pid), name, c_uint(len(name))),
            but=("NVML_ERROR_NOT_FOUND", "NVML_ERROR_NO_PERMISSION"),
        )
        found.append(
            {
                "process": row.pid,
                "program": name.value.decode(errors="replace"),
                "memory": None if hidden else row.used,
                "kernels": None if hidden else busy.get(row.pid, 0),
            }
        )
    return found


def usage() -> list[dict[str, Any]]:
    """What the emulated GPUs do: shares in percent, memory in bytes; UsageError where they cannot be asked."""
    library = Nvml()
    if library.none:
        return []
    count = c_uint()
    library.call("nvmlDeviceGetCount_v2", byref(count))
    found = []
    for number in range(count.value):
        device, memory, rates = c_void_p(), Memory(), Utilization()
        library.call("nvmlDeviceGetHandleByIndex_v2", c_uint(number), byref(device))
        library.call("nvmlDeviceGetMemoryInfo", device, byref(memory))
        library.call("nvmlDeviceGetUtilizationRates", device, byref(rates))
        found.append(
            {
                "number": number,
                "name": _text(library, "nvmlDeviceGetName", device),
                "uuid": _text(library, "nvmlDeviceGetUUID", device),
                "memory": memory.total,
                "memory_used": memory.used,
                "kernels": rates.gpu,
                "copies": rates.memory,
                "processes": _processes(library, device),
            }
        )
    return found


def table(devices: list[dict[str, Any]]) -> list[str]:
    """The words for it."""
    from gompy.cli.inspect_text import grid

    def mebibytes(number: int | None) -> str:
        return "-" if number is None else f"{number / 2**20:.0f} MiB"

    def share(number: int | None) -> str:
        return "-" if number is None else f"{number} %"

    rows = [
        (
            str(device["number"]),
            f"{mebibytes(device['memory_used'])} of {mebibytes(device['memory'])}",
            share(device["kernels"]),
            share(device["copies"]),
            device["name"],
        )
        for device in devices
    ]
    lines = [line[2:] for line, _style in grid(("number", "memory", "kernels", "copies", "name"), rows, (0, 1, 2, 3))]
    users = [
        (str(row["process"]), str(device["number"]), mebibytes(row["memory"]), share(row["kernels"]), row["program"])
        for device in devices
        for row in device["processes"]
    ]
    if not users:
        return [*lines, "", "no process uses them"]
    heading = ("process", "number", "memory", "kernels", "program")
    return [*lines, "", *(line[2:] for line, _style in grid(heading, users, (0, 1, 2, 3)))]
