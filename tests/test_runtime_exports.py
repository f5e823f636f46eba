"""What libgompy.so.1 exports, what it needs, and that it takes no interpreter to run."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest
from runtime_tools import LIBGOMPY, compile_program, run

CONSTRUCTS = """
GOMP_offload_register GOMP_offload_register_ver GOMP_offload_unregister GOMP_offload_unregister_ver
GOMP_target_ext GOMP_target_data_ext GOMP_target_end_data GOMP_target_update_ext GOMP_target_enter_exit_data
GOMP_target GOMP_target_data GOMP_target_update
"""
API = """
omp_target_alloc omp_target_free omp_target_is_present omp_target_memcpy omp_target_memcpy_rect
omp_target_associate_ptr omp_target_disassociate_ptr
omp_get_num_devices omp_is_initial_device omp_set_default_device omp_get_default_device omp_get_initial_device
omp_get_device_num omp_pause_resource omp_pause_resource_all
"""
GCC_13 = "omp_target_is_accessible omp_get_mapped_ptr omp_target_memcpy_async omp_target_memcpy_rect_async"
FORTRAN = """
omp_get_num_devices_ omp_is_initial_device_ omp_get_initial_device_ omp_get_device_num_ omp_get_default_device_
omp_set_default_device_ omp_set_default_device_8_ omp_pause_resource_ omp_pause_resource_all_
"""
SERVICES = """
GOMP_PLUGIN_malloc GOMP_PLUGIN_malloc_cleared GOMP_PLUGIN_realloc GOMP_PLUGIN_debug GOMP_PLUGIN_error
GOMP_PLUGIN_fatal GOMP_PLUGIN_target_task_completion
"""


def defined(library: Path | str) -> set[str]:
    """Dynamic symbols that a library defines, without versions."""
    nm = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in nm.stdout.splitlines()}


def test_the_list_of_entry_points() -> None:
    """Exactly these: a name too many would take something away from the stock libgomp."""
    expected = set(f"{CONSTRUCTS} {API} {GCC_13} {FORTRAN} {SERVICES} PyInit_libgompy".split())
    assert defined(LIBGOMPY) == expected


def test_all_but_the_new_ones_are_in_the_stock_library() -> None:
    """No name is misspelt: libgomp of GCC 12 has each, and no omp_target_ or device function that is missing here."""
    path = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], check=True, capture_output=True, text=True)
    stock = defined(path.stdout.strip())
    ours = set(f"{CONSTRUCTS} {API} {FORTRAN} {SERVICES}".split())
    assert ours <= stock
    offload = re.compile(r"GOMP_(target|offload)|omp_target_|omp_(get|set)_\w*device|omp_is_initial|omp_pause")
    assert {name for name in stock if offload.match(name)} == {
        name for name in ours if not name.startswith("GOMP_PLUGIN")
    }


def test_python_is_weak() -> None:
    """The library needs libgomp and libc; no libpython, and no strong reference to it."""
    text = subprocess.run(["readelf", "-d", str(LIBGOMPY)], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"NEEDED.*\[(.*)\]", text)) <= {"libgomp.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
    nm = subprocess.run(["nm", "-D", "--undefined-only", str(LIBGOMPY)], check=True, capture_output=True, text=True)
    assert not [line for line in nm.stdout.splitlines() if re.search(r"\bU _?Py", line)]


@pytest.mark.parametrize("plugins", ["", "null"])
def test_start_costs_little(tmp_path: Path, plugins: str) -> None:
    """A whole program, device found and region run, is a matter of milliseconds."""
    program = compile_program(tmp_path, "int main (void) {\n#pragma omp target\n;\nreturn 0; }")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert run(tmp_path, program, plugins=plugins).rc == 0
        times.append(time.perf_counter() - start)
    assert min(times) < 0.1
