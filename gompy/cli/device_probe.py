"""The devices that each plugin has: libgompy is loaded with it in a process of its own and asked.

Nothing is assumed: a device is listed if the runtime of a program would find it.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Final

from gompy.abi import cuda, gomp, targets
from gompy.driver import paths

PROBE: Final = (
    f"NAME, DRIVER, MEMORY, PROCESSORS = {gomp.GOACC_PROPERTY_NAME}, {gomp.GOACC_PROPERTY_DRIVER}, "
    f"{gomp.GOACC_PROPERTY_MEMORY}, {cuda.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}"
    r"""
import ctypes, json, os, sys
runtime = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
count = runtime.omp_get_num_devices ()
runtime.acc_get_property.restype = ctypes.c_size_t
runtime.acc_get_property_string.restype = ctypes.c_char_p
def text (kind, number, what):
    return (runtime.acc_get_property_string (number, kind, what) or b"").decode ("utf-8", "replace")
devices = []
for number in range (count):
    found = {"number": number, "name": "", "memory": 0, "cores": 0, "version": ""}
    kind = int (sys.argv[2])
    if kind and number < runtime.acc_get_num_devices (kind):
        found |= {"name": text (kind, number, NAME), "version": text (kind, number, DRIVER),
                  "memory": runtime.acc_get_property (number, kind, MEMORY)}
    if sys.argv[3]:
        driver, value = ctypes.CDLL (sys.argv[3]), ctypes.c_int ()
        if driver.cuInit (0) == 0 and driver.cuDeviceGetAttribute (ctypes.byref (value), PROCESSORS, number) == 0:
            found["cores"] = value.value
    elif kind:
        found["cores"] = len (os.sched_getaffinity (0))
    devices.append (found)
sys.stdout.flush ()
print ("\n" + json.dumps (devices))
"""
)
"""The process's program; acc_device_property_t has GCC's numbers of properties."""
REASONS: Final = ("libgomp: ", "nvptx: no CUDA device: ")
NAMED: Final = {target.plugin: target for target in (targets.INTELMIC, targets.NVPTX)}
"""Targets whose plugins describe their devices by OpenACC's properties; acc_device_t has GCC's numbers of devices."""
TIMEOUT: Final = 60


@dataclass
class Kind:
    """A plugin, for nvptx with one of the drivers: its devices, or why there are none."""

    name: str
    driver: str
    plugin: str
    devices: list[dict[str, Any]] = field(default_factory=list)
    why: str = ""

    @property
    def shown(self) -> str:
        """What it is called."""
        return {"real": f"{self.name} (GPU)", "emulated": f"{self.name} (emulated GPU)"}.get(self.driver, self.name)


def names() -> list[str]:
    """The plugins that there are, or that are asked for."""
    beside = [os.path.basename(path) for path in glob.glob(os.path.join(paths.LIBDIR, "libgomp-plugin-*.so.1"))]
    known = [name.removeprefix("libgomp-plugin-").removesuffix(".so.1") for name in sorted(beside)]
    known = [name for name in known if name != "remote" or os.environ.get("GOMPY_REMOTE")]
    wanted = [name.strip() for name in os.environ.get("GOMPY_PLUGINS", "").split(",")]
    emulated = [target.plugin for target in targets.TARGETS if target.emulated]
    return list(dict.fromkeys(filter(None, (*emulated, *known, targets.NVPTX.plugin, *wanted))))


def probe(name: str, driver: str = "") -> Kind:
    """Ask one plugin; ``driver``: ``real`` or ``emulated`` for nvptx."""
    plugin = os.path.join(paths.LIBDIR, f"libgomp-plugin-{name}.so.1")
    kind = Kind(name, driver, plugin if os.path.exists(plugin) else f"libgomp-plugin-{name}.so.1")
    env = {key: value for key, value in os.environ.items() if key not in ("OMP_TARGET_OFFLOAD", "LD_PRELOAD")}
    env |= {"LC_ALL": "C", "GOMPY_PLUGINS": name, "GOMP_DEBUG": "1"} | ({"GOMPY_CUDA": driver} if driver else {})
    library = {"real": "libcuda.so.1", "emulated": os.path.join(paths.CUDALIBDIR, "libcuda.so.1")}.get(driver, "")
    runtime = os.path.join(paths.LIBDIR, "libgompy.so.1")
    command = [sys.executable, "-I", "-c", PROBE, runtime, str(NAMED[name].type if name in NAMED else 0), library]
    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        kind.why = str(error)
        return kind
    said = done.stderr.decode("utf-8", "replace").splitlines()
    last = (done.stdout.decode("utf-8", "replace").splitlines() or [""])[-1]
    if done.returncode == 0 and last.startswith("["):
        kind.devices = json.loads(last)
    if not kind.devices:
        kind.why = _why(name, said, done.returncode)
    return kind


def _why(name: str, said: list[str], status: int) -> str:
    """The runtime's reason, from what it said."""
    told = [line for line in said if line.startswith((*REASONS, f"libgompy: plugin {name}: "))]
    if not told:
        lines = [line.strip() for line in said if line.strip()]
        return lines[-1] if lines else f"no message (exit status {status})"
    why = told[0].partition(": ")[2]
    for head in (f"plugin {name}: ", f'device plugin "{name}": ', "no CUDA device: "):
        why = why.removeprefix(head)
    return why


def all_kinds() -> list[Kind]:
    """Every plugin, nvptx with both drivers."""
    drivers = {targets.NVPTX.plugin: ("real", "emulated")}
    return [probe(name, driver) for name in names() for driver in drivers.get(name, ("",))]
