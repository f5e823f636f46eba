"""Drives the compiled device plugin without the runtime: for the tests of the emulated Intel MIC.

A test's scenario is Python source that runs in a process of its own (a dying region ends its program), with ``Plugin``
in scope: ctypes calls of the GOMP_OFFLOAD_* functions.  The services that a runtime offers to plugins come from a small
C library whose messages begin with ``services: ``.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

LIB = Path(__file__).resolve().parent.parent / "gompy" / "_native" / "lib"
PLUGIN = LIB / "libgomp-plugin-intelmic.so.1"
PROGRAM = LIB / "offload_target_main"

SERVICES = r"""
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <semaphore.h>
static void say (const char *f, va_list a)
{ char text[4000]; vsnprintf (text, sizeof text, f, a); fprintf (stderr, "services: %s\n", text); }
void *GOMP_PLUGIN_malloc (size_t n) { return malloc (n); }
void GOMP_PLUGIN_debug (int k, const char *f, ...) { (void) k; (void) f; }
void GOMP_PLUGIN_error (const char *f, ...) { va_list a; va_start (a, f); say (f, a); va_end (a); }
void GOMP_PLUGIN_fatal (const char *f, ...) { va_list a; va_start (a, f); say (f, a); va_end (a); exit (1); }
static sem_t completions;
__attribute__ ((constructor)) static void start (void) { sem_init (&completions, 0, 0); }
void *last_completion;
void GOMP_PLUGIN_target_task_completion (void *data) { last_completion = data; sem_post (&completions); }
void await_completion (void) { sem_wait (&completions); }
"""

IMAGE_HEAD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <unistd.h>
#include <omp.h>
#define TABLES(f, v) \
  void *__OFFLOAD_TARGET_TABLE__[] = { f, (char *) f + sizeof f, v, (char *) v + sizeof v };
"""


class Pair(ctypes.Structure):
    """struct addr_pair."""

    _fields_ = [("start", ctypes.c_size_t), ("end", ctypes.c_size_t)]


class Plugin:
    """The plugin's functions; device numbers first, as in C."""

    def __init__(self, services: str) -> None:
        """Load the services, then the plugin."""
        self.services = ctypes.CDLL(services, mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(str(PLUGIN))
        p, n, i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        for name, result, *arguments in (
            ("get_num_devices", i, ctypes.c_uint),
            ("init_device", ctypes.c_bool, i),
            ("fini_device", ctypes.c_bool, i),
            ("load_image", i, i, ctypes.c_uint, p, p),
            ("unload_image", ctypes.c_bool, i, ctypes.c_uint, p),
            ("alloc", p, i, n),
            ("free", ctypes.c_bool, i, p),
            ("host2dev", ctypes.c_bool, i, p, p, n),
            ("dev2host", ctypes.c_bool, i, p, p, n),
            ("dev2dev", ctypes.c_bool, i, p, p, n),
            ("run", None, i, p, p, p),
            ("async_run", None, i, p, p, p, p),
        ):
            function = getattr(self.lib, f"GOMP_OFFLOAD_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.keep: list[object] = []

    def target_data(self, image: str | bytes) -> ctypes.Array[ctypes.c_void_p]:
        """The two words that GCC's own mkoffload registers."""
        content = image if isinstance(image, bytes) else Path(image).read_bytes()
        data = ctypes.create_string_buffer(content, len(content))
        self.keep.append(data)
        words = (ctypes.c_void_p * 2)(ctypes.addressof(data), ctypes.addressof(data) + len(content))
        self.keep.append(words)
        return words

    def load(self, device: int, image: str | bytes) -> list[tuple[int, int]]:
        """Load an image and return its pairs; a failure is ValueError."""
        table = ctypes.POINTER(Pair)()
        self.data = self.target_data(image)
        count = self.load_image(device, 0, ctypes.addressof(self.data), ctypes.addressof(table))
        if count < 0:
            raise ValueError(count)
        pairs = [(table[i].start, table[i].end) for i in range(count)]
        assert pairs.pop() == (0, 0)  # of the device's number, which it knows itself
        return pairs

    def put(self, device: int, content: bytes) -> int:
        """A new device block that holds the bytes."""
        block: int = self.alloc(device, len(content))
        assert block and self.host2dev(device, block, content, len(content))
        return block

    def get(self, device: int, block: int, size: int) -> bytes:
        """Bytes of device memory."""
        buffer = ctypes.create_string_buffer(size)
        assert self.dev2host(device, buffer, block, size)
        return buffer.raw

    def words(self, device: int, *values: int) -> int:
        """A new device block of 64-bit words: an argument array."""
        return self.put(device, b"".join(v.to_bytes(8, "little", signed=v < 0) for v in values))

    def arguments(self, teams: int, limit: int) -> ctypes.Array[ctypes.c_size_t]:
        """The launch arguments of ``num_teams (teams) thread_limit (limit)``, in both forms of value."""
        array = (ctypes.c_size_t * 5)(teams << 16 | 0x100, 0x280, limit, 0, 0)
        self.keep.append(array)
        return array


def build_services(folder: Path) -> Path:
    """Compile the services library once per folder."""
    library = folder / "services.so"
    if not library.exists():
        source = folder / "services.c"
        source.write_text(SERVICES)
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def build_image(folder: Path, source: str, *options: str, name: str = "image.c") -> Path:
    """Compile an image: a library with an offload table."""
    path = folder / name
    path.write_text(IMAGE_HEAD + f'#line 1 "{name}"\n' + source)
    image = path.with_suffix(".so")
    compiler = "g++" if name.endswith(".cc") else "gcc"
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-shared", "-fPIC", *options, "-o", image, path], check=True)
    return image


def scenario(folder: Path, code: str) -> list[str]:
    """The command that runs a scenario: ``p`` is the plugin, ``folder`` the test's folder, images are beside it."""
    build_services(folder)
    head = (
        "import ctypes, os, signal, sys, threading, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import intelmic_driver\n"
        f"folder = {str(folder)!r}\n"
        "p = intelmic_driver.Plugin(folder + '/services.so')\n"
        "def finish():\n"
        "    for n in range(p.get_num_devices(0)): p.fini_device(n)\n"
    )
    script = folder / "scenario.py"
    script.write_text(head + code)
    return [sys.executable, "-S", str(script)]


def drive(
    folder: Path, code: str, env: dict[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a scenario to its end, in the folder."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    environment |= env or {}
    return subprocess.run(
        scenario(folder, code),
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=timeout,
        check=False,
    )


def devices_of(pid: int) -> list[int]:
    """Process numbers of the device programs that a process has started (also when it has ended since)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if any(w.endswith(b"/offload_target_main") for w in words) and parent == pid:
                found.append(int(entry.name))
    return found


def gone(pid: int, within: float = 60) -> bool:
    """Whether a process ends (a zombie has) within so many seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False
